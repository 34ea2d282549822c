"""What members of a group have copied, as readers of committed records see it: once, whole, by one.

Every copy names the transaction it was written in and the record it was made of.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from ottla.ids import TopicPartition
from ottla.ports.network import LinkLost
from ottla.simulation.cluster.clients import READ_COMMITTED, ClientMeans, Reader
from ottla.simulation.cluster.invariants import Teller
from ottla.wire.codec import MalformedMessage
from ottla.wire.messages.fetch import PartitionData
from ottla.wire.record_batch import iterate_batches, iterate_records

TOPIC = "copies"
PARTITIONS = 2


@dataclass
class CopyTransaction:
    """One transaction, as its producer knows it."""

    values: list[str] = field(default_factory=list)
    wants_commit: bool = False
    ended: bool = False  # and its producer was told so


class Copies:
    def __init__(self, world: Teller) -> None:
        self.world = world
        self.deeds: dict[str, CopyTransaction] = {}
        self._seen: dict[str, str] = {}  # the transaction of each record that was copied
        self._visible: defaultdict[str, set[str]] = defaultdict(set)
        self._owners: dict[tuple[int, int], str] = {}

    def begin(self, name: str) -> tuple[str, CopyTransaction]:
        deed = f"{name}#{len(self.deeds)}"
        return deed, self.deeds.setdefault(deed, CopyTransaction())

    @property
    def committed(self) -> int:
        return len(self._visible)

    # --- what is told

    def are_owned(self, partitions: set[int], member: str, epoch: int) -> None:
        """A coordinator said so, in an epoch of the group."""
        for partition in partitions:
            other = self._owners.setdefault((partition, epoch), member)
            if other != member:
                self.world.violated(
                    f"{other} and {member} both own partition {partition} in epoch {epoch}"
                )

    def was_read(self, value: str) -> None:
        deed, record = value.split(" of ")
        other = self._seen.setdefault(record, deed)
        if other != deed or value in self._visible[deed]:
            self.world.violated(f"{record} was copied by {other} and by {deed}")
        self._visible[deed].add(value)

    # --- the end

    def at_the_end(self, ends: dict[TopicPartition, int]) -> None:
        """Every record was copied, and every transaction is there whole or not at all."""
        for name, deed in self.deeds.items():
            visible = self._visible.get(name, set())
            if visible and (not deed.wants_commit or visible != set(deed.values)):
                self.world.violated(f"of {name}, {deed}, only {sorted(visible)} is visible")
            if not visible and deed.wants_commit and deed.ended:
                self.world.violated(f"{name} was committed, and nothing of it is visible")
        for where, end in ends.items():
            for offset in range(end):
                if f"{where.partition}@{offset}" not in self._seen:
                    self.world.violated(f"{where} at {offset} of {end} was not copied")


class CopyReader(Reader):
    """Of any replica, without what was aborted."""

    def __init__(self, partition: int, copies: Copies, means: ClientMeans) -> None:
        super().__init__(partition, means)
        self.copies = copies

    async def run(self) -> None:
        await self.find_leaders()
        while not self.stopped:
            try:
                if not await self._fetch():
                    await self.find_leaders()
            except (LinkLost, MalformedMessage):
                await self.find_leaders()
            await self.pause()

    async def _fetch(self) -> bool:
        asked = self.cluster.any_replica(self.where.partition)
        data = await self.fetch(asked, wait_ms=1000, isolation_level=READ_COMMITTED)
        if data is None:
            return False
        self._take(data)
        return True

    def _take(self, data: PartitionData) -> None:
        to_begin = sorted(data.aborted_transactions or [], key=lambda aborted: aborted.first_offset)
        aborted: set[int] = set()
        records = data.records or b""
        for at, header in iterate_batches(records):
            while to_begin and to_begin[0].first_offset < header.next_offset:
                aborted.add(to_begin.pop(0).producer_id)
            if header.is_control:
                aborted.discard(header.producer_id)
            elif header.producer_id not in aborted:
                for record in iterate_records(records, at, header):
                    if record.offset >= self.position:
                        self.copies.was_read(bytes(record.value or b"").decode())
            self.position = max(self.position, header.next_offset)

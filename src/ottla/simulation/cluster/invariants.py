"""What must hold after every step of a simulated cluster: of its logs, its leaders, its clients."""

from collections import defaultdict
from typing import NamedTuple, NoReturn, Protocol

from ottla.ids import TopicPartition
from ottla.log.partition_log import PartitionLog
from ottla.replication.leader import Leader
from ottla.replication.partitions import Replica
from ottla.wire.record_batch import iterate_batches

READ_BYTES = 1 << 20


class Teller(Protocol):
    def tell(self, line: str) -> None: ...
    def violated(self, what: str) -> NoReturn: ...
    def elected(self, node_id: int) -> None: ...
    def acknowledged_at(self, where: TopicPartition) -> None: ...


class Entry(NamedTuple):
    """A batch in a log. The chain stands for it and for everything before it."""

    base: int
    next: int
    epoch: int
    crc: int
    chain: int


class Copy:
    """One replica as it was last looked at."""

    def __init__(self, log: PartitionLog) -> None:
        self.log = log
        self.end = log.log_start_offset
        self.high_watermark = log.high_watermark
        self.leader: Leader | None = None
        self.entries: list[Entry] = []


class Acknowledged(NamedTuple):
    base: int
    crc: int
    what: str
    order: int  # how many were acknowledged before it
    epoch: int  # of the leader that said so, or a later one


class ClusterInvariants:
    def __init__(self, world: Teller) -> None:
        self.world = world
        self.leaders: dict[tuple[TopicPartition, int], int] = {}
        self.truncations = 0
        self.acknowledged: defaultdict[TopicPartition, dict[int, Acknowledged]] = defaultdict(dict)
        self._copies: dict[int, dict[TopicPartition, Copy]] = defaultdict(dict)
        self._watched: dict[int, list[tuple[Copy, PartitionLog, Replica]]] = {}
        self._chains: dict[tuple[TopicPartition, int, int], int] = {}
        self._read: dict[tuple[TopicPartition, int], bytes] = {}
        self._end_seen: dict[TopicPartition, int] = {}

    # --- replicas

    def restarted(self, node_id: int) -> None:
        self._copies.pop(node_id, None)
        self._watched.pop(node_id, None)

    def look_at(self, node_id: int, table: dict[int, Replica]) -> None:
        """After every step, so cheap where nothing has changed."""
        watched = self._watched.get(node_id)
        if watched is None or len(watched) != len(table):
            watched = self._watched[node_id] = self._watch(node_id, table)
        for copy, log, replica in watched:
            if (
                copy.end != log.log_end_offset
                or copy.high_watermark != log.high_watermark
                or copy.leader is not replica.leader
            ):
                self._look(node_id, copy, replica)

    def _watch(
        self, node_id: int, table: dict[int, Replica]
    ) -> list[tuple[Copy, PartitionLog, Replica]]:
        copies = self._copies[node_id]
        for replica in table.values():
            copy = copies.get(replica.topic_partition)
            if copy is None or copy.log is not replica.log:
                copies[replica.topic_partition] = Copy(replica.log)
        watched = [(copies[replica.topic_partition], replica) for replica in table.values()]
        return [(copy, copy.log, replica) for copy, replica in watched]

    def _look(self, node_id: int, copy: Copy, replica: Replica) -> None:
        log, where = replica.log, replica.topic_partition
        if log.log_end_offset < copy.end:
            self._was_cut(node_id, copy, log)
        self._read_on(node_id, copy, log)
        if not log.last_stable_offset <= log.high_watermark <= log.log_end_offset:
            offsets = log.last_stable_offset, log.high_watermark, log.log_end_offset
            self.world.violated(f"{where} on node {node_id}: LSO, HW, LEO are {offsets}")
        if log.high_watermark < copy.high_watermark:
            went = f"{copy.high_watermark} to {log.high_watermark}"
            self.world.violated(f"{where} on node {node_id}: high watermark from {went}")
        copy.high_watermark = log.high_watermark
        if copy.leader is not replica.leader:
            copy.leader = replica.leader
            if replica.leader is not None:
                self._leads(node_id, copy, replica.leader)

    def _was_cut(self, node_id: int, copy: Copy, log: PartitionLog) -> None:
        self.truncations += 1
        end, where = log.log_end_offset, log.topic_partition
        self.world.tell(f"node {node_id} cuts {where} from {copy.end} to {end}")
        while copy.entries and copy.entries[-1].next > end:
            copy.entries.pop()
        copy.end = copy.entries[-1].next if copy.entries else log.log_start_offset

    def _read_on(self, node_id: int, copy: Copy, log: PartitionLog) -> None:
        where = log.topic_partition
        while copy.end < log.log_end_offset:
            read = log.read(copy.end, READ_BYTES, upto=log.log_end_offset)
            for _, header in iterate_batches(read.fetch_cold()):
                before = copy.entries[-1].chain if copy.entries else 0
                base, epoch, crc = header.base_offset, header.leader_epoch, header.crc
                chain = hash((before, base, epoch, crc))
                if self._chains.setdefault((where, base, epoch), chain) != chain:
                    self.world.violated(
                        f"{where} on node {node_id} has another record of epoch {epoch} at {base}, "
                        "or others before it, than another replica"
                    )
                copy.entries.append(Entry(base, header.next_offset, epoch, crc, chain))
                copy.end = header.next_offset

    def _leads(self, node_id: int, copy: Copy, leader: Leader) -> None:
        where = leader.topic_partition
        first = self.leaders.setdefault((where, leader.epoch), node_id)
        if first != node_id:
            self.world.violated(f"{where} epoch {leader.epoch} is led by {first} and {node_id}")
        isr = sorted(leader.in_sync.committed)
        self.world.tell(
            f"node {node_id} leads {where} in epoch {leader.epoch} from {copy.end}, in sync {isr}"
        )
        for acknowledged in self.acknowledged[where].values():
            if acknowledged.epoch <= leader.epoch:  # it may learn late that it led, long after
                self._has(node_id, copy, acknowledged)
        self.world.elected(node_id)

    def _has(self, node_id: int, copy: Copy, record: Acknowledged) -> None:
        found = next((entry for entry in copy.entries if entry.base == record.base), None)
        if found is None or found.crc != record.crc:
            where = copy.log.topic_partition
            self.world.violated(
                f"node {node_id} leads {where} without {record.what}, acknowledged at {record.base}"
            )

    # --- clients

    def was_acknowledged(
        self, where: TopicPartition, base: int, crc: int, what: str, by: int
    ) -> None:
        copy = self._copies[by].get(where)
        leader = copy.leader if copy is not None else None
        newest = max(e for tp, e in self.leaders if tp == where)
        epoch = leader.epoch if leader is not None else newest
        record = Acknowledged(base, crc, what, len(self.acknowledged[where]), epoch)
        known = self.acknowledged[where].setdefault(base, record)
        if known is not record:
            self.world.violated(f"{where} at {base} was acknowledged as {known.what} and {what}")
        for node_id, copies in self._copies.items():
            copy = copies.get(where)
            if copy is None or copy.leader is None or copy.leader.deposed:
                continue
            if copy.leader.epoch == newest:
                self._has(node_id, copy, record)
        self.world.acknowledged_at(where)

    def was_read(self, where: TopicPartition, offset: int, value: bytes) -> None:
        known = self._read.setdefault((where, offset), value)
        if known != value:
            self.world.violated(f"{where} at {offset} was read as {known!r} and as {value!r}")

    def end_was_told(self, where: TopicPartition, epoch: int, asked: int, offset: int) -> None:
        """By the leader of an epoch, which was asked after so many acknowledgements: it must know
        of its own and of those before its epoch (KIP-207)."""
        for base, record in self.acknowledged[where].items():
            if record.order < asked and base >= offset and record.epoch <= epoch:
                self.world.violated(
                    f"{where} ends at {offset}, says its leader of epoch {epoch}; {record.what} "
                    f"was acknowledged at {base}"
                )
        known = self._end_seen.get(where, 0)
        if offset < known:
            self.world.violated(f"clients saw {where} end at {known}, then at {offset}")
        self._end_seen[where] = offset

    # --- the end

    def at_the_end(self, replicas: int) -> None:
        """All replicas are the same, and hold what was acknowledged and read, once each."""
        places = {where for copies in self._copies.values() for where in copies}
        for where in sorted(places):
            copies = {n: each[where] for n, each in self._copies.items() if where in each}
            if len({tuple(copy.entries) for copy in copies.values()}) != 1:
                ends = {node_id: copy.end for node_id, copy in copies.items()}
                self.world.violated(f"the replicas of {where} differ at the end: {ends}")
            node_id, copy = next(iter(copies.items()))
            for record in self.acknowledged[where].values():
                self._has(node_id, copy, record)
            crcs = [entry.crc for entry in copy.entries]
            if len(set(crcs)) != len(crcs):
                self.world.violated(f"a record is twice in {where}")

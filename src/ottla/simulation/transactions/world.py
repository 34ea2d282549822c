"""Transactions under a seed: brokers, producers of both versions, a reader, and faults.

Messages are lost, delayed and repeated; brokers die and leadership moves, with or without what was
not committed; clients die, and some go on as zombies beside their successors. What must hold:
- the last stable offset is at most the high watermark, and that at most the log's end;
- what a reader of committed records has once seen stays, in order, and nothing else comes between;
- a transaction is visible whole or not at all, together with the offset it committed: whole if its
  client heard so, not at all if its client heard of an abort or never asked for a commit;
- no value is there twice;
- no client hears a refusal that Kafka would not give in that place;
- no marker is sent before the decision behind it is committed;
- when all faults end nothing hangs: every transaction is decided, everywhere.
"""

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NoReturn

from ottla.coordination.records import decode_entry
from ottla.ids import TopicPartition
from ottla.simulation.engine.violation import Violation
from ottla.simulation.engine.virtual_loop import run_virtually
from ottla.simulation.transactions.broker import (
    NOTICED_WITHIN_S,
    OFFSETS,
    STATE,
    SimulatedBroker,
    image_of,
)
from ottla.simulation.transactions.client import Deed, TransactionalClient
from ottla.simulation.transactions.partition import SimulatedPartition
from ottla.transactions.ledger import Ledger
from ottla.transactions.states import TransactionState
from ottla.wire.message import Message
from ottla.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from ottla.wire.messages.write_txn_markers import WritableTxnMarker
from ottla.wire.record_batch import iterate_records
from ottla.wire.records.transactions import TransactionLogValue

TOPIC = "out"
PARTITIONS = 3
NAMES = ("ann", "ben", "cem")
SETTLED_WITHIN_S = 60.0
STORY_LINES = 200
MEMORY = Path("/dev/shm")
LATE_S = 4.0
UNDER_WAY_S = 0.1


class TransactionWorld:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = self.rng_of("world")
        self.link_rng = self.rng_of("links")
        self.chance = self.rng_of("ids")
        self.story: list[str] = []
        self.deeds: dict[str, Deed] = {}
        self.healed = False
        self.moves = self.zombies = self.crashes = 0
        self.moves_of_coordinators = 0
        self.image = image_of(TOPIC, PARTITIONS)
        self.places = [TopicPartition(TOPIC, index) for index in range(PARTITIONS)]
        self.partitions: dict[TopicPartition, SimulatedPartition] = {}
        self.brokers: dict[int, SimulatedBroker] = {}
        self.seen: dict[TopicPartition, list[str]] = {place: [] for place in self.places}
        self._read_to = dict.fromkeys(self.places, 0)
        self._running: dict[str, tuple[TransactionalClient, asyncio.Task[None]]] = {}
        self._zombies: list[asyncio.Task[None]] = []
        self._storm = False
        self._hasty = ""
        self._broken = ""
        self._last_producer_id = 999
        self._deed_numbers: Counter[str] = Counter()
        self._incarnations: Counter[str] = Counter()
        self._asked_at: dict[str, dict[int, float]] = {name: {} for name in NAMES}

    def rng_of(self, name: str) -> Random:
        """A source of chance of its own for each actor: one's luck does not change another's."""
        return Random(f"{self.seed}-{name}")

    def client_version(self, name: str) -> int:
        """Clients of version 1 and 2, and in every third world both."""
        return 2 if self.seed % 3 == 0 or (self.seed % 3 == 2 and name == NAMES[0]) else 1

    def run(self, seconds: float) -> "TransactionWorld":
        shared = MEMORY if MEMORY.is_dir() else None
        with tempfile.TemporaryDirectory(prefix="ottla-simulation-", dir=shared) as folder:
            run_virtually(self._live(Path(folder), seconds))
        return self

    async def _live(self, folder: Path, seconds: float) -> None:
        for node_id in (1, 2):
            self.brokers[node_id] = SimulatedBroker(self, node_id)
        for place in (STATE, OFFSETS, *self.places):
            rng = self.rng_of(f"{place.topic}-{place.partition}")
            self.partitions[place] = SimulatedPartition(place, folder, rng, self._move)
            self.brokers[rng.choice((1, 2))].lead(self.partitions[place])
        for name in NAMES:
            self._start_client(name)
        end = self.now + seconds
        while self.now < end:
            await asyncio.sleep(0.1)
            self._look()
            self._misfortune(0.1)
        await self._settle()
        await self._judge()
        for partition in self.partitions.values():
            partition.log.close(sync=False)

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    # --- what others ask of the world

    async def next(self) -> int:
        """A producer id."""
        self._last_producer_id += 1
        return self._last_producer_id

    def new_deed(self, name: str) -> Deed:
        self._deed_numbers[name] += 1
        deed = Deed(f"{name}:{self._deed_numbers[name]}")
        self.deeds[deed.name] = deed
        return deed

    def takes_over(self, name: str, number: int) -> None:
        """A client asks for an epoch: whoever has the name now is fenced by that. Even by one who
        names an old epoch, if a transaction is open: Kafka aborts it before it looks at epochs."""
        self._asked_at[name][number] = self.now

    def is_replaced(self, name: str, number: int, since: float) -> bool:
        """Whether another client of the name has asked since, or shortly before: messages may
        overtake each other."""
        asked = self._asked_at[name].items()
        return any(other != number and at > since - UNDER_WAY_S for other, at in asked)

    def move(self, place: TopicPartition) -> None:
        """Its leader is lost at this very moment."""
        self._move(self.partitions[place])

    def markers_sent(self, marker: WritableTxnMarker) -> None:
        """By a coordinator that knows the decision to be committed, or that was deposed since."""
        partition = self.partitions[STATE]
        if marker.coordinator_epoch != partition.epoch:
            return
        for batch, header in partition.batches(partition.log.high_watermark):
            for record in iterate_records(batch, 0, header):
                entry = decode_entry(bytes(record.key or b""), record.value, Ledger.RECORDS)
                value = entry[1] if entry is not None else None
                if (
                    isinstance(value, TransactionLogValue)
                    and TransactionState(value.transaction_status).is_ending
                    and value.producer_id == marker.producer_id
                    and value.producer_epoch == marker.producer_epoch
                ):
                    self._hasty = f"markers of {marker.producer_id} before their decision"

    async def carry(
        self,
        rng: Random,
        node_id: int,
        request: Message,
        version: int,
        timeout_s: float,
        *,
        may_be_late: bool,
    ) -> Any:
        """The answer, or None in place of one that did not come in time."""
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[Any] = loop.create_future()
        trouble = 0.0 if self.healed else 0.15 if self._storm else 0.02
        lost, answer_lost, late, repeated = (rng.random() < trouble for _ in range(4))
        there, back = 0.004 * rng.random(), 0.004 * rng.random()
        again = LATE_S * rng.random() ** 3  # mostly into the next transaction, not far beyond it
        if late and may_be_late:
            there += again
        if not lost:
            loop.call_later(there, self._arrive, node_id, request, version, answered, back)
        if repeated and may_be_late:
            loop.call_later(again, self._arrive, node_id, request, version, None, back)
        if answer_lost:
            answered = loop.create_future()
        done, _ = await asyncio.wait([answered], timeout=timeout_s)
        return answered.result() if done else None

    def _arrive(
        self,
        node_id: int,
        request: Message,
        version: int,
        answered: "asyncio.Future[Any] | None",
        back: float,
    ) -> None:
        broker = self.brokers[node_id]
        if not broker.alive:
            return

        async def serve() -> None:
            answer = await broker.serve(request, version)
            await asyncio.sleep(back)
            if answered is not None and not answered.done():
                answered.set_result(answer)

        broker.spawn(serve())

    # --- faults

    def _misfortune(self, seconds: float) -> None:
        dice = self.rng.random
        if dice() < 0.8 * seconds:
            self._move(self.partitions[self.rng.choice((STATE, OFFSETS, *self.places))])
        if dice() < 0.15 * seconds:
            self._crash_broker(self.rng.choice((1, 2)))
        if dice() < 0.6 * seconds:
            self._lose_client(self.rng.choice(NAMES))
        if dice() < 0.3 * seconds:
            self._storm = not self._storm
        if dice() < 0.2 * seconds:
            self._running[self.rng.choice(NAMES)][0].slow = self.rng.choice((0.1, 1.0, 40.0))

    def _move(self, partition: SimulatedPartition) -> None:
        old = self.brokers[partition.broker_id]
        new = self.brokers[3 - old.node_id]
        if self.healed or not new.alive:
            return
        self.moves += 1
        self.moves_of_coordinators += partition.name == STATE
        self.tell(f"{partition.name} moves to broker {new.node_id}")
        new.lead(partition)
        old.deposed(partition, NOTICED_WITHIN_S * self.rng.random())

    def _crash_broker(self, node_id: int) -> None:
        broker, heir = self.brokers[node_id], self.brokers[3 - node_id]
        if not broker.alive or not heir.alive:
            return
        self.crashes += 1
        self.tell(f"broker {node_id} dies")
        broker.crash()
        for partition in self.partitions.values():
            if partition.broker_id == node_id:
                self.moves_of_coordinators += partition.name == STATE
                heir.lead(partition)
        asyncio.get_running_loop().call_later(2 * self.rng.random(), self._revive, node_id)

    def _revive(self, node_id: int) -> None:
        self.brokers[node_id] = SimulatedBroker(self, node_id)

    def _lose_client(self, name: str) -> None:
        """Its successor starts; the old one is dead, or it only seemed so."""
        _, task = self._running[name]
        if self.rng.random() < 0.5:
            task.cancel()
        else:
            self.zombies += 1
            self._zombies.append(task)
        self._start_client(name)

    def _start_client(self, name: str) -> None:
        self._incarnations[name] += 1
        number = self._incarnations[name]
        client = TransactionalClient(self, name, number, self.rng_of(f"{name}/{number}"))
        task = asyncio.get_running_loop().create_task(client.live())
        self._running[name] = client, task

    # --- looking

    def _look(self) -> None:
        if self._broken:
            raise Violation(self._broken)
        if self._hasty:
            self.violated(self._hasty)
        for place in self.places:
            partition = self.partitions[place]
            log = partition.log
            stable, start = log.last_stable_offset, self._read_to[place]
            if not stable <= log.high_watermark <= log.log_end_offset:
                bounds = stable, log.high_watermark, log.log_end_offset
                self.violated(f"{place} has its offsets in a wrong order: {bounds}")
            if stable > start:
                self.seen[place] += partition.committed_values(start, stable)
                self._read_to[place] = stable
        for name, (_, task) in self._running.items():
            if task.done() and not self.healed:
                task.result()  # a fault of the client itself is told
                self._start_client(name)

    async def _settle(self) -> None:
        self.tell("all faults end")
        self.healed, self._storm = True, False
        if self.rng.random() < 0.5:  # one leaves for good, whatever it was about to do
            self._running[self.rng.choice(NAMES)][1].cancel()
        for node_id, broker in list(self.brokers.items()):
            if not broker.alive:
                self._revive(node_id)
        deadline = self.now + SETTLED_WITHIN_S
        while self.now < deadline:
            await asyncio.sleep(0.5)
            self._look()
            if self._is_settled():
                return
        stuck = {place: self.partitions[place].log.last_stable_offset for place in self.places}
        self.violated(f"transactions hang: {stuck}, {self._undecided()}")

    def _is_settled(self) -> bool:
        tasks = [*(task for _, task in self._running.values()), *self._zombies]
        logs = [self.partitions[place].log for place in (OFFSETS, *self.places)]
        stable = all(log.last_stable_offset == log.log_end_offset for log in logs)
        return stable and all(task.done() for task in tasks) and not self._undecided()

    def _undecided(self) -> list[str]:
        coordinator = self.brokers[self.partitions[STATE].broker_id].transactions
        if coordinator.shards.loading:
            return ["loading"]
        return [
            f"{each.transactional_id} {each.state.name}"
            for each in coordinator.transactions()
            if each.state is TransactionState.ONGOING or each.state.is_ending
        ]

    # --- the judgement

    async def _judge(self) -> None:
        found: Counter[str] = Counter()
        for place in self.places:
            partition = self.partitions[place]
            whole = partition.committed_values(0, partition.log.last_stable_offset)
            if whole != self.seen[place]:
                self.violated(f"{place} told a reader {self.seen[place]}, and now {whole}")
            found.update(whole)
        twice = [value for value, times in found.items() if times > 1]
        if twice:
            self.violated(f"{twice} are there more than once")
        for deed in self.deeds.values():
            self._judge_deed(deed, [value for value in deed.values if value in found])
        for name in NAMES:
            await self._judge_offset(name, found)

    def _judge_deed(self, deed: Deed, visible: list[str]) -> None:
        if visible and deed.wants != "commit":
            self.violated(f"{deed.name} is visible, and nobody asked to commit it")
        if visible and len(visible) != len(deed.values):
            self.violated(f"{deed.name} is torn: {visible} of {deed.values}")
        if deed.heard and deed.wants == "commit" and not visible:
            self.violated(f"{deed.name} was committed and is gone")

    async def _judge_offset(self, name: str, found: Counter[str]) -> None:
        """The last offset that a visible transaction committed, no other."""
        numbers = [
            deed.number
            for deed in self.deeds.values()
            if deed.name.startswith(f"{name}:")
            and deed.with_offset
            and deed.values
            and deed.values[0] in found
        ]
        place = self.places[0]
        topic = OffsetFetchRequestTopics(name=place.topic, partition_indexes=[place.partition])
        groups = self.brokers[self.partitions[OFFSETS].broker_id].groups
        reply = await groups.fetch(
            OffsetFetchRequestGroup(group_id=name, topics=[topic]), require_stable=True
        )
        offset = reply.topics[0].partitions[0].committed_offset
        if offset != max(numbers, default=-1):
            self.violated(f"{name} has offset {offset}, its transactions say {numbers[-1:]}")

    # --- the story

    def tell(self, line: str) -> None:
        self.story.append(f"{self.now:9.3f}  {line}")
        del self.story[:-STORY_LINES]

    def violated(self, what: str) -> NoReturn:
        """Also by a client of whom nobody hears any more: then the world finds it."""
        self._broken = self._broken or f"seed {self.seed}: {what}\n" + "\n".join(self.story)
        raise Violation(self._broken)

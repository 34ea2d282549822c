"""Transactions in both versions: three producers, two of which share a transactional id."""

from random import Random
from typing import Any

from differential.drawing import batch, look, produce, rarely, weighted
from differential.steps import Area, Move, Pause, Step, Topic, any_version
from differential.symbols import INVENTED_ID, Name, Ref
from ottla.wire.message import Message
from ottla.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from ottla.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from ottla.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from ottla.wire.messages.describe_transactions import DescribeTransactionsRequest
from ottla.wire.messages.end_txn import EndTxnRequest
from ottla.wire.messages.init_producer_id import InitProducerIdRequest
from ottla.wire.messages.list_transactions import ListTransactionsRequest
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

PRODUCERS = {"A": "x", "B": "x", "C": "y"}  # producer, transactional id
WIDE = 6
PARTITIONS = (("t", 0), ("t", 1), ("u", 0))
STATES = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "PrepareEpochFence", "Odd")
STEPS = {
    "init": 3.0,
    "add_partitions": 3.0,
    "add_offsets": 1.5,
    "produce": 6.0,
    "offsets": 2.0,
    "end": 5.0,
    "observe": 1.5,
    "one_after_another": 1.2,
    "pause": 0.03,
}


class Producer:
    """What a client would keep: id and epoch as told, its next sequence numbers as it thinks."""

    def __init__(self, name: str, random: Random, protocol: int) -> None:
        self.name = name
        self.random = random
        self.protocol = protocol  # 1, 2, or 0 for either
        self.next: dict[tuple[str, int], int] = {}
        self.careful = False

    def rarely(self, chance: float, wrong: Any, right: Any) -> Any:
        return right if self.careful else rarely(self.random, chance, wrong, right)

    @property
    def transactional_id(self) -> Name:
        return self.rarely(0.03, Name("nobody"), Name(PRODUCERS[self.name]))

    @property
    def id(self) -> Ref | int:
        other = Ref(f"id.{self.random.choice('ABC')}", INVENTED_ID)
        return self.rarely(0.04, other, Ref(f"id.{self.name}", INVENTED_ID))

    @property
    def epoch(self) -> Ref | int:
        stale = Ref(f"epoch.{self.name}", 0, back=1)
        ahead = Ref(f"epoch.{self.name}", 0, plus=self.random.choice((1, 1, 2, -1)))
        now = Ref(f"epoch.{self.name}", 0)
        wrong = self.random.choice((stale, ahead))
        return self.rarely(0.14, wrong, now)

    @property
    def binds(self) -> dict[str, str]:
        return {f"id.{self.name}": "producer_id", f"epoch.{self.name}": "producer_epoch"}

    def sequence(self, place: tuple[str, int]) -> int:
        number = self.next.get(place, 0)
        self.next[place] = number + 1
        return number + self.rarely(0.08, self.random.choice((-1, 1, 5)), 0)

    def version(self, request: type, first_of_two: int) -> int:
        """One of the protocol's: version 2 of transactions begins with a version of each API."""
        if self.protocol == 1:
            return any_version(self.random, request, most=first_of_two - 1)
        return any_version(self.random, request, least=first_of_two if self.protocol == 2 else 0)

    def init(self) -> Step:
        version = any_version(self.random, InitProducerIdRequest)
        own = self.random.random() < 0.5
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self.rarely(
                0.06, self.random.choice((0, -1, 300, 2**31 - 1)), 30_000
            ),
            producer_id=self.id if own else self.rarely(0.05, 7, -1),
            producer_epoch=self.epoch if own else self.rarely(0.05, 7, -1),
        )
        self.next.clear()
        return Step(request=request, version=version, connection=self.name, bind=self.binds)

    def add_partitions(self) -> Step:
        some = self.random.sample(PARTITIONS, self.random.randint(1, 3))
        some += self.rarely(0.05, [("missing", 0)], [])
        some += self.rarely(0.05, [("t", 9)], [])
        topics = [
            AddPartitionsToTxnTopic(name=Name(t), partitions=[n for u, n in some if u == t])
            for t in dict.fromkeys(t for t, _ in some)
        ]
        own, number, epoch = self.transactional_id, self.id, self.epoch
        one = AddPartitionsToTxnTransaction(
            transactional_id=own,
            producer_id=number,
            producer_epoch=epoch,
            topics=topics,
            verify_only=self.random.random() < 0.3,
        )
        request = AddPartitionsToTxnRequest(
            transactions=[one],
            v3_and_below_transactional_id=own,
            v3_and_below_producer_id=number,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )
        version = any_version(self.random, AddPartitionsToTxnRequest, most=self.rarely(0.3, 5, 3))
        return Step(request=request, version=version, connection=self.name)

    def add_offsets(self) -> Step:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.id,
            producer_epoch=self.epoch,
            group_id=self.rarely(0.03, "", Name("g")),
        )
        version = any_version(self.random, AddOffsetsToTxnRequest)
        return Step(request=request, version=version, connection=self.name)

    def produce(self) -> Step:
        version = self.version(ProduceRequest, 12)
        transactional = self.random.random() < 0.9
        topic = self.random.choice(("t", "t", "u"))
        places = self.random.sample((0, 1), self.random.choice((1, 1, 2))) if topic == "t" else [0]
        number, epoch = self.id, self.epoch
        batches = {
            place: batch(
                [f"{self.name}{self.random.randint(0, 99)}"],
                producer_id=number,
                epoch=epoch,
                sequence=self.sequence((topic, place)),
                transactional=transactional,
            )
            for place in places
        }
        named = self.rarely(0.05, not transactional, transactional)
        return produce(
            version,
            topic,
            batches,
            transactional_id=self.transactional_id if named else None,
            connection=self.name,
        )

    def produce_widely(self) -> Step:
        """To many partitions: the more markers, the longer an end takes. Only version 2 adds
        partitions without being asked to."""
        number, epoch = self.id, self.epoch
        batches = {
            place: batch(
                [self.name],
                producer_id=number,
                epoch=epoch,
                sequence=self.sequence(("wide", place)),
                transactional=True,
            )
            for place in range(WIDE)
        }
        own = self.transactional_id
        return produce(12, "wide", batches, transactional_id=own, connection=self.name)

    def offsets(self) -> Step:
        place = TxnOffsetCommitRequestPartition(
            partition_index=self.rarely(0.08, 9, 0),
            committed_offset=self.random.randint(0, 50),
            committed_metadata=self.random.choice((None, "", "said")),
        )
        topic = TxnOffsetCommitRequestTopic(
            name=self.rarely(0.05, Name("missing"), Name("t")), partitions=[place]
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=Name("g"),
            producer_id=self.id,
            producer_epoch=self.epoch,
            generation_id=self.rarely(0.06, 3, -1),
            member_id=self.rarely(0.06, "stranger", ""),
            topics=[topic],
        )
        version = self.version(TxnOffsetCommitRequest, 5)
        return Step(request=request, version=version, connection=self.name)

    def end(self) -> Step:
        version = self.version(EndTxnRequest, 5)
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=self.random.random() < 0.6,
        )
        if version >= 5:
            self.next.clear()
        return Step(request=request, version=version, connection=self.name, bind=self.binds)


def one_after_another(random: Random, producer: Producer) -> list[Move]:
    """As clients do it: whole transactions, the next one begun as soon as the last one's end is
    answered; some of them end before anything was sent."""
    producer.careful = True
    moves: list[Move] = []
    for _ in range(random.randint(2, 4)):
        parts = random.choice((("produce",), ("offsets", "produce"), ("offsets",), ()))
        if producer.protocol == 2 and random.random() < 0.6:
            parts = ("produce_widely", *parts) if random.random() < 0.5 else ("produce_widely",)
        if producer.protocol != 2 and "produce" in parts:
            parts = ("add_partitions", *parts)
        if producer.protocol != 2 and "offsets" in parts:
            parts = ("add_offsets", *parts)
        moves += [getattr(producer, part)() for part in (*parts, "end")]
    producer.careful = False
    return moves


def observe(random: Random) -> Step:
    kind = random.choice(("describe", "list", "producers", "fetch", "committed"))
    if kind == "fetch":
        return look(random, *random.choice((("t", 2), ("u", 1))))
    if kind == "committed":
        return committed(random)
    request: Message
    if kind == "describe":
        request = DescribeTransactionsRequest(transactional_ids=[Name("x"), Name("y")])
    elif kind == "producers":
        asked = TopicRequest(name=Name("t"), partition_indexes=[0, 1, rarely(random, 0.2, 9, 0)])
        request = DescribeProducersRequest(topics=[asked])
    else:
        request = ListTransactionsRequest(
            state_filters=random.sample(STATES, random.randint(0, 2)),
            producer_id_filters=rarely(random, 0.3, [Ref("id.A", INVENTED_ID)], []),
            transactional_id_pattern=rarely(
                random, 0.4, random.choice((".*x", "(", "", "y")), None
            ),
        )
    version = any_version(random, type(request))
    return Step(request=request, version=version, connection="look", observes=True)


def committed(random: Random) -> Step:
    topics = [OffsetFetchRequestTopics(name=Name("t"), partition_indexes=[0, 1])]
    group = OffsetFetchRequestGroup(group_id=Name("g"), topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=random.random() < 0.5)
    return Step(request=request, version=random.choice((8, 9)), connection="look", observes=True)


def settled(moves: list[Move]) -> list[Move]:
    """A marker comes after the answer to EndTxn. The same producer has to wait for it; before
    another one writes the markers are waited for, or offsets would be a matter of luck."""
    found: list[Move] = []
    ended_by: set[str] = set()
    for move in moves:
        if isinstance(move, Step) and isinstance(move.request, ProduceRequest) and ended_by:
            waits = move.request.transactional_id is not None
            if ended_by - ({move.connection} if waits else set()):
                request = DescribeTransactionsRequest(transactional_ids=[Name("x"), Name("y")])
                found.append(Step(request=request, version=0, connection="look", observes=True))
                ended_by.clear()
        if isinstance(move, Step) and isinstance(move.request, EndTxnRequest):
            ended_by.add(move.connection)
        found.append(move)
    return found


def draw(random: Random) -> list[Move]:
    protocol = random.choice((1, 2, 2, 0))
    producers = [Producer(name, random, protocol) for name in PRODUCERS]
    moves: list[Move] = [producers[0].init()]
    while len(moves) < 18 + random.randint(0, 32):
        kind = weighted(random, STEPS)
        if kind == "pause":
            moves.append(Pause(milliseconds=900))
        elif kind == "observe":
            moves.append(observe(random))
        elif kind == "one_after_another":
            moves += one_after_another(random, random.choice(producers))
        else:
            moves.append(getattr(random.choice(producers), kind)())
    moves += [
        observe(random),
        look(random, "t", 2, 1),
        look(random, "u", 1, 1),
        look(random, "t", 2, 0),
    ]
    return settled(moves)


AREA = Area(
    name="transactions",
    draw=draw,
    topics=(
        Topic(name="t", partitions=2),
        Topic(name="u"),
        Topic(name="wide", partitions=WIDE, is_rare=True),
    ),
    also=(3106, 3202, 14766, 16792),
)

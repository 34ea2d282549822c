"""ListOffsets and OffsetForLeaderEpoch: times, ends, epochs; with transactions under way."""

from random import Random

from differential.areas.fetch import delete
from differential.drawing import TIMESTAMP, batch, produce, rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import INVENTED_ID, Name, Ref
from ottla.wire.messages.end_txn import EndTxnRequest
from ottla.wire.messages.init_producer_id import InitProducerIdRequest
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from ottla.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

TOPICS = (
    Topic(name="t", partitions=2),
    Topic(name="u"),
    Topic(name="stamped", configs={"message.timestamp.type": "LogAppendTime"}),
)
STEPS = {"list": 9.0, "epoch": 3.0, "write": 4.0, "transact": 2.0, "end": 1.5, "delete": 0.5}
EPOCHS = (0, 1, 5, -2)


def moment(random: Random) -> int:
    return TIMESTAMP + random.choice((-1000, 0, 1, 2, 5, 10, 50, 1000))


def listing(random: Random) -> Step:
    topics = [
        ListOffsetsTopic(name=name, partitions=[asked(random, n) for n in indexes])
        for name, indexes in named(random)
    ]
    request = ListOffsetsRequest(
        replica_id=rarely(random, 0.05, random.choice((-2, 1, 5)), -1),
        isolation_level=random.choice((0, 1)),
        topics=topics,
        timeout_ms=5000,
    )
    version = any_version(random, ListOffsetsRequest)
    return Step(request=request, version=version, connection="a", observes=True)


def named(random: Random) -> list[tuple[Name | str, list[int]]]:
    some = random.sample(TOPICS, random.randint(1, 2))
    found: list[tuple[Name | str, list[int]]] = [
        (
            Name(topic.name),
            [
                *range(topic.partitions),
                *rarely(random, 0.08, [9], []),
                *rarely(random, 0.01, [0], []),
            ],
        )
        for topic in some
    ]
    missing = random.choice((Name("missing"), "", "bad name!"))
    return found + rarely(random, 0.08, [(missing, [0])], []) + rarely(random, 0.01, found[:1], [])


def asked(random: Random, index: int) -> ListOffsetsPartition:
    special = random.choice((-1, -1, -2, -3, -4, -5, -6, -7))
    return ListOffsetsPartition(
        partition_index=index,
        current_leader_epoch=rarely(random, 0.2, random.choice(EPOCHS), -1),
        timestamp=special if random.random() < 0.5 else moment(random),
    )


def epoch_end(random: Random) -> Step:
    topics = [
        OffsetForLeaderTopic(
            topic=name,
            partitions=[
                OffsetForLeaderPartition(
                    partition=n,
                    current_leader_epoch=rarely(random, 0.3, random.choice(EPOCHS), -1),
                    leader_epoch=random.choice((0, 0, 1, 5, -1)),
                )
                for n in indexes
            ],
        )
        for name, indexes in named(random)
    ]
    request = OffsetForLeaderEpochRequest(
        replica_id=random.choice((-2, -1, -1, 1, 5)), topics=topics
    )
    version = any_version(random, OffsetForLeaderEpochRequest)
    return Step(request=request, version=version, connection="a", observes=True)


def write(random: Random) -> Step:
    topic, partition = random.choice((("t", 0), ("t", 1), ("u", 0), ("stamped", 0)))
    values = [f"v{n}" for n in range(random.randint(1, 3))]
    return produce(9, topic, {partition: batch(values, timestamp=moment(random))}, connection="w")


def transact(random: Random) -> Step:
    records = batch(
        ["x"],
        producer_id=Ref("id", INVENTED_ID),
        epoch=Ref("epoch", 0),
        sequence=0,
        transactional=True,
        timestamp=moment(random),
    )
    return produce(12, "t", {random.choice((0, 1)): records}, transactional_id=Name("x"))


def end(random: Random) -> Step:
    request = EndTxnRequest(
        transactional_id=Name("x"),
        producer_id=Ref("id", INVENTED_ID),
        producer_epoch=Ref("epoch", 0),
        committed=random.random() < 0.5,
    )
    return Step(request=request, version=5, bind=BINDS)


BINDS = {"id": "producer_id", "epoch": "producer_epoch"}


def draw(random: Random) -> list[Move]:
    begin = InitProducerIdRequest(transactional_id=Name("x"), transaction_timeout_ms=30_000)
    moves: list[Move] = [Step(request=begin, version=5, bind=BINDS)]
    choices = {
        "list": listing,
        "epoch": epoch_end,
        "write": write,
        "transact": transact,
        "end": end,
        "delete": delete,
    }
    for _ in range(random.randint(18, 40)):
        kind = weighted(random, STEPS)
        moves.append(choices[kind](random))
        if kind == "end":  # its marker comes after the answer: offsets depend on who is first
            moves.append(listing(random))
    return moves


AREA = Area(name="list_offsets", draw=draw, topics=TOPICS, modes=("patient",))

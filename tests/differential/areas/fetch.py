"""Fetch: sessions, limits, epochs, offsets; partitions grow and lose their beginnings."""

from random import Random
from typing import Any

from differential.drawing import batch, produce, rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import INVENTED_UUID, Name, Ref, topic_id
from ottla.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

TOPICS = {"t": 2, "u": 1, "empty": 1}
SESSIONS = ("S", "R")
STEPS = {"fetch": 9.0, "session": 9.0, "write": 2.0, "delete": 0.6}
SIZES = (0, 1, 100, 200, 500, 1 << 20)


class Reader:
    """One session as a client keeps it: its epoch, and whether it speaks of names or of ids."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.epoch = 0
        self.least, self.most = random.choice(((7, 12), (13, 18), (7, 18)))

    def fetch(self) -> Step:
        random = self.random
        opens = self.epoch == 0 or random.random() < 0.12
        epoch = 0 if opens else self.epoch + rarely(random, 0.08, random.choice((-1, 1, 7)), 0)
        if random.random() < 0.05:
            epoch = -1
        self.epoch = 1 if opens else self.epoch + 1
        known = rarely(random, 0.06, random.choice((0, 77)), Ref(f"session.{self.name}", 0))
        topics = places(random, random.randint(1, 3) if opens else random.choice((0, 0, 1)))
        request = FetchRequest(
            **limits(random),
            session_id=rarely(random, 0.2, known, 0) if opens else known,
            session_epoch=epoch,
            topics=topics,
            forgotten_topics_data=[] if opens else forgotten(random),
        )
        return Step(
            request=request,
            version=any_version(random, FetchRequest, least=self.least, most=self.most),
            connection=self.name,
            bind={f"session.{self.name}": "session_id!"},
        )


def limits(random: Random) -> dict[str, Any]:
    return {
        "max_wait_ms": random.choice((0, 0, 20)),
        "min_bytes": random.choice((0, 1, 1, 5000)),
        "max_bytes": rarely(random, 0.3, random.choice(SIZES), 1 << 24),
        "isolation_level": random.choice((0, 1)),
        "replica_id": rarely(random, 0.03, random.choice((-2, 5)), -1),
        "replica_state": ReplicaState(replica_id=rarely(random, 0.03, 5, -1)),
        "rack_id": random.choice(("", "rack")),
    }


def places(random: Random, count: int) -> list[FetchTopic]:
    topics = [
        FetchTopic(
            topic=Name(name),
            topic_id=topic_id(name),
            partitions=[place(random, n) for n in indexes(random, TOPICS[name])],
        )
        for name in random.sample(sorted(TOPICS), count)
    ]
    if random.random() < 0.06:
        name, number = random.choice(
            ((Name("missing"), INVENTED_UUID), ("", bytes(16)), ("bad name!", INVENTED_UUID))
        )
        topics.append(FetchTopic(topic=name, topic_id=number, partitions=[place(random, 0)]))
    if topics and random.random() < 0.01:
        topics.append(topics[0])
    return topics


def indexes(random: Random, partitions: int) -> list[int]:
    some = random.sample(range(partitions), random.randint(1, partitions))
    return some + rarely(random, 0.06, [9], []) + rarely(random, 0.01, [some[0]], [])


def place(random: Random, index: int) -> FetchPartition:
    return FetchPartition(
        partition=index,
        current_leader_epoch=rarely(random, 0.2, random.choice((0, 1, 5, -2)), -1),
        fetch_offset=rarely(random, 0.12, random.choice((-1, 1000, 40)), random.randint(0, 10)),
        last_fetched_epoch=rarely(random, 0.1, random.choice((0, 1, 5)), -1),
        log_start_offset=-1,
        partition_max_bytes=rarely(random, 0.4, random.choice(SIZES), 1 << 20),
    )


def forgotten(random: Random) -> list[ForgottenTopic]:
    if random.random() > 0.15:
        return []
    name = random.choice(sorted(TOPICS))
    return [ForgottenTopic(topic=Name(name), topic_id=topic_id(name), partitions=[0])]


def single(random: Random) -> Step:
    """Without a session, or before there were any."""
    request = FetchRequest(**limits(random), topics=places(random, random.randint(0, 3)))
    return Step(request=request, version=any_version(random, FetchRequest), connection="one")


def write(random: Random) -> Step:
    topic, partition = random.choice((("t", 0), ("t", 1), ("u", 0)))
    values = [f"v{random.randint(0, 9)}" * random.choice((1, 20))] * random.randint(1, 3)
    return produce(9, topic, {partition: batch(values)}, connection="w")


def delete(random: Random) -> Step:
    place = DeleteRecordsPartition(partition_index=0, offset=random.choice((-1, 1, 2, 3, 900)))
    topic = DeleteRecordsTopic(name=Name(random.choice("tu")), partitions=[place])
    request = DeleteRecordsRequest(topics=[topic], timeout_ms=5000)
    return Step(request=request, version=any_version(random, DeleteRecordsRequest), connection="w")


def draw(random: Random) -> list[Move]:
    readers = [Reader(name, random) for name in SESSIONS]
    moves: list[Move] = [write(random) for _ in range(random.randint(3, 8))]
    for _ in range(random.randint(15, 40)):
        kind = weighted(random, STEPS)
        if kind == "fetch":
            moves.append(single(random))
        elif kind == "session":
            moves.append(random.choice(readers).fetch())
        else:
            moves.append(write(random) if kind == "write" else delete(random))
    return moves


AREA = Area(
    name="fetch",
    draw=draw,
    topics=tuple(Topic(name=name, partitions=count) for name, count in TOPICS.items()),
    patience_s=0,  # who asks as a replica hears for ever that another leads
    modes=("patient",),
)

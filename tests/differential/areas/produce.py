"""Produce in all versions: sequence numbers, codecs, wrong batches, topics with demands."""

from random import Random
from typing import Any

from differential.drawing import TIMESTAMP, batch, look, rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import INVENTED_ID, INVENTED_UUID, Name, Ref, made, topic_id
from ottla.wire.messages.init_producer_id import InitProducerIdRequest
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support import batches

TOPICS = (
    Topic(name="t", partitions=2),
    Topic(name="compacted", configs={"cleanup.policy": "compact"}),
    Topic(name="stamped", configs={"message.timestamp.type": "LogAppendTime"}),
    Topic(name="small", configs={"max.message.bytes": "300"}),
    Topic(name="packed", configs={"compression.type": "lz4"}),
    Topic(
        name="timely",
        configs={
            "message.timestamp.before.max.ms": "1000",
            "message.timestamp.after.max.ms": "1000",
        },
    ),
)
KINDS = {"right": 5.0, "packed": 1.0, "wrong": 1.5, "two": 0.3, "empty": 0.2}


def wrong_batch(values: tuple[str, ...], **given: Any) -> bytes:
    """Built byte by byte, so that its header may lie."""
    return batches.batch([value.encode() for value in values], **given)


def two_batches(first: Any, second: Any) -> bytes:
    return bytes(first) + bytes(second)


class Producer:
    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.next: dict[tuple[str, int], int] = {}

    def identity(self, place: tuple[str, int], count: int) -> dict[str, Any]:
        """Id, epoch and sequence of the next batch, as the producer thinks they are."""
        if self.name == "plain":
            return {}
        number = self.next.get(place, 0)
        off = self.random.choice((-2, -1, 1, 2, 2**31 - 1))
        if self.random.random() < 0.85:
            self.next[place] = number + count  # otherwise the same is sent again
        return {
            "producer_id": rarely(
                self.random, 0.04, INVENTED_ID, Ref(f"id.{self.name}", INVENTED_ID)
            ),
            "epoch": Ref(f"epoch.{self.name}", 0, rarely(self.random, 0.08, 1, 0)),
            "sequence": number + rarely(self.random, 0.1, off, 0),
        }

    def records(self, place: tuple[str, int], version: int) -> Any:
        random = self.random
        kind = weighted(random, KINDS)
        values = [f"{self.name}{random.randint(0, 99)}"] * random.choice((1, 1, 2, 4))
        key = rarely(random, 0.2, None, "k")
        timestamp = rarely(random, 0.1, random.choice((-1, 1, 4_000_000_000_000)), TIMESTAMP)
        given = {**self.identity(place, len(values)), "key": key, "timestamp": timestamp}
        if kind == "empty":
            return b""
        if kind == "wrong":
            return self.wrong(values)
        one = batch(
            values if kind != "packed" else [v * random.choice((1, 60)) for v in values],
            codec=random.choice((1, 2, 3, 4)) if kind == "packed" else 0,
            **given,
        )
        return made(two_batches, first=one, second=one) if kind == "two" else one

    def wrong(self, values: list[str]) -> Any:
        lies = self.random.choice(
            (
                {"magic": 0},
                {"magic": 1},
                {"magic": 3},
                {"crc": 7},
                {"count": 9},
                {"count": 0},
                {"last_offset_delta": 5},
                {"attributes": 0x20},
                {"attributes": 0x10},
                {"attributes": 0x10, "producer_id": INVENTED_ID, "producer_epoch": 0},
                {"attributes": 5},
                {"producer_id": INVENTED_ID, "producer_epoch": -1, "sequence": 0},
                {"producer_id": INVENTED_ID, "producer_epoch": 0, "sequence": -1},
                {"base_offset": 5},
            )
        )
        return made(wrong_batch, values=tuple(values), **lies)

    def produce(self) -> Step:
        random = self.random
        version = any_version(random, ProduceRequest)
        topics = random.sample(TOPICS, random.choice((1, 1, 1, 2)))
        data = [self.topic(topic, version) for topic in topics]
        if random.random() < 0.06:
            data.append(self.missing())
        request = ProduceRequest(
            transactional_id=rarely(random, 0.04, Name("x"), None),
            acks=rarely(random, 0.08, random.choice((0, 2, -2)), random.choice((-1, 1))),
            timeout_ms=5000,
            topic_data=data,
        )
        return Step(request=request, version=version, connection=self.name)

    def topic(self, topic: Topic, version: int) -> TopicProduceData:
        random = self.random
        indexes = random.sample(range(topic.partitions), random.randint(1, topic.partitions))
        indexes += rarely(random, 0.05, [9], [])
        return TopicProduceData(
            name=Name(topic.name),
            topic_id=topic_id(topic.name),
            partition_data=[
                PartitionProduceData(index=n, records=self.records((topic.name, n), version))
                for n in indexes
            ],
        )

    def missing(self) -> TopicProduceData:
        place = PartitionProduceData(index=0, records=batch(["lost"]))
        name = self.random.choice((Name("missing"), "", "bad name!"))
        return TopicProduceData(name=name, topic_id=INVENTED_UUID, partition_data=[place])

    def init(self) -> Step:
        request = InitProducerIdRequest(
            transactional_id=None,
            transaction_timeout_ms=30_000,
            producer_id=rarely(self.random, 0.4, Ref(f"id.{self.name}", -1), -1),
            producer_epoch=rarely(self.random, 0.4, Ref(f"epoch.{self.name}", -1), -1),
        )
        self.next.clear()
        return Step(
            request=request,
            version=any_version(self.random, InitProducerIdRequest),
            connection=self.name,
            bind={f"id.{self.name}": "producer_id", f"epoch.{self.name}": "producer_epoch"},
        )


def draw(random: Random) -> list[Move]:
    producers = [Producer(name, random) for name in ("plain", "P", "Q")]
    moves: list[Move] = [producers[1].init(), producers[2].init()]
    for _ in range(random.randint(18, 45)):
        producer = random.choice(producers)
        again = producer.name != "plain" and random.random() < 0.06
        moves.append(producer.init() if again else producer.produce())
    return moves + [look(random, topic.name, topic.partitions) for topic in TOPICS]


AREA = Area(name="produce", draw=draw, topics=TOPICS, also=(3042, 3237))

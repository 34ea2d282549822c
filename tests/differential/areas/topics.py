"""Topics and partitions: made, grown, shown, emptied and deleted; wrong names and counts too."""

from random import Random

from differential.brokers import DEFAULTS_OF_TOPICS
from differential.drawing import batch, produce, rarely, weighted
from differential.steps import Area, Move, Step, any_version
from differential.symbols import INVENTED_UUID, Name, topic_id
from ottla.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from ottla.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from ottla.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    RequestCursor,
    TopicRequest,
)
from ottla.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from ottla.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

NAMES = ("p", "q", "r")
STEPS = {
    "create": 3.0,
    "delete": 1.5,
    "grow": 2.5,
    "metadata": 4.0,
    "describe": 3.0,
    "write": 2.0,
    "empty": 1.5,
    "elect": 0.6,
}
CONFIGS = (
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "odd"),
    ("retention.ms", "5000"),
    ("retention.ms", "soon"),
    ("min.insync.replicas", "0"),
    ("min.insync.replicas", "3"),
    ("segment.bytes", "1048576"),
    ("no.such.setting", "1"),
    ("compression.type", "zstd"),
    ("max.message.bytes", None),
    ("compression.gzip.level", "77"),
)


def name(random: Random) -> Name:
    return Name(random.choice(NAMES))


def odd_name(random: Random, *, and_internal: bool = False) -> Name | str:
    """The internal one only where nothing can happen to it: it is everybody's."""
    names = ("", ".", "bad name!", "x" * 250, Name("missing"))
    return random.choice((*names, "__consumer_offsets") if and_internal else names)


def create(random: Random) -> Step:
    some = random.sample(NAMES, random.choice((1, 1, 2)))
    names: list[Name | str] = [Name(n) for n in some]
    binds = {f"topic.{some[0]}": "topics.0.topic_id"}
    if random.random() < 0.06:
        names.append(random.choice(("", ".", "bad name!", "x" * 250, names[0])))
        binds = {}  # who comes first in the answer is not said
    request = CreateTopicsRequest(
        topics=[creatable(random, each) for each in names],
        timeout_ms=5000,
        validate_only=random.random() < 0.15,
    )
    return Step(request=request, version=any_version(random, CreateTopicsRequest), bind=binds)


def creatable(random: Random, topic: Name | str) -> CreatableTopic:
    if random.random() < 0.15:
        assigned: tuple[dict[int, list[int]], ...] = (
            {0: [1]},
            {0: [1], 1: [1]},
            {1: [1]},
            {0: [1, 1]},
            {0: [9]},
            {0: []},
            {0: [1], 2: [1]},
        )
        assignments = random.choice(assigned)
        counts = rarely(random, 0.1, (1, 1), (-1, -1))
    else:
        assignments = {}
        count = rarely(random, 0.1, random.choice((0, -1, -2)), random.randint(1, 4))
        counts = (count, rarely(random, 0.1, random.choice((0, -1, 2, -2)), 1))
    configs = random.sample(CONFIGS, 1) if random.random() < 0.3 else []
    return CreatableTopic(
        name=topic,
        num_partitions=counts[0],
        replication_factor=counts[1],
        assignments=[
            CreatableReplicaAssignment(partition_index=n, broker_ids=ids)
            for n, ids in assignments.items()
        ],
        configs=[CreatableTopicConfig(name=n, value=v) for n, v in configs],
    )


def delete(random: Random) -> Step:
    topic = name(random)
    state = random.choice(
        (
            DeleteTopicState(name=topic),
            DeleteTopicState(name=None, topic_id=topic_id(topic.of)),
            DeleteTopicState(name=rarely(random, 0.1, odd_name(random), topic)),
            DeleteTopicState(name=None, topic_id=rarely(random, 0.2, INVENTED_UUID, bytes(16))),
        )
    )
    states = [
        state,
        *rarely(random, 0.05, [state], []),
        *rarely(random, 0.1, [DeleteTopicState()], []),
    ]
    names = [rarely(random, 0.1, Name("missing"), topic)]
    request = DeleteTopicsRequest(topics=states, topic_names=names, timeout_ms=5000)
    return Step(request=request, version=any_version(random, DeleteTopicsRequest))


def grow(random: Random) -> Step:
    assignments = rarely(
        random,
        0.2,
        [CreatePartitionsAssignment(broker_ids=random.choice(([1], [9], [1, 1], [])))],
        None,
    )
    topics = [
        CreatePartitionsTopic(
            name=rarely(random, 0.08, odd_name(random), topic),
            count=rarely(random, 0.1, random.choice((0, -1)), random.randint(1, 7)),
            assignments=assignments,
        )
        for topic in [name(random)]
    ]
    topics += rarely(random, 0.05, topics[:1], [])
    request = CreatePartitionsRequest(
        topics=topics, timeout_ms=5000, validate_only=random.random() < 0.2
    )
    return Step(request=request, version=any_version(random, CreatePartitionsRequest))


def metadata(random: Random) -> Step:
    version = any_version(random, MetadataRequest)
    topic = name(random)
    asked = [MetadataRequestTopic(name=topic)]
    if version >= 12 and random.random() < 0.5:
        number = rarely(random, 0.2, INVENTED_UUID, topic_id(topic.of))
        asked = [MetadataRequestTopic(name=rarely(random, 0.1, topic, None), topic_id=number)]
    elif random.random() < 0.15:
        asked.append(
            MetadataRequestTopic(name=random.choice(("", "bad name!", Name("missing"), topic)))
        )
    everything: list[MetadataRequestTopic] | None = None if version >= 1 else []
    request = MetadataRequest(
        topics=everything if random.random() < 0.15 else asked,
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=random.random() < 0.2,
        include_topic_authorized_operations=random.random() < 0.3,
    )
    # before version 4 there is no asking without making: that has a place of its own
    version = version if version >= 4 or request.topics in (None, []) else 4
    return Step(request=request, version=version, connection="look", observes=True)


def describe(random: Random) -> Step:
    """Kafka fails over a name or a number that is wrong, and tells of nothing: not often."""
    is_odd = random.random() < 0.1
    topics = [TopicRequest(name=Name(n)) for n in random.sample(NAMES, random.randint(1, 3))]
    cursor = RequestCursor(topic_name=name(random), partition_index=random.choice((0, 1, 2, 3, 9)))
    limits: tuple[int, ...] = (2000, 2000, 1, 2, 3)
    if is_odd:
        topics += rarely(random, 0.3, [TopicRequest(name=odd_name(random, and_internal=True))], [])
        limits = (2000, 2, 0, -1)
        cursor.topic_name = rarely(random, 0.5, odd_name(random), cursor.topic_name)
        cursor.partition_index = rarely(random, 0.3, -1, cursor.partition_index)
    request = DescribeTopicPartitionsRequest(
        topics=topics,
        response_partition_limit=random.choice(limits),
        cursor=rarely(random, 0.3, cursor, None),
    )
    return Step(request=request, version=0, connection="look", observes=True)


def write(random: Random) -> Step:
    topic, partition = name(random).of, random.choice((0, 0, 1, 3))
    return produce(9, topic, {partition: batch(["v"] * random.randint(1, 3))})


def empty(random: Random) -> Step:
    places = [
        DeleteRecordsPartition(
            partition_index=n,
            offset=rarely(random, 0.3, random.choice((-2, 99)), random.choice((-1, 1, 2))),
        )
        for n in random.choice(([0], [0, 1], [9]))
    ]
    topic = DeleteRecordsTopic(
        name=rarely(random, 0.1, odd_name(random, and_internal=True), name(random)),
        partitions=places,
    )
    request = DeleteRecordsRequest(topics=[topic], timeout_ms=5000)
    return Step(request=request, version=any_version(random, DeleteRecordsRequest))


def elect(random: Random) -> Step:
    places = [TopicPartitions(topic=name(random), partitions=random.choice(([0], [0, 1], [9])))]
    request = ElectLeadersRequest(
        election_type=random.choice((0, 0, 1, 2)), topic_partitions=places, timeout_ms=5000
    )
    return Step(request=request, version=any_version(random, ElectLeadersRequest))


def draw(random: Random) -> list[Move]:
    choices = {
        "create": create,
        "delete": delete,
        "grow": grow,
        "metadata": metadata,
        "describe": describe,
        "write": write,
        "empty": empty,
        "elect": elect,
    }
    count = random.randint(18, 35)
    moves: list[Move] = [create(random)]
    moves += [choices[weighted(random, STEPS)](random) for _ in range(count)]
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name=Name(n)) for n in NAMES], timeout_ms=5000
    )
    return [*moves, Step(request=request, version=6)]


AREA = Area(
    name="topics",
    draw=draw,
    settings=DEFAULTS_OF_TOPICS,
    modes=("patient",),
)

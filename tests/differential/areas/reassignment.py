"""Who holds a partition, and who leads it: as much of moving as one node can be asked for."""

from random import Random
from typing import Any

from differential.drawing import rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import Name
from ottla.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from ottla.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from ottla.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from ottla.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from ottla.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

STEPS = {"reassign": 5.0, "reassigning": 2.0, "elect": 4.0, "grow": 1.5, "look": 2.0}
NODE = 1


def any_topic(random: Random) -> Any:
    wrong = random.choice(("", "bad name!", Name("missing"), "__consumer_offsets_"))
    return rarely(random, 0.12, wrong, Name(random.choice("tu")))


def any_partitions(random: Random) -> list[int]:
    """A partition may be asked for twice, or may not be there."""
    count = rarely(random, 0.1, 0, random.choice((1, 1, 2, 3)))
    return [
        rarely(random, 0.12, random.choice((-1, 9)), random.choice((0, 1))) for _ in range(count)
    ]


def any_replicas(random: Random) -> list[int] | None:
    wrong = random.choice(([], [9], [NODE, NODE], [NODE, 9], [9, NODE], [-1], [0]))
    return rarely(random, 0.5, wrong, random.choice((None, [NODE])))


def reassign(random: Random) -> Step:
    topics = [
        ReassignableTopic(
            name=any_topic(random),
            partitions=[
                ReassignablePartition(partition_index=index, replicas=any_replicas(random))
                for index in any_partitions(random)
            ],
        )
        for _ in range(rarely(random, 0.05, 0, random.choice((1, 1, 2))))
    ]
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=5000, allow_replication_factor_change=random.random() < 0.6, topics=topics
    )
    return Step(request=request, version=any_version(random, type(request)))


def reassigning(random: Random) -> Step:
    topics = [
        ListPartitionReassignmentsTopics(
            name=any_topic(random), partition_indexes=any_partitions(random)
        )
        for _ in range(random.choice((0, 1, 2)))
    ]
    request = ListPartitionReassignmentsRequest(
        timeout_ms=5000, topics=rarely(random, 0.3, None, topics)
    )
    return Step(request=request, version=any_version(random, type(request)))


def elect(random: Random) -> Step:
    topics = [
        TopicPartitions(topic=any_topic(random), partitions=any_partitions(random))
        for _ in range(rarely(random, 0.08, 0, random.choice((1, 1, 2))))
    ]
    request = ElectLeadersRequest(
        election_type=rarely(random, 0.1, random.choice((2, -1)), random.choice((0, 1))),
        topic_partitions=rarely(random, 0.1, None, topics),
        timeout_ms=5000,
    )
    return Step(request=request, version=any_version(random, type(request)))


def grow(random: Random) -> Step:
    count = random.choice((0, 1, 2, 3, 3))
    homes = rarely(
        random, 0.4, [[NODE]], random.choice(([[9]], [[]], [[NODE, NODE]], [[NODE]] * 2))
    )
    topic = CreatePartitionsTopic(
        name=any_topic(random),
        count=count,
        assignments=rarely(
            random, 0.4, [CreatePartitionsAssignment(broker_ids=ids) for ids in homes], None
        ),
    )
    request = CreatePartitionsRequest(
        topics=[topic], timeout_ms=5000, validate_only=random.random() < 0.3
    )
    return Step(request=request, version=any_version(random, type(request)))


def look(random: Random) -> Step:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=Name(name)) for name in "tu"],
        allow_auto_topic_creation=False,
    )
    version = any_version(random, MetadataRequest, least=4)
    return Step(request=request, version=version, connection="look", observes=True)


def draw(random: Random) -> list[Move]:
    choices = {
        "reassign": reassign,
        "reassigning": reassigning,
        "elect": elect,
        "grow": grow,
        "look": look,
    }
    moves = [choices[weighted(random, STEPS)](random) for _ in range(random.randint(20, 40))]
    return [*moves, look(random)]


AREA = Area(
    name="reassignment",
    draw=draw,
    topics=(Topic(name="t", partitions=2), Topic(name="u")),
    lasting=frozenset({"CreatePartitions", "AlterPartitionReassignments", "ElectLeaders"}),
    modes=("patient",),
)

"""The cluster itself: versions, features, quorum, coordinators, reassignment, log directories."""

from random import Random

from differential.drawing import rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import Name
from ottla.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.describe_cluster import DescribeClusterRequest
from ottla.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    RequestPartitionData,
    RequestTopicData,
)
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest
from ottla.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from ottla.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

STEPS = {
    "versions": 1.0,
    "cluster": 2.0,
    "quorum": 2.0,
    "features": 3.0,
    "coordinator": 3.0,
    "reassign": 3.0,
    "reassigning": 1.5,
}
FEATURES = (
    "metadata.version",
    "kraft.version",
    "transaction.version",
    "group.version",
    "share.version",
    "streams.version",
    "eligible.leader.replicas.version",
    "no.such.feature",
    "",
)


def versions(random: Random) -> Step:
    request = ApiVersionsRequest(
        client_software_name=rarely(random, 0.2, random.choice(("", "bad name!")), "raw"),
        client_software_version=rarely(random, 0.2, "", "1"),
    )
    return Step(request=request, version=any_version(random, ApiVersionsRequest))


def cluster(random: Random) -> Step:
    request = DescribeClusterRequest(
        include_cluster_authorized_operations=random.random() < 0.4,
        endpoint_type=rarely(random, 0.3, random.choice((0, 2, 3)), 1),
        include_fenced_brokers=random.random() < 0.4,
    )
    return Step(request=request, version=any_version(random, DescribeClusterRequest))


def quorum(random: Random) -> Step:
    name = rarely(random, 0.3, random.choice(("", Name("t"))), "__cluster_metadata")
    places = [RequestPartitionData(partition_index=rarely(random, 0.2, 1, 0))]
    topics = [RequestTopicData(topic_name=name, partitions=rarely(random, 0.1, [], places))]
    request = DescribeQuorumRequest(topics=rarely(random, 0.05, [], topics))
    return Step(request=request, version=any_version(random, DescribeQuorumRequest))


def features(random: Random) -> Step:
    """Only validated: the brokers are everybody's."""
    updates = [
        FeatureUpdateKey(
            feature=name,
            max_version_level=random.choice((-1, 0, 1, 2, 3, 7, 20, 25, 99)),
            upgrade_type=rarely(random, 0.4, random.choice((0, 2, 3, 4)), 1),
        )
        for name in random.sample(FEATURES, random.choice((1, 1, 2)))
    ]
    request = UpdateFeaturesRequest(
        timeout_ms=5000,
        feature_updates=rarely(random, 0.04, [], updates),
        validate_only=True,
    )
    version = any_version(random, UpdateFeaturesRequest, least=1)
    return Step(request=request, version=version)


def coordinator(random: Random) -> Step:
    share = random.choice((Name("g:x"), "g:AAAAAAAAAAAAAAAAAAAAAQ:0", "g:odd:0", "g", "a:b:c:d"))
    kind = rarely(random, 0.1, random.choice((3, -1, 7)), random.choice((0, 1, 2)))
    key = share if kind == 2 else rarely(random, 0.1, "", Name(random.choice("gx")))
    request = FindCoordinatorRequest(
        key=key,
        key_type=kind,
        coordinator_keys=[key, *rarely(random, 0.3, [Name("h")], [])],
    )
    return Step(request=request, version=any_version(random, FindCoordinatorRequest))


def reassign(random: Random) -> Step:
    replicas = random.choice((None, [1], [9], [1, 1], [], [1, 9], [-1]))
    place = ReassignablePartition(
        partition_index=rarely(random, 0.1, 9, random.choice((0, 1))), replicas=replicas
    )
    name = rarely(random, 0.15, random.choice(("", Name("missing"), "bad name!")), Name("t"))
    topics = [ReassignableTopic(name=name, partitions=[place])]
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=5000,
        allow_replication_factor_change=random.random() < 0.7,
        topics=topics + rarely(random, 0.05, topics, []),
    )
    version = any_version(random, AlterPartitionReassignmentsRequest)
    return Step(request=request, version=version)


def reassigning(random: Random) -> Step:
    name = rarely(random, 0.3, random.choice(("", Name("missing"))), Name("t"))
    asked = ListPartitionReassignmentsTopics(
        name=name, partition_indexes=random.choice(([0], [0, 1], [9], []))
    )
    request = ListPartitionReassignmentsRequest(
        timeout_ms=5000, topics=rarely(random, 0.3, None, [asked])
    )
    return Step(request=request, version=0)


def draw(random: Random) -> list[Move]:
    choices = {
        "versions": versions,
        "cluster": cluster,
        "quorum": quorum,
        "features": features,
        "coordinator": coordinator,
        "reassign": reassign,
        "reassigning": reassigning,
    }
    return [choices[weighted(random, STEPS)](random) for _ in range(random.randint(20, 40))]


AREA = Area(
    name="cluster",
    draw=draw,
    topics=(Topic(name="t", partitions=2),),
    shares_topics=True,
    uncompared=frozenset({"finalized_features_epoch", "log_end_offset", "high_watermark"}),
    modes=("patient",),
)

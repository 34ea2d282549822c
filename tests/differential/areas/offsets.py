"""OffsetCommit, OffsetFetch and OffsetDelete in all versions, for groups without members."""

from random import Random

from differential.drawing import rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import INVENTED_UUID, Name, Ref, topic_id
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.list_groups import ListGroupsRequest
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

TOPICS = {"t": 2, "u": 1}
STEPS = {"commit": 5.0, "fetch": 5.0, "delete": 1.5, "delete_group": 0.7, "list": 0.4}


def group(random: Random) -> Name:
    """Not the one without a name: it is everybody's."""
    return Name(random.choice("gh"))


def named(random: Random, most: int = 2) -> list[tuple[Name | str, Ref | bytes, list[int]]]:
    """Name, id and partitions of some topics, of which some are not there."""
    found: list[tuple[Name | str, Ref | bytes, list[int]]] = []
    for name in random.sample(sorted(TOPICS), random.randint(1, most)):
        some = random.sample(range(TOPICS[name]), random.randint(1, TOPICS[name]))
        some += rarely(random, 0.08, [9], []) + rarely(random, 0.04, [-1], [])
        some += rarely(random, 0.01, some[:1], [])
        found.append((Name(name), topic_id(name), some))
    if random.random() < 0.1:
        absent = random.choice((Name("missing"), "", "bad name!"))
        found.append((absent, random.choice((INVENTED_UUID, bytes(16))), [0]))
    return found + rarely(random, 0.01, found[:1], [])


def commit(random: Random) -> Step:
    topics = [
        OffsetCommitRequestTopic(
            name=name,
            topic_id=number,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=n,
                    committed_offset=rarely(random, 0.06, -1, random.randint(0, 99)),
                    committed_leader_epoch=random.choice((-1, -1, 0, 3)),
                    committed_metadata=rarely(
                        random, 0.04, "m" * 5000, random.choice((None, "", "said"))
                    ),
                )
                for n in partitions
            ],
        )
        for name, number, partitions in named(random)
    ]
    request = OffsetCommitRequest(
        group_id=group(random),
        generation_id_or_member_epoch=rarely(random, 0.08, random.choice((0, 1, -2)), -1),
        member_id=rarely(random, 0.08, "stranger", ""),
        group_instance_id=rarely(random, 0.06, "instance", None),
        retention_time_ms=rarely(random, 0.2, 100_000, -1),
        topics=rarely(random, 0.03, [], topics),
    )
    return Step(request=request, version=any_version(random, OffsetCommitRequest))


def fetch(random: Random) -> Step:
    version = any_version(random, OffsetFetchRequest)
    everything = version >= 2 and random.random() < 0.25
    old = [
        OffsetFetchRequestTopic(name=name, partition_indexes=partitions)
        for name, _, partitions in named(random)
    ]
    groups = [
        OffsetFetchRequestGroup(
            group_id=group(random),
            member_id=rarely(random, 0.08, "stranger", rarely(random, 0.1, "", None)),
            member_epoch=rarely(random, 0.08, random.choice((0, 1)), -1),
            topics=None
            if everything
            else [
                OffsetFetchRequestTopics(name=name, topic_id=number, partition_indexes=partitions)
                for name, number, partitions in named(random)
            ],
        )
        for _ in range(random.choice((1, 1, 2)))
    ]
    request = OffsetFetchRequest(
        group_id=group(random),
        topics=None if everything else rarely(random, 0.05, [], old),
        groups=groups,
        require_stable=random.random() < 0.3,
    )
    return Step(request=request, version=version, connection="b")


def delete(random: Random) -> Step:
    topics = [
        OffsetDeleteRequestTopic(
            name=name,
            partitions=[OffsetDeleteRequestPartition(partition_index=n) for n in partitions],
        )
        for name, _, partitions in named(random)
    ]
    request = OffsetDeleteRequest(group_id=group(random), topics=topics)
    return Step(request=request, version=0)


def delete_group(random: Random) -> Step:
    names: tuple[list[str], ...] = ([Name("g")], [Name("h")], [Name("g"), Name("h")])
    request = DeleteGroupsRequest(groups_names=random.choice(names))
    return Step(request=request, version=any_version(random, DeleteGroupsRequest))


def listing(random: Random) -> Step:
    request = ListGroupsRequest(
        states_filter=rarely(random, 0.4, [random.choice(("Empty", "stable", "Odd"))], []),
        types_filter=rarely(random, 0.4, [random.choice(("classic", "Consumer", "Odd"))], []),
    )
    return Step(request=request, version=any_version(random, ListGroupsRequest), connection="b")


def draw(random: Random) -> list[Move]:
    choices = {
        "commit": commit,
        "fetch": fetch,
        "delete": delete,
        "delete_group": delete_group,
        "list": listing,
    }
    count = random.randint(20, 50)
    return [commit(random), *(choices[weighted(random, STEPS)](random) for _ in range(count))]


AREA = Area(
    name="offsets",
    draw=draw,
    topics=tuple(Topic(name=name, partitions=count) for name, count in TOPICS.items()),
    shares_topics=True,
    modes=("patient",),
)

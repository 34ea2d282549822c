"""Consumer groups (KIP-848): members of both protocols, static ones, commits in their epochs.

Member ids are the sequence's own, and targets are made by the range assignor, or by the uniform one
where all want the same topic: ids that a broker draws would be sorted otherwise in every run. A
valid regular expression is not drawn: Apache Kafka looks for its topics in the background, and at
most every ten seconds.
"""

from collections.abc import Sequence as Values
from random import Random
from typing import Any

from differential.areas.offsets import listing
from differential.drawing import rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import Name, Ref, made, topic_id
from ottla.wire.codec import encode
from ottla.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ottla.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    RequestTopicPartitions,
)
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.describe_groups import DescribeGroupsRequest
from ottla.wire.messages.heartbeat import HeartbeatRequest
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
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
    OffsetFetchRequestTopics,
)
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from ottla.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolAssignmentTopicPartition,
    ConsumerProtocolSubscription,
)

TOPICS = {"t": 4, "u": 2}
CONSUMERS, CLASSICS = "ABC", "KL"
INSTANCES = ("one", "two")
REBALANCE_MS = 1500
SESSION_MS = 8000
CONSUMER_STEPS = {"beat": 6.0, "join": 1.5, "leave": 0.8, "commit": 1.2, "fetch": 0.5}
CLASSIC_STEPS = {"join": 1.5, "sync": 1.5, "beat": 2.0, "leave": 0.7, "commit": 1.0}
STEPS = {"consumer": 6.0, "classic": 2.5, "describe": 2.0, "delete": 0.2, "delete_offsets": 0.3}


def owned(told: Assignment | None, keep: int) -> list[RequestTopicPartitions] | None:
    """What a member was told to have, or only some of each topic."""
    if told is None:
        return []
    return [
        RequestTopicPartitions(topic_id=place.topic_id, partitions=sorted(place.partitions)[:keep])
        for place in told.topic_partitions
    ]


def subscription(topics: Values[str], version: int, rack: str | None) -> bytes:
    said = ConsumerProtocolSubscription(topics=sorted(topics), rack_id=rack)
    return version.to_bytes(2, "big") + encode(said, version)


def assignment(topic: str, partitions: Values[int]) -> bytes:
    place = ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=list(partitions))
    message = ConsumerProtocolAssignment(assigned_partitions=[place])
    return bytes(2) + encode(message, 0)


def some_topics(random: Random) -> list[Any]:
    """At least one: where somebody who wants none comes first, Kafka gives nobody anything."""
    some = random.choice((["t"], ["t"], ["t"], ["t", "u"], ["u"]))
    return [*map(Name, some), *rarely(random, 0.03, [Name("missing")], [])]


def places(random: Random, whole: int) -> list[int]:
    some = random.sample(range(whole), random.randint(1, whole))
    return some + rarely(random, 0.05, [9], [])


class Consumer:
    """Speaks the consumer protocol."""

    def __init__(self, name: str, random: Random, *, uniform: bool) -> None:
        self.name = name
        self.random = random
        static = random.random() < 0.35
        self.instance = Name(random.choice(INSTANCES)) if static else None
        self.uniform = uniform
        self.odd_regex: str | None = "("
        self.topics = self.some_topics()

    def some_topics(self) -> list[Any]:
        return [Name("t")] if self.uniform else some_topics(self.random)

    @property
    def id(self) -> Any:
        wrong = self.random.choice(("", "stranger", self.random.choice(CONSUMERS)))
        return rarely(self.random, 0.05, wrong, self.name)

    @property
    def instance_id(self) -> Any:
        wrong = self.random.choice((None, "", Name(self.random.choice(INSTANCES))))
        return rarely(self.random, 0.05, wrong, self.instance)

    @property
    def epoch(self) -> Any:
        now = Ref(f"epoch.{self.name}", 1)
        wrong = self.random.choice(
            (
                Ref(f"epoch.{self.name}", 1, plus=1),
                Ref(f"epoch.{self.name}", 1, plus=-1),
                Ref(f"epoch.{self.name}", 1, back=1),
                -3,
            )
        )
        return rarely(self.random, 0.1, wrong, now)

    def heartbeat(self, **fields: Any) -> Step:
        random = self.random
        request = ConsumerGroupHeartbeatRequest(
            **{
                "group_id": rarely(random, 0.02, random.choice(("", Name("nobody"))), Name("g")),
                "member_id": self.id,
                "instance_id": self.instance_id,
                "rebalance_timeout_ms": -1,
                "topic_partitions": None,
                "server_assignor": rarely(
                    random, 0.04, random.choice(("odd", None if self.uniform else "range")), None
                ),
                "rack_id": rarely(random, 0.06, random.choice(("here", "there", "")), None),
                **fields,
            }
        )
        binds = {f"epoch.{self.name}": "member_epoch", f"has.{self.name}": "assignment"}
        if fields["member_epoch"] in (-1, -2):
            binds = {}
        version = any_version(random, ConsumerGroupHeartbeatRequest)
        return Step(request=request, version=version, connection=self.name, bind=binds)

    def join(self) -> Step:
        random = self.random
        if random.random() < 0.3:
            self.topics = self.some_topics()
        return self.heartbeat(
            member_epoch=0,
            # with another instance id than before: Kafka takes away what the member has
            member_id=rarely(random, 0.05, random.choice(("", "stranger")), self.name),
            instance_id=self.instance,
            server_assignor="uniform" if self.uniform else None,
            rebalance_timeout_ms=rarely(random, 0.03, -1, 60_000),
            subscribed_topic_names=rarely(random, 0.03, None, self.topics),
            subscribed_topic_regex=rarely(random, 0.03, self.odd_regex, None),
            topic_partitions=rarely(random, 0.03, None, []),
        )

    def beat(self) -> Step:
        random = self.random
        has = Ref(f"has.{self.name}", None, back=rarely(random, 0.3, 1, 0))
        keep = rarely(random, 0.15, 1, 9)
        everything = [
            RequestTopicPartitions(topic_id=topic_id(name), partitions=list(range(count)))
            for name, count in TOPICS.items()
        ]
        said = random.choices(
            (made(owned, told=has, keep=keep), None, [], everything), (0.7, 0.15, 0.08, 0.07)
        )[0]
        fields: dict[str, Any] = {"member_epoch": self.epoch, "topic_partitions": said}
        if random.random() < 0.12:
            self.topics = self.some_topics()
            fields["subscribed_topic_names"] = self.topics
        elif random.random() < 0.15:  # as after a lost answer: everything is said again
            fields["subscribed_topic_names"] = self.topics
            fields["rebalance_timeout_ms"] = 60_000
        if random.random() < 0.03:
            fields["subscribed_topic_regex"] = "("
        return self.heartbeat(**fields)

    def leave(self) -> Step:
        temporarily = -2 if self.instance is not None else -1
        epoch = rarely(self.random, 0.05, -2, self.random.choice((-1, temporarily)))
        return self.heartbeat(member_epoch=epoch)

    def commit(self) -> Step:
        return commit(self.random, self.name, self.id, self.epoch, None)

    def fetch(self) -> Step:
        topic = self.random.choice(sorted(TOPICS))
        asked = OffsetFetchRequestTopics(
            name=Name(topic), topic_id=topic_id(topic), partition_indexes=[0, 1]
        )
        request = OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=Name("g"),
                    member_id=rarely(self.random, 0.2, None, self.id),
                    member_epoch=rarely(self.random, 0.2, -1, self.epoch),
                    topics=rarely(self.random, 0.1, None, [asked]),
                )
            ]
        )
        version = any_version(self.random, OffsetFetchRequest, least=9)
        return Step(request=request, version=version, connection=self.name)


class Classic:
    """Speaks the classic protocol; static, so that the broker's id for it decides nothing."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        self.instance = Name(random.choice(INSTANCES))
        self.topics = some_topics(random)
        self.protocols = random.choice((["range"], ["range", "sticky"], ["sticky", "range"]))
        self.left = True  # then its id is forgotten: Kafka forgets an empty group for a stale one

    @property
    def id(self) -> Any:
        wrong = self.random.choice(("", "stranger", Ref(f"member.{self.name}", "", back=1)))
        return rarely(self.random, 0.08, wrong, Ref(f"member.{self.name}", ""))

    @property
    def instance_id(self) -> Any:
        return rarely(self.random, 0.04, Name(self.random.choice(INSTANCES)), self.instance)

    @property
    def generation(self) -> Any:
        now = Ref(f"epoch.{self.name}", 1)
        wrong = Ref(f"epoch.{self.name}", 1, plus=self.random.choice((-1, 1)))
        return rarely(self.random, 0.06, wrong, now)

    def join(self) -> Step:
        random = self.random
        if random.random() < 0.15:
            self.topics = some_topics(random)
        version = random.randint(0, 3)
        rack = random.choice((None, None, "here")) if version >= 3 else None
        said = made(subscription, topics=self.topics, version=version, rack=rack)
        names = rarely(random, 0.03, ["odd"], self.protocols)
        request = JoinGroupRequest(
            group_id=Name("g"),
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=rarely(random, self.left or 0.25, "", Ref(f"member.{self.name}", "")),
            group_instance_id=self.instance_id,
            protocol_type=rarely(random, 0.03, "connect", "consumer"),
            protocols=[JoinGroupRequestProtocol(name=name, metadata=said) for name in names],
        )
        self.left = False
        binds = {f"member.{self.name}": "member_id", f"epoch.{self.name}": "generation_id"}
        return Step(
            request=request,
            version=any_version(random, JoinGroupRequest, least=5),
            connection=self.name,
            bind=binds,
            blocks=True,
        )

    def sync(self) -> Step:
        request = SyncGroupRequest(
            group_id=Name("g"),
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=self.instance_id,
            protocol_type=rarely(self.random, 0.05, "odd", "consumer"),
            protocol_name=rarely(self.random, 0.05, "odd", self.protocols[0]),
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=Ref(f"member.{name}", name),
                    assignment=made(assignment, topic=Name("t"), partitions=[n * 2, n * 2 + 1]),
                )
                for n, name in enumerate(CLASSICS)
            ],
        )
        version = any_version(self.random, SyncGroupRequest, least=3)
        return Step(request=request, version=version, connection=self.name, blocks=True)

    def beat(self) -> Step:
        request = HeartbeatRequest(
            group_id=Name("g"),
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=self.instance_id,
        )
        version = any_version(self.random, HeartbeatRequest, least=3)
        return Step(request=request, version=version, connection=self.name)

    def leave(self) -> Step:
        choices = (
            MemberIdentity(member_id=self.id, group_instance_id=self.instance_id),
            MemberIdentity(member_id="", group_instance_id=self.instance_id),
            MemberIdentity(member_id=self.random.choice(CONSUMERS), group_instance_id=None),
        )
        members = [self.random.choices(choices, (0.7, 0.2, 0.1))[0]]
        self.left = True
        request = LeaveGroupRequest(group_id=Name("g"), member_id=self.id, members=members)
        version = any_version(self.random, LeaveGroupRequest, least=3)
        return Step(request=request, version=version, connection=self.name)

    def commit(self) -> Step:
        return commit(self.random, self.name, self.id, self.generation, self.instance_id)


def commit(random: Random, connection: str, member: Any, epoch: Any, instance: Any) -> Step:
    version = any_version(random, OffsetCommitRequest, least=7)
    topics = [
        OffsetCommitRequestTopic(
            name=Name(name),
            topic_id=topic_id(name),
            partitions=[
                OffsetCommitRequestPartition(partition_index=n, committed_offset=7)
                for n in places(random, TOPICS[name])
            ],
        )
        for name in random.sample(sorted(TOPICS), random.choice((1, 1, 2)))
    ]
    outsider = random.random() < 0.1
    request = OffsetCommitRequest(
        group_id=Name("g"),
        generation_id_or_member_epoch=-1 if outsider else epoch,
        member_id="" if outsider else member,
        group_instance_id=None if outsider else instance,
        topics=topics,
    )
    return Step(request=request, version=version, connection=connection)


def describe(random: Random) -> Step:
    kind = weighted(random, {"consumer": 5.0, "classic": 2.0, "list": 1.0})
    if kind == "list":
        return listing(random)
    if kind == "classic":
        request: Any = DescribeGroupsRequest(groups=[Name("g")])
    else:
        others = rarely(random, 0.15, [Name("nobody"), ""], [])
        request = ConsumerGroupDescribeRequest(group_ids=[Name("g"), *others])
    version = any_version(random, type(request))
    return Step(request=request, version=version, connection="look")


def delete(random: Random) -> Step:
    request = DeleteGroupsRequest(groups_names=[Name("g")])
    version = any_version(random, DeleteGroupsRequest)
    return Step(request=request, version=version, connection="look")


def delete_offsets(random: Random) -> Step:
    name = random.choice(sorted(TOPICS))
    parts = [OffsetDeleteRequestPartition(partition_index=n) for n in places(random, TOPICS[name])]
    topic = OffsetDeleteRequestTopic(name=Name(name), partitions=parts)
    request = OffsetDeleteRequest(group_id=Name("g"), topics=[topic])
    return Step(request=request, version=0, connection="look")


def opening(random: Random, consumers: list[Consumer], classics: list[Classic]) -> list[Move]:
    """A group of the one kind or the other, as clients would make it."""
    if classics and random.random() < 0.5:
        here = random.sample(classics, random.randint(1, len(classics)))
        return [*(one.join() for one in here), *(one.sync() for one in here)]
    moves: list[Move] = [one.join() for one in consumers]
    return moves + [one.beat() for one in consumers]


def draw(random: Random) -> list[Move]:
    uniform = random.random() < 0.35
    consumers = [
        Consumer(name, random, uniform=uniform) for name in CONSUMERS[: random.randint(1, 3)]
    ]
    classics = [
        Classic(name, random) for name in CLASSICS[: 0 if uniform else random.choice((0, 1, 2))]
    ]
    if classics:  # Kafka fails over it when it has already begun to turn the group into another
        for one in consumers:
            one.odd_regex = None
    moves = opening(random, consumers, classics)
    looks = {"describe": describe, "delete": delete, "delete_offsets": delete_offsets}
    while len(moves) < 20 + random.randint(0, 30):
        kind = weighted(random, STEPS)
        if kind in looks:
            moves.append(looks[kind](random))
        elif kind == "consumer":
            one = random.choice(consumers)
            moves.append(getattr(one, weighted(random, CONSUMER_STEPS))())
        elif classics:
            other = random.choice(classics)
            moves.append(getattr(other, weighted(random, CLASSIC_STEPS))())
    return [*moves, describe(random)]


AREA = Area(
    name="consumer_groups",
    draw=draw,
    topics=tuple(Topic(name=name, partitions=count) for name, count in TOPICS.items()),
    settings={
        "group.consumer.assignors": "range,uniform",
        "group.consumer.assignment.interval.ms": "0",
        "group.initial.rebalance.delay.ms": "0",
    },
    shares_topics=True,
    modes=("patient",),
    broker_assigns=True,
    kafka_varies=True,
    also=(10253, 14295, 15554, 17450),
)

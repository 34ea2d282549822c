"""Classic groups: two to four members on connections of their own, who wait for each other."""

from random import Random
from typing import Any

from differential.areas.offsets import listing
from differential.drawing import assignment, rarely, subscription, weighted
from differential.steps import Area, Move, Pause, Step, Topic, any_version
from differential.symbols import Name, Ref, made
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
from ottla.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

MEMBERS = "ABCD"
STEPS = {
    "join": 1.2,
    "sync": 2.0,
    "heartbeat": 2.5,
    "leave": 1.5,
    "commit": 1.5,
    "describe": 1.5,
    "rebalance": 3.0,
    "delete": 0.3,
    "delete_offsets": 0.3,
    "pause": 0.1,
}
REBALANCE_MS = 400
SESSION_MS = 8000


class Member:
    """What a client would keep; static ones have an instance id, which two of them may share."""

    def __init__(self, name: str, random: Random) -> None:
        self.name = name
        self.random = random
        static = random.random() < 0.3
        self.instance = Name(random.choice(("one", "two"))) if static else None
        self.kind = rarely(random, 0.08, "connect", "consumer")
        self.protocols = random.choice((["range"], ["range", "sticky"], ["sticky", "range"]))
        if random.random() < 0.05:
            self.protocols = ["odd"]

    @property
    def id(self) -> Any:
        others = Ref(f"member.{self.random.choice(MEMBERS)}", "")
        choices = (
            Ref(f"member.{self.name}", ""),
            "",
            others,
            "stranger",
            Ref(f"member.{self.name}", "", back=1),
        )
        return self.random.choices(choices, (0.86, 0.05, 0.03, 0.03, 0.03))[0]

    @property
    def generation(self) -> Any:
        now = Ref(f"generation.{self.name}", -1)
        off = Ref(f"generation.{self.name}", 0, plus=self.random.choice((-1, 1)))
        return rarely(self.random, 0.08, rarely(self.random, 0.3, -1, off), now)

    @property
    def instance_id(self) -> Any:
        return rarely(self.random, 0.03, Name("three"), self.instance)

    def step(self, request: Any, **more: Any) -> Step:
        version = more.pop("version", None) or any_version(self.random, type(request))
        return Step(request=request, version=version, connection=self.name, **more)

    def join(self) -> Step:
        protocols = [
            JoinGroupRequestProtocol(
                name=p, metadata=made(subscription, topic=Name("t"), user_data=f"{self.name} {p}")
            )
            for p in self.protocols
        ]
        request = JoinGroupRequest(
            group_id=rarely(self.random, 0.02, "", Name("g")),
            session_timeout_ms=rarely(
                self.random, 0.04, self.random.choice((1, 10**7)), SESSION_MS
            ),
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.id,
            group_instance_id=self.instance_id,
            protocol_type=rarely(self.random, 0.03, "", self.kind),
            protocols=rarely(self.random, 0.03, [], protocols),
            reason=self.random.choice((None, "because")),
        )
        # versions before 1 have the session as the time for a rebalance: longer than anybody waits
        version = any_version(self.random, JoinGroupRequest, least=1)
        binds = {f"member.{self.name}": "member_id", f"generation.{self.name}": "generation_id"}
        return self.step(request, version=version, bind=binds, blocks=True)

    def sync(self) -> Step:
        assignments = [
            SyncGroupRequestAssignment(
                member_id=Ref(f"member.{name}", name),
                assignment=made(assignment, topic=Name("t"), user_data=f"for {name}"),
            )
            for name in MEMBERS
        ]
        request = SyncGroupRequest(
            group_id=Name("g"),
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=self.instance_id,
            protocol_type=rarely(
                self.random, 0.06, "odd", rarely(self.random, 0.3, None, "consumer")
            ),
            protocol_name=rarely(self.random, 0.06, "odd", None),
            assignments=rarely(self.random, 0.2, [], assignments),
        )
        return self.step(request, blocks=True)

    def heartbeat(self) -> Step:
        request = HeartbeatRequest(
            group_id=rarely(self.random, 0.04, Name("nobody"), Name("g")),
            generation_id=self.generation,
            member_id=self.id,
            group_instance_id=self.instance_id,
        )
        return self.step(request)

    def leave(self) -> Step:
        leaving = [MemberIdentity(member_id=self.id, group_instance_id=self.instance_id)]
        if self.random.random() < 0.15:
            leaving.append(MemberIdentity(member_id="", group_instance_id=Name("one")))
        request = LeaveGroupRequest(
            group_id=rarely(self.random, 0.03, "", Name("g")),
            member_id=self.id,
            members=rarely(self.random, 0.03, [], leaving),
        )
        return self.step(request)

    def commit(self) -> Step:
        place = OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        request = OffsetCommitRequest(
            group_id=Name("g"),
            generation_id_or_member_epoch=self.generation,
            member_id=self.id,
            group_instance_id=self.instance_id,
            topics=[OffsetCommitRequestTopic(name=Name("t"), partitions=[place])],
        )
        return self.step(request, version=any_version(self.random, OffsetCommitRequest, most=9))


def describe(random: Random) -> Step:
    if random.random() < 0.3:
        return listing(random)
    request = DescribeGroupsRequest(
        groups=[Name("g"), *rarely(random, 0.2, [Name("nobody"), ""], [])],
        include_authorized_operations=random.random() < 0.3,
    )
    version = any_version(random, DescribeGroupsRequest)
    return Step(request=request, version=version, connection="look")


def delete(random: Random) -> Step:
    request = DeleteGroupsRequest(groups_names=[Name("g")])
    return Step(
        request=request, version=any_version(random, DeleteGroupsRequest), connection="look"
    )


def delete_offsets(random: Random) -> Step:
    topic = OffsetDeleteRequestTopic(
        name=Name("t"), partitions=[OffsetDeleteRequestPartition(partition_index=0)]
    )
    request = OffsetDeleteRequest(group_id=Name("g"), topics=[topic])
    return Step(request=request, version=0, connection="look")


def rebalance(random: Random, members: list[Member]) -> list[Move]:
    """As it should go: all join, all sync."""
    here = random.sample(members, random.randint(1, len(members)))
    moves: list[Move] = [member.join() for member in here]
    if random.random() < 0.7:  # who was told an id joins with it
        moves += [member.join() for member in here]
    return moves + [member.sync() for member in random.sample(here, len(here))]


def draw(random: Random) -> list[Move]:
    members = [Member(name, random) for name in MEMBERS[: random.randint(2, 4)]]
    moves: list[Move] = rebalance(random, members)
    while len(moves) < 20 + random.randint(0, 25):
        kind = weighted(random, STEPS)
        if kind == "pause":
            moves.append(Pause(milliseconds=REBALANCE_MS + 200))
        elif kind == "rebalance":
            moves += rebalance(random, members)
        elif kind in ("describe", "delete", "delete_offsets"):
            one = {"describe": describe, "delete": delete, "delete_offsets": delete_offsets}
            moves.append(one[kind](random))
        else:
            moves.append(getattr(random.choice(members), kind)())
    return [*moves, describe(random)]


AREA = Area(
    name="classic_groups",
    draw=draw,
    topics=(Topic(name="t"),),
    shares_topics=True,
    modes=("patient",),
    settings={"group.initial.rebalance.delay.ms": "150"},  # 0 is a race between the first two
)

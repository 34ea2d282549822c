"""Streams groups (KIP-1071): topologies over topics that are there or not, tasks, describe."""

from random import Random
from typing import Any

from differential.areas.offsets import listing
from differential.drawing import rarely, weighted
from differential.steps import Area, Move, Step, Topic, any_version
from differential.symbols import Name, Ref, made, topic_id
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from ottla.wire.messages.streams_group_heartbeat import (
    CopartitionGroup,
    KeyValue,
    RequestEndpoint,
    RequestTaskIds,
    ResponseTaskIds,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskOffset,
    TopicInfo,
    Topology,
)

TOPICS = {"t": 4, "u": 2}
MEMBERS = "ABC"
STEPS = {
    "beat": 7.0,
    "join": 2.0,
    "leave": 1.0,
    "commit": 1.0,
    "describe": 2.5,
    "delete": 0.3,
    "classic": 0.2,
}


def tasks(told: list[ResponseTaskIds] | None, keep: int) -> list[RequestTaskIds]:
    """What a member was told to have, or only some of it."""
    return [
        RequestTaskIds(subtopology_id=one.subtopology_id, partitions=one.partitions[:keep])
        for one in told or ()
    ]


def subtopology(name: str, *sources: str, **more: Any) -> Subtopology:
    return Subtopology(subtopology_id=name, source_topics=[Name(s) for s in sources], **more)


def topologies() -> dict[str, Topology]:
    changelog = TopicInfo(name=Name("store-changelog"), partitions=3)
    both = CopartitionGroup(source_topics=[0, 1])
    return {
        "one": Topology(epoch=0, subtopologies=[subtopology("0", "t")]),
        "two": Topology(epoch=0, subtopologies=[subtopology("0", "t"), subtopology("1", "u")]),
        "newer": Topology(epoch=1, subtopologies=[subtopology("0", "t")]),
        "missing": Topology(epoch=0, subtopologies=[subtopology("0", "t", "missing")]),
        "uneven": Topology(
            epoch=0, subtopologies=[subtopology("0", "t", "u", copartition_groups=[both])]
        ),
        "invalid": Topology(
            epoch=0, subtopologies=[subtopology("0", "t", state_changelog_topics=[changelog])]
        ),
        "empty": Topology(epoch=0, subtopologies=[]),
    }


class Member:
    def __init__(self, name: str, random: Random, topology: str) -> None:
        self.name = name
        self.random = random
        self.topology = topology
        self.process = random.choice((f"process {name}", f"process {name}", "process A"))

    @property
    def id(self) -> Any:
        wrong = self.random.choice(("", " ", "stranger", self.random.choice(MEMBERS)))
        return rarely(self.random, 0.04, wrong, self.name)

    @property
    def epoch(self) -> Any:
        now = Ref(f"epoch.{self.name}", 1)
        wrong = self.random.choice(
            (
                Ref(f"epoch.{self.name}", 1, plus=1),
                Ref(f"epoch.{self.name}", 1, plus=-1),
                Ref(f"epoch.{self.name}", 1, back=1),
                -2,
                -3,
            )
        )
        return rarely(self.random, 0.1, wrong, now)

    def heartbeat(self, **fields: Any) -> Step:
        random = self.random
        # Kafka breaks down over an endpoint while a topology is not ready.
        is_ready = self.topology in ("one", "two", "newer")
        endpoint = RequestEndpoint(host="here", port=ord(self.name)) if is_ready else None
        request = StreamsGroupHeartbeatRequest(
            **{
                "group_id": rarely(random, 0.02, random.choice(("", Name("nobody"))), Name("g")),
                "member_id": self.id,
                "endpoint_information_epoch": random.choice((-1, 0, 1)),
                "rebalance_timeout_ms": -1,
                "instance_id": rarely(random, 0.01, random.choice(("", "one")), None),
                "rack_id": rarely(random, 0.03, random.choice(("", "here")), None),
                "process_id": rarely(random, 0.03, "another", None),
                "user_endpoint": rarely(random, 0.05, endpoint, None),
                "client_tags": rarely(random, 0.03, [KeyValue(key="k", value="v")], None),
                "shutdown_application": random.random() < 0.01,
                "task_offsets": rarely(random, 0.01, [TaskOffset(subtopology_id="0")], None),
                **fields,
            }
        )
        binds = {
            f"epoch.{self.name}": "member_epoch",
            f"active.{self.name}": "active_tasks",
            f"standby.{self.name}": "standby_tasks",
        }
        if fields["member_epoch"] == -1:
            binds = {}
        return Step(request=request, version=0, connection=self.name, bind=binds)

    def join(self) -> Step:
        random = self.random
        known = topologies()
        said = rarely(random, 0.08, random.choice(sorted(known)), self.topology)
        return self.heartbeat(
            member_epoch=0,
            rebalance_timeout_ms=rarely(random, 0.03, -1, 60_000),
            topology=rarely(random, 0.03, None, known[said]),
            active_tasks=rarely(random, 0.03, None, []),
            standby_tasks=[],
            warmup_tasks=rarely(random, 0.02, None, []),
            process_id=self.process,
        )

    def beat(self) -> Step:
        random = self.random
        back = rarely(random, 0.3, 1, 0)
        keep = rarely(random, 0.15, 1, 9)
        fields: dict[str, Any] = {"member_epoch": self.epoch}
        if random.random() < 0.8:
            odd = [RequestTaskIds(subtopology_id="0", partitions=[0, 1, 2, 3])]
            wrong = random.choice(
                (
                    [RequestTaskIds(subtopology_id="odd", partitions=[0])],
                    [RequestTaskIds(subtopology_id="0", partitions=[99])],
                    odd,
                )
            )
            active = made(tasks, told=Ref(f"active.{self.name}", None, back=back), keep=keep)
            standby = made(tasks, told=Ref(f"standby.{self.name}", None, back=back), keep=keep)
            fields["active_tasks"] = rarely(random, 0.1, wrong, active)
            fields["standby_tasks"] = rarely(random, 0.02, None, standby)
            fields["warmup_tasks"] = rarely(random, 0.02, odd, [])
        if random.random() < 0.02:
            fields["topology"] = topologies()[self.topology]
        return self.heartbeat(**fields)

    def leave(self) -> Step:
        return self.heartbeat(member_epoch=-1)

    def commit(self) -> Step:
        name = self.random.choice(sorted(TOPICS))
        places = [
            OffsetCommitRequestPartition(partition_index=n, committed_offset=7)
            for n in self.random.sample(range(TOPICS[name]), 1)
        ]
        outsider = self.random.random() < 0.15
        request = OffsetCommitRequest(
            group_id=Name("g"),
            generation_id_or_member_epoch=-1 if outsider else self.epoch,
            member_id="" if outsider else self.id,
            topics=[
                OffsetCommitRequestTopic(
                    name=Name(name), topic_id=topic_id(name), partitions=places
                )
            ],
        )
        version = any_version(self.random, OffsetCommitRequest, least=8)
        return Step(request=request, version=version, connection=self.name)

    def classic(self) -> Step:
        """Somebody of the classic protocol comes along."""
        protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
        request = JoinGroupRequest(
            group_id=Name("g"),
            session_timeout_ms=8000,
            rebalance_timeout_ms=500,
            protocol_type="consumer",
            protocols=protocols,
        )
        return Step(request=request, version=9, connection="classic")


def describe(random: Random) -> Step:
    if random.random() < 0.15:
        return listing(random)
    others = rarely(random, 0.15, [Name("nobody"), ""], [])
    request = StreamsGroupDescribeRequest(group_ids=[Name("g"), *others])
    return Step(request=request, version=0, connection="look")


def delete(random: Random) -> Step:
    request = DeleteGroupsRequest(groups_names=[Name("g")])
    version = any_version(random, DeleteGroupsRequest)
    return Step(request=request, version=version, connection="look")


def draw(random: Random) -> list[Move]:
    kind = random.choice(("one", "one", "two", "two", *sorted(topologies())))
    members = [Member(name, random, kind) for name in MEMBERS[: random.randint(1, 3)]]
    moves: list[Move] = [member.join() for member in members]
    while len(moves) < 20 + random.randint(0, 30):
        chosen = weighted(random, STEPS)
        if chosen in ("describe", "delete"):
            moves.append(describe(random) if chosen == "describe" else delete(random))
        else:
            moves.append(getattr(random.choice(members), chosen)())
    return [*moves, describe(random)]


AREA = Area(
    name="streams_groups",
    draw=draw,
    topics=tuple(Topic(name=name, partitions=count) for name, count in TOPICS.items()),
    settings={
        "group.streams.initial.rebalance.delay.ms": "0",
        "group.streams.assignment.interval.ms": "0",
        "group.initial.rebalance.delay.ms": "0",
    },
    shares_topics=True,
    modes=("patient",),
)

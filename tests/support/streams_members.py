"""Members of the streams protocol, as Kafka Streams would play them."""

from collections.abc import Iterable
from typing import Any

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.outcome import Caller
from ottla.groups.streams.group import StreamsGroup, Tasks
from ottla.groups.streams.heartbeats import StreamsGroupHeartbeatResult, heartbeat
from ottla.groups.streams.records import by_subtopology
from ottla.groups.streams.topics import MissingTopic, Status
from ottla.wire.messages import streams_group_heartbeat as wire
from support.group_driver import Driver


def topic(name: str, partitions: int = 0, **configs: str) -> wire.TopicInfo:
    return wire.TopicInfo(
        name=name,
        partitions=partitions,
        topic_configs=[wire.KeyValue(key=k, value=v) for k, v in configs.items()],
    )


def subtopology(
    id: str,
    *sources: str,
    sinks: Iterable[str] = (),
    repartitions: Iterable[wire.TopicInfo] = (),
    changelogs: Iterable[wire.TopicInfo] = (),
    together: Iterable[tuple[list[int], list[int]]] = (),
) -> wire.Subtopology:
    """`together`: places of sources and of repartition topics that must be equally large."""
    return wire.Subtopology(
        subtopology_id=id,
        source_topics=list(sources),
        repartition_sink_topics=list(sinks),
        repartition_source_topics=list(repartitions),
        state_changelog_topics=list(changelogs),
        copartition_groups=[
            wire.CopartitionGroup(source_topics=plain, repartition_source_topics=internal)
            for plain, internal in together
        ],
    )


def topology(*subtopologies: wire.Subtopology, epoch: int = 0) -> wire.Topology:
    return wire.Topology(epoch=epoch, subtopologies=list(subtopologies))


COUNTING = topology(subtopology("0", "lines", changelogs=[topic("counts", cleanup="compact")]))
"""One stateful subtopology over the topic `lines`."""


class StreamsMember:
    """Gives up at once what it is told to, unless `stubborn`; makes missing topics."""

    def __init__(
        self,
        driver: Driver,
        member_id: str,
        says: wire.Topology = COUNTING,
        process: str | None = None,
        endpoint: tuple[str, int] | None = None,
    ) -> None:
        self.driver = driver
        self.id = member_id
        self.says = says
        self.process = process or f"process of {member_id}"
        self.endpoint = endpoint
        self.epoch = 0
        self.has = Tasks()
        self.stubborn = False
        self.told: set[Status] = set()
        self.last = wire.StreamsGroupHeartbeatResponse()
        self.makes_topics = True
        self.missing: tuple[MissingTopic, ...] = ()

    def send(self, epoch: int, **fields: Any) -> StreamsGroupHeartbeatResult | KafkaError:
        request = wire.StreamsGroupHeartbeatRequest(
            group_id="g",
            member_id=self.id,
            member_epoch=epoch,
            **{"endpoint_information_epoch": -1, **fields},
        )
        caller = Caller("c", "/127.0.0.1", 0)
        driver = self.driver
        reply: StreamsGroupHeartbeatResult | KafkaError = driver.ask(
            lambda _: heartbeat(driver.groups, driver.now, request, caller)
        ).reply
        return reply

    def try_to_join(self, **fields: Any) -> StreamsGroupHeartbeatResult | KafkaError:
        at = self.endpoint
        default = {
            "rebalance_timeout_ms": 30_000,
            "topology": self.says,
            "process_id": self.process,
            "user_endpoint": at and wire.RequestEndpoint(host=at[0], port=at[1]),
            "client_tags": [],
            "active_tasks": [],
            "standby_tasks": [],
            "warmup_tasks": [],
        }
        return self.send(0, **{**default, **fields})

    def join(self) -> "StreamsMember":
        self.has = Tasks()
        self.take(self.try_to_join())
        return self

    def beat(self) -> ErrorCode:
        """One heartbeat, and a second one to report what was given up because of the first."""
        before = self.has
        for _ in range(2):
            reply = self.send(self.epoch, **self.owned())
            if isinstance(reply, KafkaError):
                return reply.code
            self.take(reply)
            if self.has == before:
                break
        return ErrorCode.NONE

    def leave(self, **fields: Any) -> None:
        assert not isinstance(self.send(-1, **fields), KafkaError)
        self.has = Tasks()

    def owned(self) -> dict[str, list[wire.RequestTaskIds]]:
        active, standby, warmup = (
            [
                wire.RequestTaskIds(subtopology_id=name, partitions=indexes)
                for name, indexes in by_subtopology(role).items()
            ]
            for role in self.has
        )
        return {"active_tasks": active, "standby_tasks": standby, "warmup_tasks": warmup}

    def take(self, reply: StreamsGroupHeartbeatResult | KafkaError) -> None:
        assert not isinstance(reply, KafkaError), reply
        self.last, self.missing = reply
        self.epoch = self.last.member_epoch
        self.told = {Status(status.status_code) for status in self.last.status or ()}
        if self.makes_topics:
            for one in self.missing:
                self.driver.make_topic(one.name, one.partitions)
        if self.last.active_tasks is None:
            return
        given = Tasks(
            *(
                frozenset((one.subtopology_id, index) for one in role for index in one.partitions)
                for role in (
                    self.last.active_tasks,
                    self.last.standby_tasks or [],
                    self.last.warmup_tasks or [],
                )
            )
        )
        if self.stubborn:
            given = Tasks(*(new | old for new, old in zip(given, self.has, strict=True)))
        self.has = given


def settle(*members: StreamsMember) -> None:
    """Heartbeats all around, a second apart, until nothing moves."""
    for _ in range(12):
        before = [(member.epoch, member.has) for member in members]
        members[0].driver.pass_time(1)
        for member in members:
            assert member.beat() is ErrorCode.NONE
        if before == [(member.epoch, member.has) for member in members] and not any(
            member.told & {Status.ASSIGNMENT_DELAYED, Status.MISSING_INTERNAL_TOPICS}
            for member in members
        ):
            return
    raise AssertionError("the group does not settle")


def group_of(driver: Driver) -> StreamsGroup:
    group = driver.groups.groups["g"]
    assert isinstance(group, StreamsGroup)
    return group

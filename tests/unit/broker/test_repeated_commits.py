"""A commit that repeats an earlier one ends as if it had gone the usual way."""

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ottla.broker.accounting import Unlimited, Usage
from ottla.broker.api import Listeners
from ottla.broker.dispatch import Dispatcher
from ottla.broker.services import GroupServices
from ottla.broker.transport.context import Peer
from ottla.broker.transport.pending_reply import PendingReply
from ottla.config import Settings
from ottla.errors import ErrorCode
from ottla.groups.coordinator import GroupCoordinator
from ottla.groups.offsets import repeated_commits
from ottla.groups.offsets.repeated_commits import RepeatedCommits
from ottla.metadata.image import Image, PartitionRegistration, Topic
from ottla.ports.clock import Clock
from ottla.simulation.engine.virtual_loop import run_virtually
from ottla.wire.message import Message
from ottla.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    RequestTopicPartitions,
)
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.record_batch import NewRecord
from support.frames import frame_of, read_reply
from support.services import ABSENT, STATIC, cluster_view
from support.shard_log import MemoryLog

LED = PartitionRegistration(replicas=(1,), isr=(1,), leader=1)
T, U = b"T" * 16, b"U" * 16
NAMES = {T: "t", U: "u"}


class Forgetful(RepeatedCommits):
    """Then everything goes the usual way."""

    def remember(self, *_: Any, **__: Any) -> None:
        pass


class Broker:
    """A dispatcher over one shard of groups, with two topics; time stands where it is put."""

    def __init__(self, *, remembers: bool = True, accountant: Any = None) -> None:
        self.now_ms = 1_000
        clock = Clock(lambda: self.now_ms / 1000, lambda: self.now_ms)
        self.image = Image()
        for topic_id, name in NAMES.items():
            self.create(name, topic_id)
        view = cluster_view(self.image, clock=clock)
        self.groups = GroupCoordinator(Settings(STATIC), lambda: self.image, clock, Random(1))
        if not remembers:
            self.groups.repeated_commits = Forgetful()
        services = GroupServices(
            cluster=view, coordinator=self.groups, controller=ABSENT, share_states=ABSENT
        )
        areas = {"groups": lambda: services}
        self.dispatcher = Dispatcher(Listeners.BROKER, areas, view, accountant or Unlimited())
        self.peer = Peer("PLAINTEXT", Listeners.BROKER, "127.0.0.1")
        self.log = MemoryLog()

    async def lead(self) -> None:
        self.groups.resize(1)
        self.groups.elected(0, self.log)
        await turns()

    def create(self, name: str, topic_id: bytes, partitions: int = 2) -> None:
        self.delete(name)
        topic = Topic(topic_id, name, dict.fromkeys(range(partitions), LED))
        self.image.topics_by_name[name] = self.image.topics_by_id[topic_id] = topic

    def delete(self, name: str) -> None:
        topic = self.image.topics_by_name.pop(name, None)
        if topic is not None:
            del self.image.topics_by_id[topic.id]

    def send(self, frame: memoryview) -> list[bytes]:
        """Where the reply will be."""
        replies: list[bytes] = []
        reply = self.dispatcher.take(frame, self.peer)
        if isinstance(reply, PendingReply):
            reply.then(lambda body: replies.append(b"".join(body)))  # type: ignore[arg-type]
        else:
            replies.append(b"".join(reply or []))
        return replies

    async def ask(self, request: Message, version: int) -> Any:
        replies = self.send(frame_of(request, version))
        await turns()
        return read_reply(request, version, replies[0])

    def kept(self) -> dict[str, Any]:
        offsets = self.groups.shards.at(0).machine.offsets
        return {group: dict(offsets.of(group)) for group in offsets.groups()}


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def commit(
    offset: int = 5,
    group: str = "g",
    topics: dict[bytes, list[int]] | None = None,
    metadata: str | None = "",
    member: str = "",
    epoch: int = -1,
) -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group,
        member_id=member,
        generation_id_or_member_epoch=epoch,
        topics=[
            OffsetCommitRequestTopic(
                name=NAMES.get(topic_id, "none"),
                topic_id=topic_id,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index,
                        committed_offset=offset,
                        committed_leader_epoch=offset // 2 - 1,
                        committed_metadata=metadata,
                    )
                    for index in indexes
                ],
            )
            for topic_id, indexes in (topics or {T: [0]}).items()
        ],
    )


# -- equal, whatever comes ------------------------------------------------------------------------


class Send(NamedTuple):
    request: Message
    version: int
    appended: bytes = b""


Step = Send | Callable[[Broker], object]
usual = st.builds(
    commit, st.integers(0, 9), st.sampled_from("gh"), st.sampled_from([{T: [0]}, {T: [1]}])
)
any_commit = st.builds(
    commit,
    offset=st.integers(0, 9),
    group=st.sampled_from(["g", "", "c"]),
    topics=st.sampled_from([{T: [0]}, {T: [1]}, {T: [0, 1]}, {T: [9]}, {T: [0], U: [0]}, {U: [0]}]),
    metadata=st.sampled_from(["", None, "x", "x" * 5000]),
    member=st.sampled_from(["", "m"]),
    epoch=st.integers(-1, 2),
)
joins = st.builds(
    ConsumerGroupHeartbeatRequest,
    group_id=st.just("c"),
    member_id=st.just("m"),
    member_epoch=st.integers(-1, 1),
    rebalance_timeout_ms=st.just(1000),
    subscribed_topic_names=st.just(["t"]),
    topic_partitions=st.just([RequestTopicPartitions(topic_id=T, partitions=[0, 1])]),
)
events = st.sampled_from(
    [
        lambda broker: broker.delete("t"),
        lambda broker: broker.create("t", T),
        lambda broker: broker.create("t", b"V" * 16),
        lambda broker: broker.create("t", T, partitions=1),
        lambda broker: setattr(broker, "now_ms", broker.now_ms + 1),
        lambda broker: setattr(broker.log, "max_batch_bytes", 200),
        lambda broker: setattr(broker.log, "refuse_appends", ErrorCode.NOT_ENOUGH_REPLICAS),
        lambda broker: setattr(broker.log, "refuse_appends", None),
    ]
)
steps = st.one_of(
    st.builds(Send, usual, st.sampled_from([7, 9, 10])),
    st.builds(Send, usual, st.sampled_from([7, 9])),
    st.builds(Send, any_commit, st.integers(2, 10), st.sampled_from([b"", b"", b"\0", b"\1\0\0"])),
    st.builds(Send, joins, st.just(1)),
    events,
)


async def run(broker: Broker, script: list[tuple[Step, bool]]) -> list[list[bytes]]:
    await broker.lead()
    replies = []
    for step, waits in script:
        if isinstance(step, Send):
            frame = bytes(frame_of(step.request, step.version)) + step.appended
            replies.append(broker.send(memoryview(frame)))
        else:
            step(broker)
        if waits:
            await turns()
    await asyncio.sleep(2)
    await turns()
    return replies


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(steps, st.booleans()), max_size=40))
def test_it_makes_no_difference(script: list[tuple[Step, bool]]) -> None:
    async def both() -> None:
        short, usual = Broker(), Broker(remembers=False)
        assert await run(short, script) == await run(usual, script)
        assert short.log.batches == usual.log.batches
        assert short.kept() == usual.kept()

    run_virtually(both())


# -- what is short, and what is not ---------------------------------------------------------------


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each commit that was known already could be taken the short way."""
    from ottla.broker import repeated_commits as ours

    outcomes: list[bool] = []

    def noted(*arguments: Any) -> NewRecord | None:
        record = repeated_commits.commit_again(*arguments)
        outcomes.append(record is not None)
        return record

    monkeypatch.setattr(ours, "commit_again", noted)
    return outcomes


@pytest.mark.parametrize("version", range(6, 11))
@pytest.mark.parametrize("metadata", ["", None])
def test_the_second_of_its_kind_takes_the_short_way(
    version: int, metadata: str | None, taken: list[bool]
) -> None:
    async def body() -> None:
        broker = Broker()
        await broker.lead()
        for offset in (1, 2, 3):
            answer = await broker.ask(commit(offset, metadata=metadata), version)
            assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
        assert taken == [True, True]
        assert broker.kept()["g"]["t", 0].offset == 3

    run_virtually(body())


def test_one_that_is_refused_by_the_group_is_refused_in_the_usual_way(taken: list[bool]) -> None:
    async def body() -> None:
        broker = Broker()
        await broker.lead()
        await broker.ask(commit(1), 9)
        await beat(broker, 0, ["t"])
        assert await code_of(broker, commit(2)) == ErrorCode.UNKNOWN_MEMBER_ID
        assert taken == [False]

    run_virtually(body())


def test_a_member_that_missed_an_epoch_commits_what_it_still_has_and_no_more(
    taken: list[bool],
) -> None:
    async def body() -> None:
        broker = Broker()
        await broker.lead()
        epoch = (await beat(broker, 0, ["t"])).member_epoch
        mine = commit(topics={T: [1]}, member="m", epoch=epoch)
        assert await code_of(broker, mine) == ErrorCode.NONE
        assert (await beat(broker, epoch, ["t", "u"])).member_epoch == epoch + 1
        assert await code_of(broker, mine) == ErrorCode.NONE
        await beat(broker, epoch + 1, ["u"])
        assert (await beat(broker, epoch + 1, ["u"])).member_epoch == epoch + 2
        assert await code_of(broker, mine) == ErrorCode.STALE_MEMBER_EPOCH
        assert taken == [True, False]

    run_virtually(body())


async def beat(broker: Broker, epoch: int, topics: list[str]) -> Any:
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=epoch,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=topics,
        topic_partitions=[],
    )
    broker.now_ms += 5_000
    answer = await broker.ask(heartbeat, 1)
    assert answer.error_code == ErrorCode.NONE
    return answer


async def code_of(broker: Broker, request: OffsetCommitRequest) -> int:
    answer = await broker.ask(request, 9)
    return int(answer.topics[0].partitions[0].error_code)


def test_what_ends_in_anything_else_is_not_known() -> None:
    known = RepeatedCommits()
    for version in range(6, 11):
        known.remember(commit(), version, by_topic_id=version == 10)
        frame = frame_of(commit(offset=8), version)
        body = 11 if version >= 8 else 10
        assert known.find(frame, body, version) is not None
        assert known.find(memoryview(bytes(frame[:-1]) + b"\7"), body, version) is None


def test_one_that_cannot_be_appended_is_refused(taken: list[bool]) -> None:
    async def body() -> None:
        broker = Broker()
        await broker.lead()
        await broker.ask(commit(1), 9)
        broker.log.refuse_appends = ErrorCode.NOT_ENOUGH_REPLICAS
        answer = await broker.ask(commit(2), 9)
        code = answer.topics[0].partitions[0].error_code
        assert (taken, code) == ([True], ErrorCode.COORDINATOR_NOT_AVAILABLE)

    run_virtually(body())


def test_where_requests_are_counted_nothing_is_short(taken: list[bool]) -> None:
    class Counting:
        is_counting = True

        def account(self, usage: Usage) -> int:
            return 0

    async def body() -> None:
        broker = Broker(accountant=Counting())
        await broker.lead()
        await broker.ask(commit(1), 9)
        await broker.ask(commit(2), 9)
        assert taken == []

    run_virtually(body())


def test_a_client_that_is_gone_is_not_answered() -> None:
    async def body() -> None:
        broker = Broker()
        await broker.lead()
        await broker.ask(commit(1), 9)
        reply = broker.dispatcher.take(frame_of(commit(2), 9), broker.peer)
        assert isinstance(reply, PendingReply)
        reply.abandon()
        await turns()
        assert not reply.delivered
        assert broker.kept()["g"]["t", 0].offset == 2

    run_virtually(body())


def test_only_so_many_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_commits, "REMEMBERED_MAX", 3)
    known = RepeatedCommits()
    for number in range(10):
        known.remember(commit(group=f"g{number}"), 9, by_topic_id=False)
    remembered = [
        known.find(frame_of(commit(group=f"g{number}"), 9), 11, 9) is not None
        for number in range(10)
    ]
    assert remembered == [False] * 9 + [True]


@pytest.mark.parametrize(
    ("event", "version", "code"),
    [
        (lambda broker: broker.delete("t"), 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda broker: broker.create("t", T, 1), 9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (lambda broker: broker.create("t", b"V" * 16), 9, ErrorCode.NONE),
        (lambda broker: broker.create("t", b"V" * 16), 10, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
def test_what_is_gone_is_refused(
    event: Callable[[Broker], None], version: int, code: ErrorCode
) -> None:
    async def body() -> None:
        broker = Broker()
        await broker.lead()
        await broker.ask(commit(1, topics={T: [1]}), version)
        event(broker)
        answer = await broker.ask(commit(2, topics={T: [1]}), version)
        assert answer.topics[0].partitions[0].error_code == code

    run_virtually(body())

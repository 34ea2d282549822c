"""What requests cost is told when they are answered; who is throttled hears it, and is muted."""

import asyncio
import time
from typing import Any

import pytest
import uvloop

from ottla.broker.accounting import Unlimited, Usage
from ottla.broker.api import Listeners
from ottla.broker.dispatch import Dispatcher
from ottla.broker.transport.context import Peer
from ottla.broker.transport.pending_reply import PendingReply
from ottla.broker.transport.server import Server, SharedByListeners
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.wire.codec import encode
from ottla.wire.message import Message
from ottla.wire.messages.describe_cluster import DescribeClusterRequest
from ottla.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.wire.record_batch import NewRecord, build_batch
from support.frames import frame_of, read_reply
from support.services import cluster_services, cluster_view

TOPIC = "t"


class Quotas:
    """Counts everything; throttles as long as it is told to."""

    is_counting = True

    def __init__(self, throttle_ms: int = 0) -> None:
        self.throttle_ms = throttle_ms
        self.heard: list[Usage] = []

    def account(self, usage: Usage) -> int:
        self.heard.append(usage)
        return self.throttle_ms

    def fetch_bytes_max(self, principal: str, client_id: str | None) -> int | None:
        return None


class Client:
    """Asks a dispatcher; notes for how long it is muted."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher
        self.muted: list[float] = []
        self.peer = Peer("PLAINTEXT", Listeners.BROKER, "127.0.0.1")
        self.peer.mute = self.muted.append

    async def ask(self, request: Message, version: int) -> Any:
        reply = self.dispatcher.take(frame_of(request, version), self.peer)
        if isinstance(reply, PendingReply):
            arrived: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            reply.then(arrived.set_result)
            reply = await asyncio.wait_for(arrived, 10)
        if reply is None:
            return None
        assert isinstance(reply, list)
        return read_reply(request, version, b"".join(reply))


def client_of(asking: Any, quotas: Quotas) -> Client:
    node = asking.node
    return Client(Dispatcher(Listeners.BROKER, node.broker.areas, node.cluster, quotas))


def topic_id(asking: Any) -> bytes:
    found: bytes = asking.node.publisher.image.topics_by_name[TOPIC].id
    return found


def produce(asking: Any, acks: int = -1) -> ProduceRequest:
    records = build_batch([NewRecord(int(time.time() * 1000), None, b"v" * 1000)])
    data = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(name=TOPIC, topic_id=topic_id(asking), partition_data=[data])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic])


def fetch(asking: Any, *, named: bool = True, **fields: Any) -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topic = FetchTopic(topic=TOPIC, topic_id=topic_id(asking), partitions=[wanted])
    fields.setdefault("session_epoch", -1)
    return FetchRequest(topics=[topic] if named else [], min_bytes=1, **fields)


def test_an_answer_tells_for_how_long_its_client_is_throttled_and_mutes_it() -> None:
    view, quotas = cluster_view(), Quotas(throttle_ms=250)
    areas = {"cluster": lambda: cluster_services(view)}
    client = Client(Dispatcher(Listeners.BROKER, areas, view, quotas))
    answer = asyncio.run(client.ask(DescribeClusterRequest(), 2))
    assert (answer.cluster_id, answer.throttle_time_ms) == ("a-cluster", 250)
    assert client.muted == [0.25]
    (usage,) = quotas.heard
    assert (usage.api.name, usage.principal, usage.client_id) == (
        "describe_cluster",
        "User:ANONYMOUS",
        None,
    )
    assert usage.bytes_in == len(encode(DescribeClusterRequest(), 2))
    assert usage.bytes_out > 0


def test_where_nothing_is_counted_nothing_is_measured() -> None:
    class Never(Unlimited):
        def account(self, usage: Usage) -> int:
            raise AssertionError("nobody counts")

    view = cluster_view(clock=SYSTEM_CLOCK._replace(monotonic=lambda: 1 // 0))
    areas = {"cluster": lambda: cluster_services(view)}
    client = Client(Dispatcher(Listeners.BROKER, areas, view, Never()))
    assert asyncio.run(client.ask(DescribeClusterRequest(), 2)).throttle_time_ms == 0


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_throttled_produce_is_done_and_told_so(serving: Any, run: Any, version: int) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            client = client_of(asking, quotas := Quotas(throttle_ms=40))
            answer = await client.ask(produce(asking), version)
            (partition,) = answer.responses[0].partition_responses
            assert (partition.error_code, partition.base_offset) == (0, 0)
            assert (answer.throttle_time_ms, client.muted) == (40, [0.04])
            assert quotas.heard[0].bytes_in > 1000 > quotas.heard[0].bytes_out

    run(scenario())


def test_who_wants_no_answer_is_muted_all_the_same(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            client = client_of(asking, Quotas(throttle_ms=40))
            assert await client.ask(produce(asking, acks=0), 9) is None
            assert client.muted == [0.04]

    run(scenario())


@pytest.mark.parametrize("version", [4, 7, 12, 18])
def test_a_throttled_fetch_is_answered_without_records(
    serving: Any, run: Any, version: int
) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            await asking.ask(produce(asking), 9)
            client = client_of(asking, quotas := Quotas(throttle_ms=300))
            answer = await client.ask(fetch(asking), version)
            assert (answer.responses, answer.throttle_time_ms) == ([], 300)
            assert client.muted == [0.3]
            assert quotas.heard[0].bytes_out > 1000
            quotas.throttle_ms = 0
            answer = await client.ask(fetch(asking), version)
            assert (len(answer.responses), answer.throttle_time_ms) == (1, 0)

    run(scenario())


def test_a_session_tells_later_what_it_did_not_tell_a_throttled_client(
    serving: Any, run: Any
) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            client = client_of(asking, quotas := Quotas())
            first = await client.ask(fetch(asking, session_epoch=0), 12)
            await asking.ask(produce(asking), 9)
            quotas.throttle_ms = 10
            again = {"named": False, "session_id": first.session_id}
            throttled = await client.ask(fetch(asking, session_epoch=1, **again), 12)
            assert (throttled.session_id, throttled.responses) == (first.session_id, [])
            quotas.throttle_ms = 0
            told = await client.ask(fetch(asking, session_epoch=2, **again), 12)
            assert told.responses[0].partitions[0].high_watermark == 1

    run(scenario())


def test_replicas_are_not_counted(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic(TOPIC)
            client = client_of(asking, quotas := Quotas(throttle_ms=300))
            replica = ReplicaState(replica_id=2, replica_epoch=-1)
            answer = await client.ask(fetch(asking, replica_state=replica), 18)
            assert (answer.throttle_time_ms, client.muted, quotas.heard) == (0, [], [])

    run(scenario())


def test_a_muted_connection_is_not_heard_until_its_time_is_over() -> None:
    throttle_s = 0.3

    async def scenario() -> None:
        view, quotas = cluster_view(), Quotas(throttle_ms=int(throttle_s * 1000))
        areas = {"cluster": lambda: cluster_services(view)}
        shared = SharedByListeners.of(view.settings_in_force, SYSTEM_CLOCK.monotonic)
        server = Server(shared, "PLAINTEXT", Listeners.BROKER)
        port = await server.bind("127.0.0.1", 0)
        await server.serve(Dispatcher(Listeners.BROKER, areas, view, quotas))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        asked = bytes(frame_of(DescribeClusterRequest(), 2))
        began = time.monotonic()
        writer.write((len(asked).to_bytes(4, "big") + asked) * 2)
        for _ in range(2):
            await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            quotas.throttle_ms = 0
        assert time.monotonic() - began >= throttle_s
        assert len(quotas.heard) == 2
        writer.close()
        await server.close()

    uvloop.run(scenario())

"""Connections against a real socket: order, limits, bad input. No log, no groups."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import uvloop

from ottla.broker.accounting import Unlimited
from ottla.broker.api import Listeners
from ottla.broker.dispatch import Dispatcher
from ottla.broker.transport.server import Server, SharedByListeners
from ottla.config import Settings
from ottla.config.load import single_node
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.wire.codec import decode, encode
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from support.services import cluster_services

HEADER = struct.Struct(">hhih")


def request(key: int, version: int, correlation_id: int, body: bytes = b"") -> bytes:
    tags = b"\0" if key == 18 and version >= 3 else b""
    frame = HEADER.pack(key, version, correlation_id, -1) + tags + body
    return struct.pack(">i", len(frame)) + frame


def versions_request(version: int, correlation_id: int) -> bytes:
    asked = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
    return request(18, version, correlation_id, encode(asked, min(version, 4)))


class Client:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        shared: SharedByListeners,
        port: int,
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.shared = shared
        self.port = port

    async def reply(self) -> tuple[int, bytes]:
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        frame = await self.reader.readexactly(size)
        return struct.unpack_from(">i", frame)[0], frame[4:]

    async def is_closed(self) -> bool:
        return await asyncio.wait_for(self.reader.read(), 5) == b""


@asynccontextmanager
async def connected(tmp_path: Path, **options: str) -> AsyncIterator[Client]:
    static = single_node(("127.0.0.1", 0), tmp_path)
    static |= {name.replace("_", "."): value for name, value in options.items()}
    settings, services = Settings(static), cluster_services()
    shared = SharedByListeners.of(lambda: settings, SYSTEM_CLOCK.monotonic)
    server = Server(shared, "PLAINTEXT", Listeners.BROKER)
    port = await server.bind("127.0.0.1", 0)
    areas = {"cluster": lambda: services}
    await server.serve(Dispatcher(Listeners.BROKER, areas, services.cluster, Unlimited()))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Client(reader, writer, shared, port)
    finally:
        writer.close()
        await server.close()


def test_replies_to_pipelined_requests_come_in_order(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as client:
            client.writer.write(b"".join(versions_request(0, number) for number in range(200)))
            assert [(await client.reply())[0] for _ in range(200)] == list(range(200))

    uvloop.run(scenario())


def test_half_sent_requests_of_many_connections_leave_room_for_others(tmp_path: Path) -> None:
    megabyte = 1_000_000
    room = 20 * megabyte

    async def scenario() -> None:
        async with connected(tmp_path, queued_max_request_bytes=str(room)) as client:
            hostile = [
                (await asyncio.open_connection("127.0.0.1", client.port))[1] for _ in range(30)
            ]
            for writer in hostile:
                writer.write(struct.pack(">i", 9 * megabyte) + bytes(8 * megabyte))
            with suppress(TimeoutError):  # most of them are not read to the end
                await asyncio.wait_for(asyncio.gather(*(w.drain() for w in hostile)), 1)
            assert 0 < client.shared.request_memory.used <= room
            client.writer.write(versions_request(3, 7))
            assert (await asyncio.wait_for(client.reply(), 5))[0] == 7
            for writer in hostile:
                writer.transport.abort()
            async with asyncio.timeout(5):
                while client.shared.request_memory.used:
                    await asyncio.sleep(0.01)

    uvloop.run(scenario())


def test_a_request_that_comes_byte_by_byte_is_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as client:
            for byte in versions_request(3, 7):
                client.writer.write(bytes([byte]))
                await client.writer.drain()
                await asyncio.sleep(0)
            assert (await client.reply())[0] == 7

    uvloop.run(scenario())


def test_a_version_of_api_versions_that_is_too_new_is_answered_at_version_0(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as client:
            client.writer.write(versions_request(99, 5))
            correlation_id, body = await client.reply()
            answer, _ = decode(ApiVersionsResponse, 0, body)
            assert correlation_id == 5
            assert answer.error_code == 35
            assert [(key.api_key, key.max_version) for key in answer.api_keys] == [(18, 4)]

    uvloop.run(scenario())


def test_an_address_has_no_more_connections_than_it_may(tmp_path: Path) -> None:
    limits = {"max_connections_per_ip": "0", "max_connections_per_ip_overrides": "127.0.0.1:2"}

    async def scenario() -> None:
        async with connected(tmp_path, **limits) as client:
            _, other = await asyncio.open_connection("127.0.0.1", client.port)
            refused, _ = await asyncio.open_connection("127.0.0.1", client.port)
            with suppress(ConnectionResetError):
                assert await asyncio.wait_for(refused.read(), 5) == b""
            client.writer.write(versions_request(3, 7))
            assert (await client.reply())[0] == 7
            other.close()  # makes room for another
            await other.wait_closed()
            async with asyncio.timeout(5):
                answered = False
                while not answered:
                    again, writer = await asyncio.open_connection("127.0.0.1", client.port)
                    writer.write(versions_request(3, 8))
                    with suppress(ConnectionError, asyncio.IncompleteReadError):
                        answered = await again.readexactly(4) != b""
            writer.close()

    uvloop.run(scenario())


def test_a_frame_beyond_the_limit_closes_the_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path, socket_request_max_bytes="1000") as client:
            client.writer.write(struct.pack(">i", 1001))
            assert await client.is_closed()

    uvloop.run(scenario())


def test_a_negative_frame_size_closes_the_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as client:
            client.writer.write(struct.pack(">i", -5))
            assert await client.is_closed()

    uvloop.run(scenario())


def test_an_unknown_api_closes_the_connection_after_the_replies_before_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as client:
            client.writer.write(versions_request(0, 1) + request(999, 0, 2))
            assert (await client.reply())[0] == 1
            assert await client.is_closed()

    uvloop.run(scenario())


def test_a_client_that_does_not_read_is_not_read_from(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with connected(tmp_path) as client:
            request = versions_request(0, 1)
            sent = 0
            with suppress(TimeoutError):
                while sent < 64 * 1024 * 1024:
                    client.writer.write(request * 1000)
                    sent += len(request) * 1000
                    await asyncio.wait_for(client.writer.drain(), 1)
            assert sent < 64 * 1024 * 1024, "the broker buffers without limit"

    uvloop.run(scenario())

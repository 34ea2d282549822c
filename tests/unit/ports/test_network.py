"""A real socket on loopback: order is kept, and a closed peer is noticed at once."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from ottla.ports.network import LinkLost, TcpNetwork
from ottla.wire.client import Client
from ottla.wire.codec import encode
from ottla.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    return await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))


def with_peer(serve: Serve, body: Callable[[int], Awaitable[None]]) -> None:
    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with asyncio.timeout(10):
            await body(server.sockets[0].getsockname()[1])
        server.close()

    asyncio.run(run())


def test_overlapping_requests_are_answered_in_order() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = [await read_frame(reader) for _ in range(3)]
        for frame in frames:
            writer.write(len(frame).to_bytes(4, "big") + frame)

    async def body(port: int) -> None:
        link = await TcpNetwork().connect("127.0.0.1", port, lambda: None)
        replies = await asyncio.gather(*(link.exchange(text) for text in (b"a", b"bb", b"")))
        assert replies == [b"a", b"bb", b""]
        link.close()

    with_peer(echo, body)


def test_frames_of_all_sizes_arrive_however_they_are_cut() -> None:
    sizes = [3, 200_000, 0, 16_384, 16_380, 1_000_000, 5]

    async def echo_in_pieces(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frames = [await read_frame(reader) for _ in sizes]
        sent = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
        piece = 1
        while sent:
            writer.write(sent[:piece])
            await writer.drain()
            sent, piece = sent[piece:], piece * 7 % 70_001 + 1

    async def body(port: int) -> None:
        link = await TcpNetwork().connect("127.0.0.1", port, lambda: None)
        frames = [bytes([number]) * size for number, size in enumerate(sizes)]
        assert await asyncio.gather(*map(link.exchange, frames)) == frames
        link.close()

    with_peer(echo_in_pieces, body)


def test_a_peer_that_dies_fails_who_waits_and_is_reported_once() -> None:
    async def die(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_frame(reader)
        writer.close()

    async def body(port: int) -> None:
        lost = asyncio.Event()
        link = await TcpNetwork().connect("127.0.0.1", port, lost.set)
        with pytest.raises(LinkLost):
            await link.exchange(b"hello")
        await lost.wait()
        assert not link.is_open
        with pytest.raises(LinkLost):
            await link.exchange(b"again")

    with_peer(die, body)


def test_a_port_where_nobody_listens_is_refused_at_once() -> None:

    async def run() -> None:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await server.wait_closed()
        with pytest.raises(LinkLost):
            await TcpNetwork().connect("127.0.0.1", port, lambda: None)

    asyncio.run(run())


def test_a_client_asks_and_reads_the_answer() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frame = await read_frame(reader)
        assert frame[:4] == b"\x00\x12\x00\x03"  # ApiVersions, version 3
        reply = frame[4:8] + encode(ApiVersionsResponse(api_keys=[ApiVersion(api_key=1)]), 3)
        writer.write(len(reply).to_bytes(4, "big") + reply)

    async def body(port: int) -> None:
        link = await TcpNetwork().connect("127.0.0.1", port, lambda: None)
        response = await Client(link, "test").ask(ApiVersionsRequest(), 3, ApiVersionsResponse)
        assert [each.api_key for each in response.api_keys] == [1]
        link.close()

    with_peer(answer, body)

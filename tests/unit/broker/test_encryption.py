"""TLS of a connection, over real sockets: bytes come whole and in order, either way."""

import asyncio
import itertools
import socket
import ssl
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from ottla.broker.transport.encryption import (
    PIECE_BYTES,
    RECORD_BYTES,
    EncryptedConnection,
    pieces,
)
from ottla.broker.transport.handshakes import (
    SCRATCH_BYTES,
    HandshakeBudget,
    HandshakeTurns,
    TlsDoor,
)
from ottla.ports.clock import SYSTEM_CLOCK, own_cpu_s
from ottla.security.connection_rates import AT_ONCE
from support import certificates

SECONDS_MAX = 20
LONG = bytes(range(256)) * 4096 * 3


class Echo(asyncio.BufferedProtocol):
    """Sends back what comes; the first byte of all says how."""

    def __init__(self) -> None:
        self._space = bytearray(50_000)
        self.transport: asyncio.Transport
        self.came = 0
        self.lost = asyncio.Event()
        self.paused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        assert not self.paused
        return memoryview(self._space)

    def buffer_updated(self, nbytes: int) -> None:
        assert not self.paused
        data = bytes(self._space[:nbytes])
        self.came += nbytes
        if data.startswith(b"lines"):
            self.transport.writelines([b"a", b"", LONG, b"b", b"c" * RECORD_BYTES, b"d"])
        elif data.startswith(b"farewell"):
            self.transport.write(LONG)
            self.transport.close()
        elif data.startswith(b"pause"):
            self.paused = True
            self.transport.pause_reading()
            self.transport.write(b"paused")
        else:
            self.transport.write(data)

    def go_on(self) -> None:
        self.paused = False
        self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Door:
    port: int
    client: ssl.SSLContext
    echoes: list[Echo]

    async def connect(self) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=self.client)

    def ask_blocking(self, text: bytes) -> bytes:
        """All that is answered before the farewell: uvloop's own clients lose the end of it."""
        place = socket.create_connection(("127.0.0.1", self.port), SECONDS_MAX)
        with self.client.wrap_socket(place, server_hostname="127.0.0.1") as connection:
            connection.sendall(text)
            return b"".join(iter(lambda: connection.recv(PIECE_BYTES), b""))


Scenario = Callable[[Door], Coroutine[Any, Any, None]]


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def served(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Scenario], None]:
    """Run a scenario with a door behind which everybody meets an Echo."""
    authority = certificates.authority()
    own = certificates.issue(authority, "broker", "127.0.0.1")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(own.write_pem(tmp_path / "own.pem"))
    client = ssl.create_default_context(cadata=authority.certificate_pem)

    async def run(scenario: Scenario) -> None:
        echoes: list[Echo] = []

        def make() -> Echo:
            echoes.append(Echo())
            return echoes[-1]

        door = TlsDoor(make, server, lambda *_: AT_ONCE, SYSTEM_CLOCK.monotonic)
        port = await door.bind("127.0.0.1", 0)
        door.open(10)
        try:
            async with asyncio.timeout(SECONDS_MAX):
                await scenario(Door(port, client, echoes))
        finally:
            door.close()

    return lambda scenario: request.param(run(scenario))


def test_what_is_sent_comes_back_whole(served: Callable[[Scenario], None]) -> None:
    async def scenario(door: Door) -> None:
        reader, writer = await door.connect()
        for text in (b"short", LONG, b"x" * RECORD_BYTES, b"end"):
            writer.write(text)
            assert await reader.readexactly(len(text)) == text
        writer.write(b"lines")
        expected = b"a" + LONG + b"b" + b"c" * RECORD_BYTES + b"d"
        assert await reader.readexactly(len(expected)) == expected
        writer.close()
        await door.echoes[0].lost.wait()

    served(scenario)


def test_a_farewell_comes_behind_what_was_written(served: Callable[[Scenario], None]) -> None:
    async def scenario(door: Door) -> None:
        came = await asyncio.to_thread(door.ask_blocking, b"farewell")
        assert came == LONG  # an end without farewell would be an error
        await door.echoes[0].lost.wait()

    served(scenario)


def test_who_pauses_is_given_nothing_and_then_everything(
    served: Callable[[Scenario], None],
) -> None:
    async def scenario(door: Door) -> None:
        reader, writer = await door.connect()
        writer.write(b"pause")
        assert await reader.readexactly(6) == b"paused"
        for _ in range(3):
            writer.write(LONG)  # more than a record: some of it is decrypted, were it asked for
        door.echoes[0].go_on()
        assert await reader.readexactly(3 * len(LONG)) == 3 * LONG
        writer.close()
        await door.echoes[0].lost.wait()

    served(scenario)


@given(st.lists(st.sampled_from([0, 1, 100, RECORD_BYTES - 1, RECORD_BYTES, PIECE_BYTES + 1])))
def test_pieces_are_the_same_bytes_and_short_ones_share_a_record(sizes: list[int]) -> None:
    buffers = [bytes([number % 256]) * size for number, size in enumerate(sizes)]
    found = list(pieces(buffers))
    assert b"".join(found) == b"".join(buffers)
    assert all(len(piece) <= PIECE_BYTES for piece in found)
    short = [len(piece) <= RECORD_BYTES // 2 for piece in found]
    assert not any(one and next_one for one, next_one in itertools.pairwise(short))


class Step:
    """What a connection does in its turn."""

    def __init__(self, seen: list[str]) -> None:
        self._seen = seen

    def shake_hands(self) -> None:
        self._seen.append("step")
        asyncio.get_running_loop().call_soon(self._seen.append, "others")


def test_others_come_between_the_steps_of_handshakes() -> None:
    async def scenario() -> list[str]:
        seen: list[str] = []
        turns = HandshakeTurns(HandshakeBudget(SYSTEM_CLOCK.monotonic, own_cpu_s))
        for _ in range(3):
            step: Any = Step(seen)
            turns.await_turn(step)
        while len(seen) < 6:
            await asyncio.sleep(0)
        return seen

    assert asyncio.run(scenario()) == ["step", "others"] * 3


class Broken(Step):
    """Something that nobody thought of."""

    def shake_hands(self) -> None:
        self._seen.append("broken")
        raise RuntimeError

    def abort(self) -> None:
        self._seen.append("closed")


def test_a_step_that_fails_takes_nobody_elses_turn() -> None:
    async def scenario() -> list[str]:
        seen: list[str] = []
        turns = HandshakeTurns(HandshakeBudget(SYSTEM_CLOCK.monotonic, own_cpu_s))
        steps: list[Any] = [Broken(seen), Step(seen)]
        for step in steps:
            turns.await_turn(step)
        async with asyncio.timeout(SECONDS_MAX):
            while len(seen) < 4:
                await asyncio.sleep(0)
        return seen

    assert asyncio.run(scenario()) == ["broken", "closed", "step", "others"]


class Lost(asyncio.BaseTransport):
    """To one who reads nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.aborted = self.paused = False
        self.unread = 0

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def is_closing(self) -> bool:
        return self.aborted

    def write(self, data: bytes) -> None:
        self.unread += len(data)

    def get_write_buffer_size(self) -> int:
        return self.unread


def test_who_was_given_up_before_it_arrived_is_closed_on_arrival() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    connection = EncryptedConnection(Echo, context, memoryview(b""), print, print)
    connection.abort()
    transport = Lost()
    connection.connection_made(transport)
    assert transport.aborted


def test_whoever_is_not_known_is_not_gathered_for() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    scratch = memoryview(bytearray(SCRATCH_BYTES))
    connection = EncryptedConnection(Echo, context, scratch, lambda _: None, print)
    transport, came = Lost(), 0
    connection.connection_made(transport)
    while not transport.paused:
        space = len(connection.get_buffer(-1))
        connection.buffer_updated(space)
        came += space
    assert came <= 2 * RECORD_BYTES


class AsksForKeys:
    """A session whose other side asks for new keys all the time, and is answered as often."""

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *, server_side: bool
    ) -> "AsksForKeys":
        self._incoming, self._outgoing = incoming, outgoing
        return self

    def do_handshake(self) -> None:
        self._incoming.read()

    def read(self, size: int, space: memoryview) -> int:
        self._outgoing.write(self._incoming.read())
        raise ssl.SSLWantReadError


@pytest.mark.parametrize("reads", [False, True])
def test_who_asks_for_keys_and_reads_none_is_closed(reads: bool) -> None:
    context: Any = AsksForKeys()
    scratch = memoryview(bytearray(SCRATCH_BYTES))
    connection = EncryptedConnection(Echo, context, scratch, lambda _: None, lambda _: None)
    transport = Lost()
    connection.connection_made(transport)
    connection.shake_hands()
    for _ in range(1000):
        connection.buffer_updated(1000)
        if reads:
            transport.unread = 0
    assert transport.aborted is not reads
    assert reads or transport.unread < SCRATCH_BYTES

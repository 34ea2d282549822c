"""The door of a TLS listener: unfinished handshakes are counted, bounded, and get their share."""

import asyncio
import gc
import itertools
import ssl
import warnings
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from ottla.broker.transport import handshakes
from ottla.broker.transport.handshakes import (
    APART_S,
    BURST_S,
    HANDSHAKE_S_MAX,
    UNFINISHED_MAX,
    HandshakeBudget,
    MayCome,
    TlsDoor,
    time_left_s,
)
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.security.connection_rates import AT_ONCE, Admission
from support import certificates

SECONDS = 5


def test_handshakes_get_a_third_of_the_time_after_a_burst() -> None:
    now = 100.0
    budget = HandshakeBudget(lambda: now, lambda: now)  # somebody always wants the loop
    budget.spend(BURST_S)
    assert budget.wait_s() == 0
    budget.spend(0.1)
    assert budget.wait_s() == pytest.approx(0.3)
    now += 0.3
    assert budget.wait_s() == pytest.approx(0)
    now += 1000
    budget.spend(BURST_S + 0.1)  # rest is not saved up
    assert budget.wait_s() == pytest.approx(0.3)


def test_handshakes_get_what_nobody_else_wants() -> None:
    now, used = 100.0, 5.0
    budget = HandshakeBudget(lambda: now, lambda: used)
    budget.spend(BURST_S + 0.4)
    now, used = now + 0.3, used + 0.1
    assert budget.wait_s() == pytest.approx(3 * (0.4 - 0.1 - 0.2))


def test_who_comes_alone_has_all_its_time() -> None:
    assert time_left_s(0, 1) == HANDSHAKE_S_MAX


def test_a_crowd_that_comes_at_once_goes_one_by_one_and_nobody_too_late() -> None:
    age_s, ages_s = 0.0, list[float]()
    for unfinished in range(UNFINISHED_MAX, 0, -1):
        age_s += max(APART_S if ages_s else 0.0, time_left_s(age_s, unfinished))
        ages_s.append(age_s)
    assert len(ages_s) == UNFINISHED_MAX
    assert all(later - earlier >= 0.99 * APART_S for earlier, later in itertools.pairwise(ages_s))
    assert ages_s[0] > 1
    assert ages_s[-1] == pytest.approx(HANDSHAKE_S_MAX)


class Greeting(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.write(b"hello")  # type: ignore[attr-defined]


def with_door(
    tmp_path: Path,
    may_come: MayCome,
    body: Callable[[int, ssl.SSLContext], Coroutine[Any, Any, None]],
) -> None:
    authority = certificates.authority()
    own = certificates.issue(authority, "broker", "127.0.0.1")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(own.write_pem(tmp_path / "own.pem"))
    client = ssl.create_default_context(cadata=authority.certificate_pem)

    async def run() -> None:
        door = TlsDoor(Greeting, server, may_come, SYSTEM_CLOCK.monotonic)
        port = await door.bind("127.0.0.1", 0)
        door.open(10)
        try:
            async with asyncio.timeout(4 * SECONDS):
                await body(port, client)
        finally:
            door.close()

    uvloop.run(run())


async def greeted(port: int, client: ssl.SSLContext) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client)
    said = await reader.readexactly(5)
    writer.close()
    return said


def test_unfinished_handshakes_count(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def may_come(_: str, unfinished: int, of_host: int) -> Admission | None:
        seen.append((unfinished, of_host))
        return AT_ONCE if unfinished < 2 else None

    async def body(port: int, client: ssl.SSLContext) -> None:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        reader, _ = await asyncio.open_connection("127.0.0.1", port)
        assert await asyncio.wait_for(reader.read(), SECONDS) == b""  # refused without a handshake
        silent[0][1].close()
        while True:  # until it is noticed
            try:
                assert await greeted(port, client) == b"hello"
                break
            except OSError:
                await asyncio.sleep(0.01)
        assert (2, 2) in seen

    with_door(tmp_path, may_come, body)


def test_who_waits_too_long_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshakes, "UNFINISHED_MAX", 3)
    monkeypatch.setattr(handshakes, "PATIENCE_S", 0.2)

    async def body(port: int, client: ssl.SSLContext) -> None:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        assert await asyncio.wait_for(greeted(port, client), SECONDS) == b"hello"
        assert await asyncio.wait_for(silent[0][0].read(), SECONDS) == b""

    with_door(tmp_path, lambda *_: AT_ONCE, body)


def test_who_never_ends_its_handshake_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshakes, "HANDSHAKE_S_MAX", 0.1)

    async def body(port: int, client: ssl.SSLContext) -> None:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for reader, _ in silent:
            with suppress(ConnectionError):
                assert await asyncio.wait_for(reader.read(), SECONDS) == b""

    with_door(tmp_path, lambda *_: AT_ONCE, body)


def test_who_comes_too_soon_waits_before_its_handshake(tmp_path: Path) -> None:
    async def body(port: int, client: ssl.SSLContext) -> None:
        assert await greeted(port, client) == b"hello"

    with_door(tmp_path, lambda *_: Admission(50, True), body)


def test_who_is_over_its_address_s_rate_is_closed_without_a_handshake(tmp_path: Path) -> None:
    async def body(port: int, client: ssl.SSLContext) -> None:
        with pytest.raises((ConnectionError, ssl.SSLError)):
            await greeted(port, client)

    with_door(tmp_path, lambda *_: Admission(50, False), body)


def test_who_arrives_while_the_door_closes_is_closed() -> None:
    """Before anything is done for it: its socket is nobody else's to close."""

    async def run() -> None:
        loop = asyncio.get_running_loop()

        def may_come(*_: object) -> Admission:
            loop.call_soon(door.close)
            return AT_ONCE

        door = TlsDoor(
            Greeting, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), may_come, SYSTEM_CLOCK.monotonic
        )
        port = await door.bind("127.0.0.1", 0)
        door.open(10)
        async with asyncio.timeout(4 * SECONDS):
            reader, _ = await asyncio.open_connection("127.0.0.1", port)
            with suppress(ConnectionError):
                assert await reader.read() == b""

    gc.collect()
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(run())
        gc.collect()
    assert not [one for one in left if "<socket.socket" in str(one.message)]

"""A provider's keys: fetched, kept, fetched again, and what a provider may get wrong."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import time_ns

import pytest

from ottla.security.access_tokens import TokenRules, UnknownKey, parse_key_set
from ottla.security.key_sets import KEY_SET_BYTES_MAX, KeySet, fetch
from ottla.security.oauth_options import KeySource
from support.provider import AUDIENCE, ISSUER, Provider

RULES = TokenRules(ISSUER, (AUDIENCE,), "sub", "scope", 5)


def source(url: str) -> KeySource:
    return KeySource(url, refresh_s=3600, retry_s=0.01, retry_s_max=0.05)


@contextmanager
def answering(reply: bytes) -> Iterator[str]:
    """Whoever asks gets these bytes, whatever they are."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(4096)
                connection.sendall(reply)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/keys"
        thread.join(5)


LENGTH = KEY_SET_BYTES_MAX + 10
BAD = {
    "no http": b"SSH-2.0-OpenSSH\r\n",
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    "nothing": b"",
    "an error": b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://a:1/\r\nContent-Length: 0\r\n\r\n",
    "without end": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % LENGTH + b" " * LENGTH,
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_answer_is_an_error_that_is_expected(kind: str) -> None:
    with answering(BAD[kind]) as url, pytest.raises((OSError, ValueError)):
        parse_key_set(fetch(source(url)))


def test_a_file_is_read_again_after_it_was_bad(tmp_path: Path) -> None:
    provider, path = Provider(), tmp_path / "keys.json"
    path.write_text("not yet")
    keys = KeySet(source(path.as_uri()), lambda: time_ns() // 1_000_000)

    async def come_in() -> str:
        keeping = asyncio.ensure_future(keys.keep_fresh())
        await asyncio.sleep(0.05)
        with pytest.raises(UnknownKey):
            keys.check(provider.token("alice"), RULES)
        path.write_bytes(provider.key_set())
        try:
            async with asyncio.timeout(20):
                while True:
                    try:
                        return keys.check(provider.token("alice"), RULES).name
                    except UnknownKey:
                        await asyncio.sleep(0.02)
        finally:
            keeping.cancel()

    assert asyncio.run(come_in()) == "alice"

"""Where brokers are and how their clients come in: in the open, or by SCRAM over TLS.

The same for both brokers. Raw connections, which some loads open by the thousand, say who they are
with the same machine of ours towards either of them.
"""

import json
import socket
import ssl
import struct
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from ottla.security.scram import MECHANISMS, ScramClient

OPENERS = 8
"""So many raw connections are opened at once: one after the other would measure round trips."""
CONNECT_S_MAX = 60
Socket = socket.socket


class Reach:
    def __init__(self, bootstrap: str, properties: Mapping[str, str] | None = None) -> None:
        """Properties in librdkafka's names."""
        self.bootstrap = bootstrap
        self.properties = dict(properties or {})
        self._stretched: dict[bytes, bytes] = {}

    @classmethod
    def read(cls, bootstrap: str, file: Path | None) -> "Reach":
        return cls(bootstrap, json.loads(file.read_text()) if file else None)

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(self.properties))

    def config(self, **more: Any) -> dict[str, Any]:
        """For a client of librdkafka's, dots of names written as underscores."""
        own = {name.replace("_", "."): value for name, value in more.items()}
        return {"bootstrap.servers": self.bootstrap, **self.properties, **own}

    def open_many(self, count: int) -> list[Socket]:
        if not self.properties:
            return [self.open() for _ in range(count)]
        with ThreadPoolExecutor(OPENERS) as openers:
            return list(openers.map(lambda _: self.open(), range(count)))

    def open(self) -> Socket:
        host, port = self.bootstrap.split(",")[0].rsplit(":", 1)
        opened = socket.create_connection((host, int(port)), CONNECT_S_MAX)
        if not self.properties:
            return opened
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        encrypted = self._encryption.wrap_socket(opened, server_hostname=host)
        self._sign_in(encrypted)
        return encrypted

    @property
    def _encryption(self) -> ssl.SSLContext:
        return encryption(self.properties["ssl.ca.pem"])

    def _sign_in(self, opened: Socket) -> None:
        mechanism = self.properties["sasl.mechanism"]
        name = mechanism.encode()
        ask(opened, 17, struct.pack(">h", len(name)) + name)
        client = ScramClient(
            MECHANISMS[mechanism],
            self.properties["sasl.username"],
            self.properties["sasl.password"],
            nonce="of-the-bench",
        )
        stretching = client.challenge(authenticate(opened, client.first()))
        if stretching.salt not in self._stretched:
            self._stretched[stretching.salt] = stretching.run()
        client.check(authenticate(opened, client.prove(self._stretched[stretching.salt])))


@cache
def encryption(authority: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authority)


def authenticate(opened: Socket, token: bytes) -> bytes:
    """One message of SASL there and back."""
    reply = ask(opened, 36, struct.pack(">i", len(token)) + token)
    error, length = struct.unpack_from(">hh", reply)
    assert not error, "not let in"
    begin = 4 + max(length, 0)
    (size,) = struct.unpack_from(">i", reply, begin)
    return reply[begin + 4 : begin + 4 + size]


def ask(opened: Socket, api: int, body: bytes) -> bytes:
    """The reply to a request of version 1, without its header."""
    request = struct.pack(">hhih", api, 1, 0, -1) + body
    opened.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", receive(opened, 4))
    return receive(opened, size)[4:]


def receive(opened: Socket, size: int) -> bytes:
    """Encrypted sockets know no MSG_WAITALL."""
    return b"".join(_parts(opened, size))


def _parts(opened: Socket, size: int) -> Iterator[bytes]:
    while size:
        part = opened.recv(size)
        assert part, "the broker closed a connection"
        size -= len(part)
        yield part

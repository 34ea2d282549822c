"""The asking side of the protocol: a request message in, its response out, over any link."""

from itertools import count
from struct import Struct
from typing import Protocol, TypeVar

from ottla.wire.codec import MalformedMessage, decode, encode_into, skip_tags
from ottla.wire.message import Message

M = TypeVar("M", bound=Message)

_HEADER = Struct(">hhih")
_CORRELATION = Struct(">i")
API_VERSIONS = 18


class Link(Protocol):
    async def exchange(self, frame: bytes) -> bytes | bytearray: ...


class Client:
    """One connection's requests. Who asks is `client_id`; who is asked is the link's affair."""

    def __init__(self, link: Link, client_id: str) -> None:
        self._link = link
        self._client_id = client_id.encode()
        self._correlation = count()

    async def ask(self, request: Message, version: int, response: type[M]) -> M:
        correlation_id = next(self._correlation) & 0x7FFFFFFF
        frame = request_frame(request, version, correlation_id, self._client_id)
        return read_reply(await self._link.exchange(frame), response, version, correlation_id)


def request_frame(request: Message, version: int, correlation_id: int, client_id: bytes) -> bytes:
    """Header and body, without the size in front."""
    frame = bytearray(_HEADER.pack(request.API_KEY, version, correlation_id, len(client_id)))
    frame += client_id
    if version >= request.FLEXIBLE_SINCE:
        frame += b"\x00"
    encode_into(request, version, frame)
    return bytes(frame)


def read_reply(frame: bytes | bytearray, response: type[M], version: int, correlation_id: int) -> M:
    """The response in a frame that must answer `correlation_id`; its records stay a view."""
    if len(frame) < 4 or _CORRELATION.unpack_from(frame)[0] != correlation_id:
        raise MalformedMessage(f"a {response.__name__} that answers something else")
    view, position = memoryview(frame), 4
    if version >= response.FLEXIBLE_SINCE and response.API_KEY != API_VERSIONS:
        position = skip_tags(view, position, len(view))
    return decode(response, version, view, position)[0]

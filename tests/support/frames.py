"""Requests and replies as the frames a dispatcher takes and gives."""

from struct import pack

from ottla.broker.api import Listeners, apis, load
from ottla.wire.codec import decode, encode
from ottla.wire.message import Message


def frame_of(request: Message, version: int) -> memoryview:
    tags = b"\0" if version >= request.FLEXIBLE_SINCE else b""
    header = pack(">hhih", request.API_KEY, version, 1, -1) + tags
    return memoryview(header + encode(request, version))


def read_reply(request: Message, version: int, frame: bytes) -> Message:
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    response = load(apis(Listeners.BROKER)[request.API_KEY]).response
    tagged = version >= response.FLEXIBLE_SINCE and request.API_KEY != 18
    message, end = decode(response, version, frame, 9 if tagged else 8)
    assert end == len(frame)
    return message

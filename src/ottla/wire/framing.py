"""Frames and headers: where a request begins and ends in a stream of bytes, and whose it is.

Pure: bytes in, frames out. Sockets are `broker.transport`'s affair, bodies are `wire.codec`'s.
"""

from collections.abc import Iterable, Iterator
from mmap import mmap
from struct import Struct
from struct import error as StructError
from typing import NamedTuple, Protocol

from ottla.wire.codec import MalformedMessage, skip_tags

SIZE = Struct(">i")
_HEADER = Struct(">hhih")  # api key, version, correlation id, length of the client's name
_REPLY_HEADER = Struct(">ii")  # size, correlation id
_TAGGED_REPLY_HEADER = Struct(">iib")
_POOLED_BYTES_MAX = 2 * 1024 * 1024
_MAPPED_BYTES_MIN = COUNTED_BYTES_MIN = 64 * 1024


TLS_HANDSHAKE = 0x16
"""With that byte a client begins who takes the port for one with TLS."""


class FrameTooLong(ValueError):
    """A size that is negative or beyond what the receiver accepts."""


class LooksLikeTls(FrameTooLong):
    """Somebody speaks TLS where nobody does."""


class Room(Protocol):
    """Memory for large frames that are not whole yet."""

    def begin(self, size: int) -> bool:
        """False: not now; `FrameAssembler.let_in` follows when there is room."""

    def completed(self) -> None: ...


class FrameAssembler:
    """Cuts what a peer sends into frames.

    Small frames are cut from `scratch`, a buffer that all connections share, because between
    `space()` and `received()` nothing else runs. A frame that is not whole yet moves into a buffer
    of its own size, and the rest of it is received right there; where there is no room for it,
    nothing more must be received before there is.
    """

    __slots__ = (
        "_begun",
        "_filled",
        "_own",
        "_room",
        "_scratch",
        "_wanted",
        "counted_bytes_min",
        "frame_bytes_max",
        "taken",
    )

    def __init__(self, scratch: memoryview, frame_bytes_max: int, room: Room | None = None) -> None:
        self._scratch = scratch
        self.frame_bytes_max = frame_bytes_max
        self._room = room
        self.counted_bytes_min = COUNTED_BYTES_MIN  # room is asked for from that size on
        self._begun: bytes | None = None  # of a frame for which there is no room yet
        self.taken = 0  # of the room, by the unfinished frame or the one last completed
        self._own: memoryview | None = None
        self._filled = 0  # bytes of the unfinished frame in `_own`, its size included
        self._wanted = 0  # bytes it will have; 0: no frame is unfinished

    def space(self) -> memoryview:
        """Where to put the next bytes."""
        if self._wanted:
            assert self._own is not None
            return self._own[self._filled : self._wanted]
        return self._scratch

    def received(self, count: int) -> Iterable[memoryview]:
        """The frames that `count` more bytes complete, valid until the next call of `space`.

        FrameTooLong comes after the frames before it."""
        if self._wanted:
            return self._received_rest(count)
        self.taken = 0
        scratch = self._scratch
        if 4 <= count <= self.frame_bytes_max and SIZE.unpack_from(scratch)[0] == count - 4:
            return (scratch[4:count],)  # just one, as it mostly is
        return self._cut(scratch[:count])

    def _received_rest(self, count: int) -> Iterator[memoryview]:
        self._filled += count
        if self._filled < self._wanted:
            return
        assert self._own is not None
        whole = self._own[: self._wanted]
        if self._wanted > 4:
            self._wanted = 0
            if self.taken and self._room is not None:
                self._room.completed()
            yield whole[4:]
        else:  # only now is the size itself known
            self._wanted = 0
            yield from self._cut(whole)

    @property
    def is_kept_out(self) -> bool:
        """There is no room for the frame that began."""
        return self._begun is not None

    def let_in(self) -> None:
        """Now there is."""
        assert self._begun is not None
        begun, self._begun = self._begun, None
        self._begin(memoryview(begun), self._wanted)

    def forget_buffer(self) -> None:
        """Give back the memory kept for large frames, unless one is under way."""
        if not self._wanted:
            self._own = None

    def _cut(self, data: memoryview) -> Iterator[memoryview]:
        position, end = 0, len(data)
        while end - position >= 4:
            (size,) = SIZE.unpack_from(data, position)
            if not 0 <= size <= self.frame_bytes_max:
                if data[position] == TLS_HANDSHAKE:
                    raise LooksLikeTls(f"a frame of {size} bytes, or a client that speaks TLS")
                raise FrameTooLong(f"a frame of {size} bytes")
            after = position + 4 + size
            if after > end:
                self._keep(data[position:], 4 + size)
                return
            yield data[position + 4 : after]
            position = after
        if position < end:
            self._keep(data[position:], 4)

    def _keep(self, begun: memoryview, wanted: int) -> None:
        self.taken = 0
        if wanted >= self.counted_bytes_min and self._room is not None:
            self.taken = wanted
            if not self._room.begin(wanted):
                self._begun, self._wanted, self._own = bytes(begun), wanted, None
                return
        self._begin(begun, wanted)

    def _begin(self, begun: memoryview, wanted: int) -> None:
        own = self._own
        if own is None or len(own) < wanted or len(own) > max(wanted, _POOLED_BYTES_MAX):
            own = _buffer(wanted)
        own[: len(begun)] = begun
        self._own, self._filled, self._wanted = own, len(begun), wanted


def _buffer(size: int) -> memoryview:
    """Memory that costs nothing before bytes arrive, however much a peer announces."""
    return memoryview(bytearray(size) if size < _MAPPED_BYTES_MIN else mmap(-1, size))


class RequestHeader(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    end: int  # where the tagged fields (flexible versions) or the body begin


def read_request_header(frame: memoryview) -> RequestHeader:
    """The header without its tagged fields: whether it has any depends on key and version."""
    try:
        key, version, correlation_id, length = _HEADER.unpack_from(frame)
    except StructError:
        raise MalformedMessage("a request shorter than its header") from None
    end = _HEADER.size
    if length < 0:
        return RequestHeader(key, version, correlation_id, None, end)
    if end + length > len(frame):
        raise MalformedMessage("a client id longer than its request")
    client_id = str(frame[end : end + length], "utf-8", "replace")
    return RequestHeader(key, version, correlation_id, client_id, end + length)


def skip_header_tags(frame: memoryview, position: int) -> int:
    try:
        if frame[position] == 0:
            return position + 1
        return skip_tags(frame, position, len(frame))
    except IndexError:
        raise MalformedMessage("a request that ends in its header") from None


def reply_header(correlation_id: int, body_bytes: int, *, tagged: bool) -> bytes:
    """Size and header in front of a reply's body."""
    if tagged:
        return _TAGGED_REPLY_HEADER.pack(body_bytes + 5, correlation_id, 0)
    return _REPLY_HEADER.pack(body_bytes + 4, correlation_id)

"""Messages to bytes and back, at any version.

`encode` and `decode` look up a function compiled for one (class, version) on first use. The
source of that function is written by `ottla.wire.compiler`; here are the entry points, and what
the compiled code calls for the rare cases: long varints, nulls, unknown tagged fields.

Input is untrusted: a length or count beyond the bytes left is a `MalformedMessage`, before
anything of that size is allocated. Tagged fields nobody knows are skipped.
"""

from collections.abc import Callable
from functools import cache
from struct import error as StructError
from typing import Any, TypeVar

from ottla.wire.message import Message

M = TypeVar("M", bound=Message)
Buffer = bytes | memoryview
Decoder = Callable[[Buffer, int, int], tuple[Any, int]]
Encoder = Callable[[Any, bytearray], None]


class MalformedMessage(ValueError):
    """The bytes are not the message they claim to be."""


def encode(message: Message, version: int) -> bytes:
    out = bytearray()
    encoder(type(message), version)(message, out)
    return bytes(out)


def encode_into(message: Message, version: int, out: bytearray) -> None:
    encoder(type(message), version)(message, out)


def decode(cls: type[M], version: int, buffer: Buffer, position: int = 0) -> tuple[M, int]:
    """The message that starts at `position`, and where it ends."""
    try:
        message, end = decoder(cls, version)(buffer, position, len(buffer))
    except MalformedMessage:
        raise
    except (IndexError, ValueError, OverflowError, StructError) as error:
        raise MalformedMessage(f"{cls.__name__} v{version}: {error}") from None
    return message, end


@cache
def encoder(cls: type[Message], version: int) -> Encoder:
    from ottla.wire.compiler import compile_encoder

    return compile_encoder(cls, version)


@cache
def decoder(cls: type[Message], version: int) -> Decoder:
    from ottla.wire.compiler import compile_decoder

    return compile_decoder(cls, version)


def read_uvarint(buffer: Buffer, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 28:
            raise MalformedMessage("a varint is longer than five bytes")


def uvarint(value: int) -> bytes:
    if value < 0x80:
        return ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def skip_tags(buffer: Buffer, position: int, end: int) -> int:
    """Past the tagged fields at `position`; none of them is known to the caller."""
    count, position = read_uvarint(buffer, position)
    for _ in range(count):
        _, position = read_uvarint(buffer, position)
        size, position = read_uvarint(buffer, position)
        position += size
        if position > end:
            raise MalformedMessage("a tagged field is longer than its message")
    return position


def refuse_count(count: int, left: int) -> None:
    raise MalformedMessage(f"a count of {count} cannot fit in the {left} bytes left")


def refuse_null(name: str) -> None:
    raise MalformedMessage(f"{name} may not be null")


ONE_BYTE = tuple(bytes([value]) for value in range(0x80))

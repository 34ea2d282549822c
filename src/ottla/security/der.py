"""Just enough of DER to walk to a name in a certificate. Bytes come from peers: all is checked."""

from collections.abc import Iterator
from typing import NamedTuple

SEQUENCE, SET, OBJECT_IDENTIFIER = 0x30, 0x31, 0x06
SUBJECT_ALTERNATIVE_NAME = "2.5.29.17"
EXTENSIONS = 0xA3
VERSION = 0xA0  # [0], before the serial number of a certificate; missing in version 1


class BadEncoding(ValueError):
    """Not what it should be, or not whole."""


class Value(NamedTuple):
    tag: int
    content: bytes
    whole: bytes  # with its tag and length


def read(data: bytes, position: int = 0) -> tuple[Value, int]:
    """The value that begins here, and where the next one does."""
    if position + 2 > len(data):
        raise BadEncoding("the bytes end too early")
    tag, length, begin = data[position], data[position + 1], position + 2
    if tag & 0x1F == 0x1F:
        raise BadEncoding("a tag of several bytes")
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4 or begin + count > len(data):
            raise BadEncoding("a length of an unknown form")
        length, begin = int.from_bytes(data[begin : begin + count], "big"), begin + count
    end = begin + length
    if end > len(data):
        raise BadEncoding("a value is longer than what is left")
    return Value(tag, data[begin:end], data[position:end]), end


def children(value: Value, tag: int) -> Iterator[Value]:
    if value.tag != tag:
        raise BadEncoding(f"tag {value.tag:#x} stands where {tag:#x} should")
    position = 0
    while position < len(value.content):
        child, position = read(value.content, position)
        yield child


def dotted(value: Value) -> str:
    """An object identifier in its usual form."""
    if value.tag != OBJECT_IDENTIFIER or not value.content or value.content[-1] & 0x80:
        raise BadEncoding("an object identifier is broken")
    arcs, number = [], 0
    for byte in value.content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            arcs.append(number)
            number = 0
    first = min(arcs[0] // 40, 2)
    return ".".join(map(str, (first, arcs[0] - 40 * first, *arcs[1:])))


def subject_of(certificate: bytes) -> Value:
    """The subject's name in an X.509 certificate."""
    signed = next(children(read(certificate)[0], SEQUENCE), None)
    if signed is None:
        raise BadEncoding("an empty certificate")
    fields = [field for field in children(signed, SEQUENCE) if field.tag != VERSION]
    if len(fields) < 5:
        raise BadEncoding("a certificate without a subject")
    return fields[4]  # serial number, algorithm, issuer, validity, subject


def alternative_names(certificate: bytes) -> frozenset[bytes]:
    """The hosts and addresses that a certificate is for, as they are encoded."""
    signed = next(children(read(certificate)[0], SEQUENCE), None)
    if signed is None:
        raise BadEncoding("an empty certificate")
    for field in children(signed, SEQUENCE):
        if field.tag != EXTENSIONS:
            continue
        for extension in children(next(children(field, EXTENSIONS)), SEQUENCE):
            parts = list(children(extension, SEQUENCE))
            if len(parts) >= 2 and dotted(parts[0]) == SUBJECT_ALTERNATIVE_NAME:
                names = read(parts[-1].content)[0]
                return frozenset(name.whole for name in children(names, SEQUENCE))
    return frozenset()

"""Zigzag varints, as they stand inside record batches. Message bodies have their own in codec."""

from ottla.wire.compression import Buffer

_SMALL = [bytes([n]) for n in range(128)]


def varint(value: int) -> bytes:
    """`value` in zigzag form, 7 bits a byte, the least significant first."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    if value < 128:
        return _SMALL[value]
    if value < 1 << 14:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value > 127:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """The value and the position behind it; IndexError where the buffer ends first."""
    byte = buffer[position]
    position += 1
    if byte < 128:
        return (byte >> 1) ^ -(byte & 1), position
    value, shift = byte & 0x7F, 7
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
        if shift > 63:
            raise ValueError("a varint longer than ten bytes")

"""pgoutput's messages, as PostgreSQL 15 sent them."""

import struct

import pytest

from ottla.connect.connectors.postgres_cdc import protocol
from ottla.connect.connectors.postgres_cdc.protocol import UNCHANGED


def text(value: str) -> bytes:
    return b"t" + struct.pack(">i", len(value.encode())) + value.encode()


def row(*values: bytes) -> bytes:
    return struct.pack(">h", len(values)) + b"".join(values)


def test_a_transactions_begin_and_end_are_told_in_microseconds_since_1970() -> None:
    begin = b"B" + struct.pack(">qqI", 0x1AB83E0, 1_000_000, 4_000_000_000)
    assert protocol.decode(begin) == protocol.Begin(0x1AB83E0, 946_684_801_000_000, 4_000_000_000)
    commit = b"C" + struct.pack(">bqqq", 0, 1, 2, 0)
    assert protocol.decode(commit) == protocol.Commit(2, 946_684_800_000_000)


def test_a_relation_has_its_columns() -> None:
    column = b"\x01" + b"id\0" + struct.pack(">Ii", 23, -1)
    data = b"R" + struct.pack(">I", 7) + b"public\0orders\0d" + struct.pack(">h", 1) + column
    expected = protocol.RelationColumn(True, "id", 23, -1)
    assert protocol.decode(data) == protocol.Relation(7, "public", "orders", (expected,))


def test_rows_hold_text_nulls_and_what_was_not_sent() -> None:
    new = row(text("ä"), b"n", b"u")
    head = struct.pack(">I", 7)
    assert protocol.decode(b"I" + head + b"N" + new) == protocol.Insert(7, ("ä", None, UNCHANGED))
    update = b"U" + head + b"K" + row(text("1"), b"n", b"n") + b"N" + new
    assert protocol.decode(update) == protocol.Update(7, ("1", None, None), ("ä", None, UNCHANGED))
    plain = b"U" + head + b"N" + new
    assert protocol.decode(plain) == protocol.Update(7, None, ("ä", None, UNCHANGED))
    delete = b"D" + head + b"O" + row(text("1"))
    assert protocol.decode(delete) == protocol.Delete(7, ("1",))


def test_truncates_origins_and_emitted_messages_are_read() -> None:
    truncate = b"T" + struct.pack(">ibII", 2, 1, 7, 8)
    assert protocol.decode(truncate) == protocol.Truncate((7, 8))
    origin = b"O" + struct.pack(">q", 9) + b"far\0"
    assert protocol.decode(origin) == protocol.Origin(9, "far")
    emitted = b"M" + struct.pack(">bq", 1, 5) + b"pre\0" + struct.pack(">i", 2) + b"\x00\xff"
    assert protocol.decode(emitted) == protocol.Emitted(True, "pre", b"\x00\xff")
    assert protocol.decode(b"Y" + b"\0" * 8) is None


def test_what_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown type b'?'".replace("?", "z")):
        protocol.decode(b"z")
    with pytest.raises(ValueError, match="unknown kind 'x'"):
        protocol.decode(b"I" + struct.pack(">I", 7) + b"N" + row(b"x"))

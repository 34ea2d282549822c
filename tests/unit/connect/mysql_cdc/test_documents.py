"""MySQL's binary JSON, which no MariaDB writes."""

import struct

from ottla.connect.connectors.mysql_cdc import binlog
from ottla.connect.connectors.mysql_cdc.binlog import StoredType

ARRAY = struct.pack("<HHBHBH", 2, 12, 5, 7, 12, 10) + b"\x01x"  # [7, "x"]
OBJECT = struct.pack("<HHHHBH", 1, 24, 11, 1, 2, 12) + b"a" + ARRAY  # {"a": [7, "x"]}


def test_a_document_is_written_without_blanks() -> None:
    read = binlog.reader(StoredType(245, b"\x04"))
    data = b"\x00" + OBJECT
    stored = struct.pack("<I", len(data)) + data
    assert read(stored, 0) == ('{"a":[7,"x"]}', len(stored))


def test_nothing_at_all_is_null() -> None:
    assert binlog.reader(StoredType(245, b"\x04"))(bytes(4), 0) == (None, 4)

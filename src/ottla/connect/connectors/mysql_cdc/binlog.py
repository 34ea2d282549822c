"""The binlog's events: their header, tables, rows, and values as they are stored. Pure.

A value comes as what the column's storage holds, and `types` knows what is meant: integers signed,
texts and bits as bytes, ENUM and SET as numbers, a DATE and a DATETIME as `Moment` (which may be
none in any calendar), a TIME in microseconds, a TIMESTAMP in microseconds since 1970.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final, NamedTuple

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.mysql_cdc.documents import document

QUERY: Final = 2
STOP: Final = 3
ROTATE: Final = 4
FORMAT_DESCRIPTION: Final = 15
XID: Final = 16
TABLE_MAP: Final = 19
HEARTBEAT: Final = 27
GTID: Final = 33  # MySQL's
ANONYMOUS_GTID: Final = 34
MARIADB_GTID: Final = 162
WRITES: Final = frozenset([20, 23, 30])
UPDATES: Final = frozenset([21, 24, 31])
DELETES: Final = frozenset([22, 25, 32])
ROWS: Final = WRITES | UPDATES | DELETES
_SECOND_VERSION: Final = frozenset([30, 31, 32])
# Events whose rows or statements would go unseen.
UNSERVED: Final = {
    39: "binlog_row_value_options=PARTIAL_JSON",
    40: "binlog_transaction_compression",
    165: "log_bin_compress",
    166: "log_bin_compress",
    167: "log_bin_compress",
    168: "log_bin_compress",
    169: "log_bin_compress",
    170: "log_bin_compress",
    171: "log_bin_compress",
}
STANDALONE: Final = 1  # a flag of MariaDB's GTID events: no COMMIT follows
_HEADER: Final = struct.Struct("<IBIIIH")
CHECKSUM: Final = 4
_WIDE: Final = Context(prec=100)  # DECIMAL has up to 65 digits


class Header(NamedTuple):
    seconds: int  # since 1970
    kind: int
    server_id: int
    size: int
    next_position: int  # 0: the event was made for us, and is in no file
    flags: int

    @property
    def position(self) -> int:
        return self.next_position - self.size


def header(event: bytes) -> Header:
    return Header._make(_HEADER.unpack_from(event))


class Moment(NamedTuple):
    year: int
    month: int
    day: int
    us: int  # of the day


class Rotation(NamedTuple):
    position: int
    file: str


def rotation(event: bytes) -> Rotation:
    (position,) = struct.unpack_from("<Q", event, _HEADER.size)
    return Rotation(position, event[_HEADER.size + 8 :].decode())


class Query(NamedTuple):
    thread: int
    database: str
    sql: str


def query(event: bytes) -> Query:
    at = _HEADER.size
    thread, _seconds, length, _error, status = struct.unpack_from("<IIBHH", event, at)
    at += 13 + status
    database = event[at : at + length].decode()
    return Query(thread, database, event[at + length + 1 :].decode(errors="replace"))


class MariaDbGtid(NamedTuple):
    domain: int
    sequence: int
    flags: int


def mariadb_gtid(event: bytes) -> MariaDbGtid:
    sequence, domain, flags = struct.unpack_from("<QIB", event, _HEADER.size)
    return MariaDbGtid(domain, sequence, flags)


def mysql_gtid(event: bytes) -> str:
    source, number = event[_HEADER.size + 1 : _HEADER.size + 17].hex(), _HEADER.size + 17
    (transaction,) = struct.unpack_from("<Q", event, number)
    parts = (source[:8], source[8:12], source[12:16], source[16:20], source[20:])
    return f"{'-'.join(parts)}:{transaction}"


# Tables

_TINY, _SHORT, _LONG, _FLOAT, _DOUBLE, _TIMESTAMP, _LONGLONG, _INT24 = 1, 2, 3, 4, 5, 7, 8, 9
_DATE, _TIME, _DATETIME, _YEAR, _VARCHAR, _BIT = 10, 11, 12, 13, 15, 16
_TIMESTAMP2, _DATETIME2, _TIME2 = 17, 18, 19
_JSON, _NEWDECIMAL, _ENUM, _SET = 245, 246, 247, 248
_BLOBS: Final = (249, 250, 251, 252)
_VAR_STRING, _STRING, _GEOMETRY = 253, 254, 255
_METADATA_BYTES: Final = {
    **dict.fromkeys([_FLOAT, _DOUBLE, _JSON, _GEOMETRY, *_BLOBS], 1),
    **dict.fromkeys([_TIMESTAMP2, _DATETIME2, _TIME2], 1),
    **dict.fromkeys([_VARCHAR, _VAR_STRING, _STRING, _BIT, _NEWDECIMAL, _ENUM, _SET], 2),
}


class StoredType(NamedTuple):
    code: int
    metadata: bytes


@dataclass(frozen=True, slots=True)
class TableMap:
    number: int
    database: str
    name: str
    types: tuple[StoredType, ...]


def table_number(event: bytes) -> int:
    """Of a table map's or a rows event's table."""
    return int.from_bytes(event[_HEADER.size : _HEADER.size + 6], "little")


def table_name(event: bytes) -> tuple[str, str]:
    at = _HEADER.size + 8
    database, at = _short_text(event, at)
    name, _ = _short_text(event, at + 1)
    return database, name


def table_map(event: bytes) -> TableMap:
    at = _HEADER.size + 8
    database, at = _short_text(event, at)
    name, at = _short_text(event, at + 1)
    count, at = _packed(event, at + 1)
    codes, at = event[at : at + count], at + count
    _length, at = _packed(event, at)
    types = []
    for code in codes:
        size = _METADATA_BYTES.get(code, 0)
        types.append(StoredType(code, event[at : at + size]))
        at += size
    return TableMap(table_number(event), database, name, tuple(types))


def _short_text(data: bytes, at: int) -> tuple[str, int]:
    end = at + 1 + data[at]
    return data[at + 1 : end].decode(), end


def _packed(data: bytes, at: int) -> tuple[int, int]:
    """A length-encoded integer."""
    first = data[at]
    if first < 251:
        return first, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


# Rows

Read = Callable[[bytes, int], tuple[Any, int]]  # the value, and where it ends
Row = tuple[Any, ...]


class UnsentType:
    """In place of a column that binlog_row_image left out."""

    def __reduce__(self) -> str:
        return "UNSENT"


UNSENT: Final = UnsentType()


def rows(event: bytes, kind: int, readers: Sequence[Read]) -> list[tuple[Row | None, Row | None]]:
    """Each with what it was before, and after."""
    at = _HEADER.size + 8
    if kind in _SECOND_VERSION:
        (extra,) = struct.unpack_from("<H", event, at)
        at += extra
    count, at = _packed(event, at)
    if count != len(readers):
        raise ConnectError(
            f"A change has {count} columns, where its table has {len(readers)}: the schema history"
            " does not fit the binlog."
        )
    width = (count + 7) // 8
    first, at = _present(event, at, count), at + width
    second = first
    if kind in UPDATES:
        second, at = _present(event, at, count), at + width
    found: list[tuple[Row | None, Row | None]] = []
    end = len(event)
    while at < end:
        row, at = _row(event, at, readers, first)
        if kind in UPDATES:
            after, at = _row(event, at, readers, second)
            found.append((row, after))
        else:
            found.append((row, None) if kind in DELETES else (None, row))
    return found


def _present(event: bytes, at: int, count: int) -> list[bool] | None:
    """None: all are."""
    bits = int.from_bytes(event[at : at + (count + 7) // 8], "little")
    if bits & (1 << count) - 1 == (1 << count) - 1:
        return None
    return [bool(bits >> n & 1) for n in range(count)]


def _row(
    event: bytes, at: int, readers: Sequence[Read], present: list[bool] | None
) -> tuple[Row, int]:
    count = len(readers) if present is None else sum(present)
    nulls = int.from_bytes(event[at : at + (count + 7) // 8], "little")
    at += (count + 7) // 8
    values: list[Any] = []
    for n, read in enumerate(readers):
        if present is not None and not present[n]:
            values.append(UNSENT)
            continue
        if nulls & 1:
            values.append(None)
        else:
            value, at = read(event, at)
            values.append(value)
        nulls >>= 1
    return tuple(values), at


def reader(stored: StoredType) -> Read:
    code, metadata = stored
    if code in _FIXED:
        return _FIXED[code]
    if code in (_VARCHAR, _VAR_STRING):
        return _text(2 if int.from_bytes(metadata, "little") > 255 else 1)
    if code == _STRING:
        return _string(metadata)
    if code in (_GEOMETRY, *_BLOBS):
        return _text(metadata[0])
    if code == _JSON:
        return _document(metadata[0])
    if code == _NEWDECIMAL:
        return _decimal(metadata[0], metadata[1])
    if code == _BIT:
        return _raw(metadata[1] + (metadata[0] > 0))
    if code in _FRACTIONAL:
        return _FRACTIONAL[code](metadata[0])
    raise ConnectError(f"A column is stored as type {code} of the binlog, which is not served.")


def _number(format: str) -> Read:
    packed = struct.Struct(format)
    size, unpack = packed.size, packed.unpack_from

    def read(data: bytes, at: int) -> tuple[Any, int]:
        return unpack(data, at)[0], at + size

    return read


def _int24(data: bytes, at: int) -> tuple[int, int]:
    return int.from_bytes(data[at : at + 3], "little", signed=True), at + 3


def _year(data: bytes, at: int) -> tuple[int, int]:
    return data[at] + 1900, at + 1  # 0000 goes as 1900, as Debezium reads it


def _date(data: bytes, at: int) -> tuple[Moment, int]:
    packed = int.from_bytes(data[at : at + 3], "little")
    return Moment(packed >> 9, packed >> 5 & 15, packed & 31, 0), at + 3


def _old_time(data: bytes, at: int) -> tuple[int, int]:
    packed = int.from_bytes(data[at : at + 3], "little", signed=True)
    whole = abs(packed)
    seconds = (whole // 10000 * 60 + whole // 100 % 100) * 60 + whole % 100
    return (-seconds if packed < 0 else seconds) * 1_000_000, at + 3


def _old_datetime(data: bytes, at: int) -> tuple[Moment, int]:
    (packed,) = struct.unpack_from("<Q", data, at)
    day, clock = divmod(packed, 1_000_000)
    seconds = (clock // 10000 * 60 + clock // 100 % 100) * 60 + clock % 100
    return Moment(day // 10000, day // 100 % 100, day % 100, seconds * 1_000_000), at + 8


def _old_timestamp(data: bytes, at: int) -> tuple[int, int]:
    (seconds,) = struct.unpack_from("<I", data, at)
    return seconds * 1_000_000, at + 4


_FIXED: Final[dict[int, Read]] = {
    _TINY: _number("<b"),
    _SHORT: _number("<h"),
    _LONG: _number("<i"),
    _LONGLONG: _number("<q"),
    _FLOAT: _number("<f"),
    _DOUBLE: _number("<d"),
    _INT24: _int24,
    _YEAR: _year,
    _DATE: _date,
    _TIME: _old_time,
    _DATETIME: _old_datetime,
    _TIMESTAMP: _old_timestamp,
}


def _text(size: int) -> Read:
    """Bytes behind their length."""

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        begin = at + size
        end = begin + int.from_bytes(data[at:begin], "little")
        return data[begin:end], end

    return read


def _document(size: int) -> Read:
    """MySQL's binary JSON, as text; empty stands for null."""
    read_bytes = _text(size)

    def read(data: bytes, at: int) -> tuple[str | None, int]:
        found, end = read_bytes(data, at)
        return document(found) if found else None, end

    return read


def _raw(size: int) -> Read:
    def read(data: bytes, at: int) -> tuple[bytes, int]:
        return data[at : at + size], at + size

    return read


def _index(size: int) -> Read:
    def read(data: bytes, at: int) -> tuple[int, int]:
        return int.from_bytes(data[at : at + size], "little"), at + size

    return read


def _string(metadata: bytes) -> Read:
    """CHAR, and what is told as one: the metadata has the real type, or more bits of the length."""
    first, second = metadata
    if first & 0x30 != 0x30:
        length = second | ((first & 0x30) ^ 0x30) << 4
        return _text(2 if length > 255 else 1)
    if first in (_ENUM, _SET):
        return _index(second)
    return _text(1)


def _fraction(data: bytes, at: int, digits: int) -> tuple[int, int]:
    """Microseconds."""
    size = (digits + 1) // 2
    if not size:
        return 0, at
    value = int.from_bytes(data[at : at + size], "big")
    return value * 100 ** (3 - size), at + size


def _timestamp2(digits: int) -> Read:
    def read(data: bytes, at: int) -> tuple[int, int]:
        seconds = int.from_bytes(data[at : at + 4], "big")
        us, at = _fraction(data, at + 4, digits)
        return seconds * 1_000_000 + us, at

    return read


def _datetime2(digits: int) -> Read:
    def read(data: bytes, at: int) -> tuple[Moment, int]:
        packed = int.from_bytes(data[at : at + 5], "big") - 0x8000000000
        us, at = _fraction(data, at + 5, digits)
        year, month = divmod(packed >> 22, 13)
        seconds = ((packed >> 12 & 31) * 60 + (packed >> 6 & 63)) * 60 + (packed & 63)
        return Moment(year, month, packed >> 17 & 31, seconds * 1_000_000 + us), at

    return read


def _time2(digits: int) -> Read:
    size = (digits + 1) // 2
    unit = 100 ** (3 - size)

    def read(data: bytes, at: int) -> tuple[int, int]:
        # Whole and fraction are one number, so that it sorts; below zero it is a complement.
        packed = int.from_bytes(data[at : at + 3 + size], "big") - (0x800000 << 8 * size)
        negative, packed = packed < 0, abs(packed)
        whole, fraction = packed >> 8 * size, packed & (1 << 8 * size) - 1
        seconds = ((whole >> 12 & 1023) * 60 + (whole >> 6 & 63)) * 60 + (whole & 63)
        us = seconds * 1_000_000 + fraction * unit
        return (-us if negative else us), at + 3 + size

    return read


_FRACTIONAL: Final = {_TIMESTAMP2: _timestamp2, _DATETIME2: _datetime2, _TIME2: _time2}
_DIGITS: Final = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)  # bytes of so many digits


def _decimal(precision: int, scale: int) -> Read:
    """Nine digits in four bytes; the first bit is the sign, and negatives are complements."""
    groups = _groups(precision - scale, scale)
    size = sum(one for one, _ in groups)

    def read(data: bytes, at: int) -> tuple[Decimal, int]:
        raw = bytearray(data[at : at + size])
        negative = not raw[0] & 0x80
        raw[0] ^= 0x80
        number, offset = 0, 0
        for width, digits in groups:
            part = int.from_bytes(raw[offset : offset + width], "big")
            if negative:
                part ^= (1 << 8 * width) - 1
            number = number * 10**digits + part
            offset += width
        return Decimal(-number if negative else number).scaleb(-scale, _WIDE), at + size

    return read


def _groups(whole: int, fraction: int) -> list[tuple[int, int]]:
    """Bytes and digits of each."""
    lead, wholes = whole % 9, whole // 9
    parts, tail = fraction // 9, fraction % 9
    found = [(_DIGITS[lead], lead)] if lead else []
    found += [(4, 9)] * (wholes + parts)
    return [*found, (_DIGITS[tail], tail)] if tail else found

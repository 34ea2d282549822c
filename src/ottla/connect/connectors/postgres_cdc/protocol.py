"""PostgreSQL's logical replication messages (pgoutput, version 1), decoded. Pure.

Values stay the text that the server's output functions wrote; `values` makes more of them.
"""

import struct
from dataclasses import dataclass
from typing import Final

PG_EPOCH_US: Final = 946_684_800_000_000  # 2000-01-01 in microseconds since 1970


class Unchanged:
    """A TOASTed value that an update did not touch: the server does not send it again."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged()
Text = str | None | Unchanged
Tuple = tuple[Text, ...]
Raw = bytes | None | Unchanged  # a text that is not decoded


@dataclass(frozen=True, slots=True)
class Begin:
    final_lsn: int
    commit_us: int  # microseconds since 1970
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    end_lsn: int
    commit_us: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    in_key: bool  # part of the replica identity
    name: str
    type_oid: int
    type_modifier: int


@dataclass(frozen=True, slots=True)
class Relation:
    oid: int
    schema: str
    name: str
    columns: tuple[RelationColumn, ...]


@dataclass(slots=True)  # not frozen: one for each change
class Insert:
    relation: int
    new: Tuple


@dataclass(slots=True)  # not frozen: one for each change
class Update:
    relation: int
    old: Tuple | None  # the key's columns if it changed, all of them with REPLICA IDENTITY FULL
    new: Tuple


@dataclass(slots=True)  # not frozen: one for each change
class Delete:
    relation: int
    old: Tuple


@dataclass(frozen=True, slots=True)
class Truncate:
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    lsn: int
    name: str


@dataclass(frozen=True, slots=True)
class Emitted:
    """What pg_logical_emit_message() wrote."""

    transactional: bool
    prefix: str
    content: bytes


Message = Begin | Commit | Relation | Insert | Update | Delete | Truncate | Origin | Emitted

_BEGIN = struct.Struct(">qqi")
_COMMIT = struct.Struct(">bqqq")
_INT32 = struct.Struct(">i")
_INT16 = struct.Struct(">h")
_OID = struct.Struct(">I")
_COLUMN = struct.Struct(">Ii")
_EMITTED = struct.Struct(">bq")


def decode(data: bytes) -> Message | None:
    """None: a message that carries nothing for records (a type's name)."""
    match data[:1]:
        case b"I":
            return Insert(relation_of(data), _tuple(data, 6)[0])
        case b"U":
            return _update(data)
        case b"D":
            return Delete(relation_of(data), _tuple(data, 6)[0])
        case b"B":
            final, when, xid = _BEGIN.unpack_from(data, 1)
            return Begin(final, when + PG_EPOCH_US, xid & 0xFFFFFFFF)
        case b"C":
            _flags, _lsn, end, when = _COMMIT.unpack_from(data, 1)
            return Commit(end, when + PG_EPOCH_US)
        case b"R":
            return _relation(data)
        case b"T":
            (count,) = _INT32.unpack_from(data, 1)
            return Truncate(struct.unpack_from(f">{count}I", data, 6))
        case b"O":
            return Origin(int.from_bytes(data[1:9], "big"), _string(data, 9)[0])
        case b"M":
            transactional, _lsn = _EMITTED.unpack_from(data, 1)
            prefix, at = _string(data, 10)
            return Emitted(transactional == 1, prefix, data[at + 4 :])
        case b"Y":
            return None
    raise ValueError(f"pgoutput sent a message of the unknown type {data[:1]!r}")


def relation_of(data: bytes) -> int:
    """Of an insert, update or delete, without decoding the rest."""
    oid: int = _OID.unpack_from(data, 1)[0]
    return oid


def _update(data: bytes) -> Update:
    if data[5:6] == b"N":
        return Update(relation_of(data), None, _tuple(data, 6)[0])
    old, at = _tuple(data, 6)
    return Update(relation_of(data), old, _tuple(data, at + 1)[0])


def _relation(data: bytes) -> Relation:
    schema, at = _string(data, 5)
    name, at = _string(data, at)
    (count,) = _INT16.unpack_from(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        flags = data[at]
        column, at = _string(data, at + 1)
        oid, modifier = _COLUMN.unpack_from(data, at)
        at += 8
        columns.append(RelationColumn(bool(flags & 1), column, oid, modifier))
    return Relation(relation_of(data), schema or "pg_catalog", name, tuple(columns))


def _tuple(data: bytes, at: int) -> tuple[Tuple, int]:
    values, end = raw_tuple(data, at)
    return tuple([one.decode() if isinstance(one, bytes) else one for one in values]), end


def raw_tuple(data: bytes, at: int) -> tuple[list[Raw], int]:
    """A row's values, and where they end. A change's first row begins at 6."""
    (count,) = _INT16.unpack_from(data, at)
    at += 2
    length_at = _INT32.unpack_from
    values: list[Raw] = []
    for _ in range(count):
        kind = data[at]
        if kind == 0x74:  # t: text
            begin = at + 5
            at = begin + length_at(data, at + 1)[0]
            values.append(data[begin:at])
            continue
        at += 1
        if kind == 0x6E:  # n: null
            values.append(None)
        elif kind == 0x75:  # u: unchanged
            values.append(UNCHANGED)
        else:
            raise ValueError(f"pgoutput sent a value of the unknown kind {chr(kind)!r}")
    return values, at


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode(), end + 1

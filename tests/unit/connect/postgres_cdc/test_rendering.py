"""Changes that are rendered at once: byte for byte what the converter makes of their records."""

import struct

import pytest

from ottla.connect.connectors.postgres_cdc.changes import Options, Piece, Progressed
from ottla.connect.connectors.postgres_cdc.envelope import Naming
from ottla.connect.connectors.postgres_cdc.source import ChangesSlice
from ottla.connect.connectors.postgres_cdc.tables import Column, PgType, Table
from ottla.connect.data import Record
from ottla.connect.pipeline import Row, SourceChain
from support.cdc import check_rendering

JSON = "org.apache.kafka.connect.json.JsonConverter"
TABLE = Table(
    7,
    "public",
    'per "cent" %',
    (
        Column("id", PgType("int8"), nullable=False),
        Column("100 %b", PgType("text"), nullable=False, default="'-'::text"),
        Column("price", PgType("numeric"), modifier=(10 << 16 | 2) + 4),
        Column("ratio", PgType("float8")),
        Column("at", PgType("timestamptz")),
        Column("paid", PgType("bool"), default="true"),
        Column("tags", PgType("_text", element=PgType("text"))),
        Column("data", PgType("bytea")),
    ),
    ("id",),
)
ROW = (
    "1",
    'a"b\\c\n\x01ä€😀',
    "-0.05",
    "1e+300",
    "2026-01-01 00:00:00.5+00",
    "t",
    "{a,NULL}",
    "\\x00ff",
)


def raw(values: tuple[str | None, ...]) -> bytes:
    parts = [
        b"n" if one is None else b"u" if one == "?" else
        b"t" + struct.pack(">i", len(one.encode())) + one.encode()
        for one in values
    ]  # fmt: skip
    return struct.pack(">h", len(parts)) + b"".join(parts)


def row(**changed: str | None) -> tuple[str | None, ...]:
    names = [one.name for one in TABLE.columns]
    return tuple(changed.get(name, value) for name, value in zip(names, ROW, strict=True))


def slice_of(*changes: bytes, tombstones: bool = True) -> ChangesSlice:
    begin = b"B" + struct.pack(">qqi", 900, 10**14, 77)
    commit = b"C" + struct.pack(">bqqq", 0, 900, 901, 10**14)
    origin = b"O" + struct.pack(">q", 5) + b'far "away"\0'
    piece = Piece(
        naming=Naming(prefix="shop %d", database="db", run="r"),
        options=Options(tombstones=tombstones, skipped=frozenset()),
        begin=Progressed(last_commit=55),
        tables=(TABLE,),
        items=tuple(enumerate((begin, origin, *changes, commit, begin, *changes), 100)),
    )
    return ChangesSlice(piece)


def change(kind: bytes, *rows: tuple[bytes, tuple[str | None, ...]]) -> bytes:
    return kind + struct.pack(">I", 7) + b"".join(mark + raw(values) for mark, values in rows)


@pytest.mark.parametrize(
    "one",
    [
        change(b"I", (b"N", row())),
        change(b"I", (b"N", row(price=None, ratio=None, paid=None, tags=None, data=None))),
        change(b"I", (b"N", row(price="12345678.90", ratio="0.1", at="infinity"))),
        change(b"U", (b"N", row(data="?", tags="?"))),
        change(b"U", (b"O", row(ratio="7")), (b"N", row(data="?", price="0.00"))),
        change(b"U", (b"K", row(id="2")), (b"N", row())),
        change(b"D", (b"K", ("1", *(None,) * 7))),
        change(b"D", (b"O", row())),
        change(b"U", (b"N", row(price="?"))),
    ],
)
def test_a_change_is_the_same_both_ways(one: bytes) -> None:
    check_rendering(slice_of(one))
    check_rendering(slice_of(one, tombstones=False))


def test_what_cannot_be_rendered_fails_as_a_record_does() -> None:
    chain = SourceChain({"key.converter": JSON, "value.converter": JSON}, {})
    read = slice_of(change(b"I", (b"N", row(price="12.3")))).read_json(chain)
    assert read is not None
    assert [type(one) for one in read][:1] == [Row]
    with pytest.raises(Exception, match="NaN"):
        list(slice_of(change(b"I", (b"N", row(price="NaN")))).read_json(chain) or ())


def test_whatever_else_looks_at_records_is_given_records() -> None:
    keys = {"key.converter": JSON, "value.converter": JSON}
    transformed = keys | {
        "transforms": "x",
        "transforms.x.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.x.static.field": "a",
        "transforms.x.static.value": "b",
    }
    one = slice_of(change(b"I", (b"N", row())))
    assert one.read_json(SourceChain(transformed, {})) is None
    strings = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    assert one.read_json(SourceChain(keys | strings, {})) is None
    assert any(isinstance(record, Record) for record in one.read())

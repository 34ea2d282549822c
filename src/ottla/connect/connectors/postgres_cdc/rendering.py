"""A table's records as JSON at once, without a value between the server's text and the bytes. Pure.

The bytes are those that JsonConverter makes of `envelope`'s records: whatever has no shorter way
here goes by the same mapping and the same converter, column by column. What cannot be rendered at
all raises, and is then made a record of, so that it fails as records fail.
"""

import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ottla.connect.connectors.debezium.schemas import STRING, TRANSACTION
from ottla.connect.connectors.postgres_cdc.envelope import (
    SOURCE,
    VERSION,
    Source,
    TableRecords,
    Value,
)
from ottla.connect.connectors.postgres_cdc.protocol import Origin, Raw
from ottla.connect.connectors.postgres_cdc.types import java_integer
from ottla.connect.converters.json import JsonConverter
from ottla.connect.data import DECIMAL, DataError, Type
from ottla.connect.pipeline import Headers, Row, SourceChain

_Render = Callable[[bytes], bytes]
# Where it is, and what stands for a null and for what was not sent; None: nothing can.
_Column = tuple[int, _Render, bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class JsonChain:
    """What makes bytes of records, where nothing but JsonConverter does."""

    key: JsonConverter
    value: JsonConverter
    chain: SourceChain

    @classmethod
    def of(cls, chain: SourceChain) -> "JsonChain | None":
        key, value = chain.key, chain.value
        if chain.stages or type(key) is not JsonConverter or type(value) is not JsonConverter:
            return None
        return cls(key, value, chain)


@dataclass(slots=True)
class RenderedTable:
    records: TableRecords
    json: JsonChain
    headers: Headers = field(init=False)
    _row: "_Struct" = field(init=False)
    _key: "_Struct | None" = field(init=False)
    _head: bytes = field(init=False)
    _end: bytes = field(init=False)
    _ops: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        records, json = self.records, self.json
        self.headers = json.chain.headers(records.topic, records.headers)
        self._row = _Struct.of(records.captured, json.value)
        self._key = None
        if records.key_schema is not None:
            self._key = _Struct.of(records.keyed, json.key, json.key.around(records.key_schema))
        head, self._end = json.value.around(records.value_schema)
        self._head = head + b'{"before":'
        none = json.value.payload(TRANSACTION)(None)
        text = json.value.payload(STRING)
        self._ops = {
            op: b',"transaction":' + none + b',"op":' + text(op) + b',"ts_ms":' for op in "crud"
        }

    def row(self, values: Sequence[Raw], old: Sequence[Raw] | None = None) -> bytes:
        return self._row.text(values, old)

    def key(self, values: Sequence[Raw]) -> bytes | None:
        return None if self._key is None else self._key.text(values)

    def change(
        self, op: str, key: bytes | None, before: bytes, after: bytes, source: bytes, now_ns: int
    ) -> Row:
        times = b'%d,"ts_us":%d,"ts_ns":%d}' % (now_ns // 1_000_000, now_ns // 1000, now_ns)
        value = b"".join(
            (
                *(self._head, before, b',"after":', after),
                *(b',"source":', source, self._ops[op], times, self._end),
            )
        )
        return Row(self.records.topic, key, value, self.headers, None, None)

    def tombstone(self, key: bytes | None) -> Row:
        return Row(self.records.topic, key, None, self.headers, None, None)


def rendered_source(source: Source, table: RenderedTable) -> bytes:
    of, naming = table.records.table, table.records.naming
    return table.json.value.payload(SOURCE)(source.struct(naming, of.schema, of.name))


class StreamSource:
    """The source of a table's changes in the stream, without a struct for each."""

    def __init__(self, table: RenderedTable) -> None:
        self._text = text = table.json.value.payload(STRING)
        of, naming = table.records.table, table.records.naming
        said = (VERSION, "postgresql", naming.prefix, naming.database, of.schema, of.name)
        names = tuple(text(one).replace(b"%", b"%%") for one in said)
        self._template = _SOURCE % names

    def text(
        self,
        us: int | None,
        xid: int | None,
        lsn: int,
        last_commit: int | None,
        origin: Origin | None,
    ) -> bytes:
        us = us or 0
        return self._template % (
            us // 1000,
            b"null" if last_commit is None else b'\\"%d\\"' % last_commit,
            lsn,
            us,
            us * 1000,
            b"null" if xid is None else b"%d" % xid,
            lsn,
            b"null" if origin is None else self._text(origin.name),
            b"null" if origin is None else b"%d" % origin.lsn,
        )


# First the names, then what differs between changes.
_SOURCE: Final = (
    b'{"version":%b,"connector":%b,"name":%b,"ts_ms":%%d,"snapshot":"false","db":%b,'
    b'"sequence":"[%%b,\\"%%d\\"]","ts_us":%%d,"ts_ns":%%d,"schema":%b,"table":%b,"txId":%%b,'
    b'"lsn":%%d,"xmin":null,"origin":%%b,"origin_lsn":%%b}'
)


@dataclass(slots=True)
class _Struct:
    """A JSON object of some of a row's columns."""

    columns: tuple[_Column, ...]
    template: bytes

    @classmethod
    def of(
        cls,
        values: Sequence[Value],
        json: JsonConverter,
        around: tuple[bytes, bytes] = (b"", b""),
    ) -> "_Struct":
        text = json.payload(STRING)
        names = b",".join(text(one.name).replace(b"%", b"%%") + b":%b" for one in values)
        before, behind = (one.replace(b"%", b"%%") for one in around)
        columns = tuple(_column(one, json) for one in values)
        return cls(columns, before + b"{" + names + b"}" + behind)

    def text(self, values: Sequence[Raw], old: Sequence[Raw] | None = None) -> bytes:
        parts = []
        for at, render, null, unchanged in self.columns:
            raw = values[at]
            if raw.__class__ is bytes:
                parts.append(render(raw))
            elif raw is None:
                parts.append(null)
            else:
                kept = old[at] if old is not None else None
                shown = render(kept) if isinstance(kept, bytes) else unchanged
                if shown is None:
                    raise DataError("nothing stands for a value that was not sent")
                parts.append(shown)
        return self.template % tuple(parts)


def _column(value: Value, json: JsonConverter) -> _Column:
    payload = json.payload(value.schema)
    return value.at, _render(value, json), payload(value.null), _unchanged(value, payload)


def _unchanged(value: Value, payload: Callable[[object], bytes]) -> bytes | None:
    try:
        return payload(value.mapping.unchanged)
    except DataError:
        return None


def _render(value: Value, json: JsonConverter) -> _Render:
    schema, convert, kind = value.schema, value.mapping.convert, value.column.type
    payload = json.payload(schema)
    if kind.element is None:
        if convert is int:  # the server writes them as JSON does
            return _as_it_is
        if kind.name == "bool":
            return _boolean
        if kind.name == "numeric" and schema.name == DECIMAL and not json.numeric_decimals:
            scale = value.column.scale or 0
            return _decimal(scale, lambda raw: payload(convert(raw.decode())))
    if schema.type is Type.STRING:
        text = json.payload(STRING)
        if convert is str:
            return lambda raw: text(raw.decode())
        return lambda raw: text(convert(raw.decode()))
    return lambda raw: payload(convert(raw.decode()))


def _as_it_is(raw: bytes) -> bytes:
    return raw


def _boolean(raw: bytes) -> bytes:
    return b"true" if raw == b"t" else b"false"


def _decimal(scale: int, otherwise: _Render) -> _Render:
    def render(raw: bytes) -> bytes:
        whole, _, fraction = raw.partition(b".")
        if len(fraction) != scale or not whole.removeprefix(b"-").isdigit():
            return otherwise(raw)  # NaN, and what no column of this scale holds
        unscaled = java_integer(int(whole + fraction))
        return b'"%b"' % binascii.b2a_base64(unscaled, newline=False)

    return render

"""Records as whole columns, one for each field, where nothing looks at a single record.

With JsonConverter, its envelope and no transforms, records that follow each other mostly have the
same schema and a struct of plain fields for a value. Arrow reads those at once. It refuses whatever
it would read otherwise than the converter does, or what is refused here: such records are read one
by one. A sink's task that has `put_fields` (optional) is given both ways to look at them.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ottla.connect.connector import Report, TopicPartition
from ottla.connect.converters.converter import Converter
from ottla.connect.converters.json import JsonConverter
from ottla.connect.converters.plain import StringConverter
from ottla.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, DataError, Record, Schema, Type
from ottla.connect.pipeline import SinkChain

if TYPE_CHECKING:
    import pyarrow

_AS_TEXT, _AS_INT32, _AS_INT64 = "string", "int32", "int64"
_LOGICAL = {DECIMAL: _AS_TEXT, DATE: _AS_INT32, TIME: _AS_INT32, TIMESTAMP: _AS_INT64}
_PLAIN = {
    Type.BOOLEAN: "bool",
    Type.INT8: "int8",
    Type.INT16: "int16",
    Type.INT32: _AS_INT32,
    Type.INT64: _AS_INT64,
    Type.FLOAT32: "double",
    Type.FLOAT64: "double",
    Type.STRING: _AS_TEXT,
    Type.BYTES: _AS_TEXT,
}
_READ_EACH = (Type.FLOAT32, Type.BYTES)


@dataclass(frozen=True, slots=True)
class FieldColumn:
    schema: Schema
    nodes: "pyarrow.Array"  # as JSON has them
    read: Callable[[Any], Any] | None = None  # from a node to its value; None: it is the value

    def values(self) -> list[Any]:
        """DataError for a node that is none of the schema's."""
        nodes: list[Any] = self.nodes.to_pylist()
        if self.read is None:
            return nodes
        read = self.read
        return [None if one is None else read(one) for one in nodes]

    @property
    def tells_equals(self) -> bool:
        """Whether values are equal just where their nodes are."""
        import pyarrow

        return self.read is None and not pyarrow.types.is_floating(self.nodes.type)

    def behind(self, begin: int) -> "FieldColumn":
        return self if not begin else replace(self, nodes=self.nodes.slice(begin))

    def slice(self, begin: int, count: int) -> "FieldColumn":
        return replace(self, nodes=self.nodes.slice(begin, count))

    def take(self, places: "pyarrow.Array") -> "FieldColumn":
        return replace(self, nodes=self.nodes.take(places))


Fields = Mapping[str, FieldColumn]


@dataclass(frozen=True, slots=True)
class AlikeRecords:
    first: Record  # topic, partition and schemas of all are its own
    offsets: "pyarrow.Array"
    key: Fields | None  # None: it is no struct
    value: Fields


class GivenFields(Protocol):
    """Records that follow each other."""

    @property
    def end(self) -> int:
        """The offset behind the last that was read for them."""

    def alike(self) -> AlikeRecords | None:
        """None: they have to be looked at one by one."""

    def records(self) -> list[Record]:
        """Those that can be read."""


@runtime_checkable
class FieldTask(Protocol):
    @property
    def at_once(self) -> int:
        """How many records."""

    def put_fields(
        self, partition: TopicPartition, given: Iterator[GivenFields], report: Report, end: int
    ) -> int | None:
        """As `put`; `end` is behind all that is given."""


def may_have_fields(chain: SinkChain) -> bool:
    """Whether records can be columns."""
    keys = type(chain.key) in (JsonConverter, StringConverter)
    return not chain.stages and keys and type(chain.value) is JsonConverter


def read_alike(
    offsets: "pyarrow.Array",
    keys: "pyarrow.Array",
    values: "pyarrow.Array",
    chain: SinkChain,
    first: Record,
) -> AlikeRecords | None:
    """`first` is the first of them, as the chain has read it."""
    value = read_fields(values, chain.value)
    if value is None:
        return None
    key = None
    if isinstance(chain.key, JsonConverter) and keys.null_count < len(keys):
        key = read_fields(keys, chain.key)
        if key is None:
            return None  # there may be one that cannot be read
    return AlikeRecords(first, offsets, key, value)


def read_fields(texts: "pyarrow.Array", converter: Converter) -> Fields | None:
    """The fields of these structs; None: they are not alike, or not plain."""
    import pyarrow.json

    if not isinstance(converter, JsonConverter) or not len(texts) or texts.null_count:
        return None
    try:
        known = converter.beginning(texts[0].as_py())
    except DataError:
        return None
    if known is None:
        return None
    beginning, schema = known
    types = _types(schema)
    lines = _payloads(texts, beginning)
    if types is None or lines is None:
        return None
    try:
        table = pyarrow.json.read_json(
            pyarrow.BufferReader(lines),
            pyarrow.json.ReadOptions(use_threads=False, block_size=len(lines) + 1),
            pyarrow.json.ParseOptions(types, unexpected_field_behavior="error"),
        ).combine_chunks()
    except pyarrow.ArrowInvalid:
        return None
    if table.num_rows != len(texts):
        return None
    found = {}
    for one in schema.fields:
        chunks = table.column(one.name).chunks
        if len(chunks) != 1 or not _fits(chunks[0], one.schema):
            return None
        logical = one.schema.name in _LOGICAL or one.schema.type in _READ_EACH
        found[one.name] = FieldColumn(
            one.schema,
            _with_plain_zeros(chunks[0]),
            converter.reader(one.schema) if logical else None,
        )
    return found


def _with_plain_zeros(nodes: "pyarrow.Array") -> "pyarrow.Array":
    """The zeros of an envelope have no sign: Java reads them as exact numbers first."""
    import pyarrow.compute

    return pyarrow.compute.add(nodes, 0.0) if pyarrow.types.is_floating(nodes.type) else nodes


def _types(schema: Schema) -> "pyarrow.Schema | None":
    import pyarrow

    names = [one.name for one in schema.fields]
    if schema.type is not Type.STRUCT or not names or len({*names}) < len(names):
        return None
    types = [
        _LOGICAL.get(one.schema.name or "", _PLAIN.get(one.schema.type)) for one in schema.fields
    ]
    if None in types:
        return None
    return pyarrow.schema(
        [(name, pyarrow.type_for_alias(type)) for name, type in zip(names, types, strict=True)]
    )


def _payloads(texts: "pyarrow.Array", beginning: bytes) -> bytes | None:
    """Each in a line of its own: JSON has no line feed within a text, and compact JSON none at all.

    So nothing but an object's end and another's beginning can be at a line's end and the next's
    beginning, and as many rows as lines are one of each.
    """
    import pyarrow.compute

    compute = pyarrow.compute
    if not compute.all(compute.starts_with(texts, pattern=beginning)).as_py():
        return None
    if not compute.all(compute.ends_with(texts, pattern=b"}")).as_py():
        return None
    begin = len(beginning)
    lines = b"\n".join([one[begin:-1] for one in texts.to_pylist()])
    between = len(texts) - 1
    if not (lines.startswith(b"{") and lines.endswith(b"}") and lines.count(b"\n") == between):
        return None
    if lines.count(b"}\n{") != between:
        return None
    try:
        lines.decode()
    except UnicodeDecodeError:
        return None
    return lines


def _fits(nodes: "pyarrow.Array", schema: Schema) -> bool:
    import pyarrow.compute

    if nodes.null_count and (not schema.optional or schema.default is not None):
        return False
    if not pyarrow.types.is_floating(nodes.type):
        return True
    # Arrow reads NaN and Infinity, which are no JSON.
    return pyarrow.compute.all(pyarrow.compute.is_finite(nodes)).as_py() is not False

"""RowConverter: records as an application's topics have them, for connectors within applications.

Values are JSON objects as the pipelines' `json` format reads and writes them: dates and timestamps
as text, decimals as numbers, bytes in base 64. A text alone is itself; so are keys. Pure, and no
converter of Connect's: workers do not serve it.
"""

import base64
import binascii
import datetime
import decimal
import json
from collections.abc import Mapping
from typing import Any

import msgspec

from ottla.connect.converters.converter import TYPE, DataConverter, SchemaAndValue
from ottla.connect.converters.json_nodes import NotJson, read_tree
from ottla.connect.converters.json_reading import Reading
from ottla.connect.converters.json_schemas import SchemaReader
from ottla.connect.data import (
    DATE,
    DECIMAL,
    INTEGER_BITS,
    TIME,
    TIMESTAMP,
    DataError,
    Schema,
    Struct,
    Type,
)
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.logical import scale_of

_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


class RowConverter(DataConverter):
    DEFINITIONS = TYPE | Definitions(
        (
            Key(
                name="row.schema",
                kind=Kind.STRING,
                default=None,
                doc="What is read, as JsonConverter writes schemas; unset: text.",
            ),
        )
    )

    def __init__(self, settings: Mapping[str, str]) -> None:
        said = self.DEFINITIONS.parse(settings)["row.schema"]
        self._schema = (
            None if said is None else SchemaReader(Reading(True)).schema(json.loads(said))
        )
        self._encode = msgspec.json.Encoder(decimal_format="number").encode

    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None:
        match value:
            case None:
                return None
            case str():
                return value.encode("utf-8", "replace")
            case bytes():
                return value
        return self._encode(_node(value))

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue:
        schema = self._schema
        if schema is None:
            return _TEXT, None if data is None else data.decode("utf-8", "replace")
        if data is None:
            return None, None
        try:
            tree = read_tree(data, exact=True)
        except NotJson as error:
            raise DataError(f"A row of {topic} is no JSON: {error}") from None
        return schema, _value(schema, tree)


_TEXT = Schema(type=Type.STRING, optional=True)


def _node(value: Any) -> Any:
    """As JSON has it, whatever schema it came with."""
    match value:
        case Struct():
            return {one.name: _node(value.get(one.name)) for one in value.schema.fields}
        case dict():
            return {str(_node(key)): _node(one) for key, one in value.items()}
        case list():
            return [_node(one) for one in value]
        case bytes():
            return base64.b64encode(value).decode()
        case datetime.datetime():
            return value.astimezone(datetime.UTC).isoformat(timespec="microseconds")
        case datetime.date() | datetime.time():
            return value.isoformat()
        case decimal.Decimal():
            return msgspec.Raw(format(value, "f").encode())
    return value


def _value(schema: Schema, node: Any) -> Any:
    if node is None:
        return None
    try:
        return _read(schema, node)
    except (TypeError, ValueError, AttributeError, binascii.Error, decimal.InvalidOperation):
        raise DataError(f"{node!r} is no {schema.name or schema.type.name}") from None


def _read(schema: Schema, node: Any) -> Any:
    match schema.name:
        case name if name == DECIMAL:
            return _EXACT.quantize(
                decimal.Decimal(node), decimal.Decimal(1).scaleb(-scale_of(schema))
            )
        case name if name == DATE:
            return datetime.date.fromisoformat(node)
        case name if name == TIME:
            return datetime.time.fromisoformat(node)
        case name if name == TIMESTAMP:
            moment = datetime.datetime.fromisoformat(node)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
            at = moment.astimezone(datetime.UTC)
            return at.replace(microsecond=at.microsecond // 1000 * 1000)
    match schema.type:
        case Type.STRUCT:
            return Struct(
                schema, {one.name: _value(one.schema, node.get(one.name)) for one in schema.fields}
            )
        case Type.ARRAY:
            assert schema.value_schema is not None
            return [_value(schema.value_schema, one) for one in node]
        case Type.MAP:
            assert schema.value_schema is not None
            return {key: _value(schema.value_schema, one) for key, one in node.items()}
        case Type.BYTES:
            return base64.b64decode(node)
        case Type.FLOAT32 | Type.FLOAT64:
            return float(node)
        case kind if kind in INTEGER_BITS:
            return int(node)
    return node

"""InsertField: what Kafka knows of a record, or a fixed text, as fields of it."""

from collections.abc import Iterator
from typing import Any

from ottla.connect.data import (
    TIMESTAMP_SCHEMA,
    DataError,
    Int32,
    Record,
    Schema,
    Struct,
    Type,
    optional,
)
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.logical import timestamp_of
from ottla.connect.transforms.schemas import (
    REPLACE_NULL,
    SchemaCache,
    basics,
    fields_of,
    struct_schema,
    value_of,
)
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct

_PURPOSE = "field insertion"
_OPTIONAL = "A ! at its end makes it required, a ? optional as it is without."
_TEXT = Schema(type=Type.STRING)
# key: what it tells of, and its schema
_SOURCES = {
    "topic.field": ("Kafka's topic", _TEXT),
    "partition.field": ("Kafka's partition", Schema(type=Type.INT32)),
    "offset.field": ("Kafka's offset (of sinks only)", Schema(type=Type.INT64)),
    "timestamp.field": ("the record's timestamp", TIMESTAMP_SCHEMA),
    "static.field": ("the fixed text", _TEXT),
}
DEFINITIONS = Definitions(
    (
        *(
            Key(
                name=name,
                kind=Kind.STRING,
                default=None,
                doc=f"The name of a field for {what}. {_OPTIONAL}",
            )
            for name, (what, _) in _SOURCES.items()
        ),
        Key(name="static.value", kind=Kind.STRING, default=None, doc="The fixed text."),
        REPLACE_NULL,
    )
)


class InsertField:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._static: str | None = settings["static.value"]
        self._replace_null: bool = settings[REPLACE_NULL.name]
        self._names: dict[str, str] = {}
        self._added: list[tuple[str, Schema]] = []
        for key, (_, schema) in _SOURCES.items():
            said = settings[key]
            if said is not None:
                name = said[:-1] if said.endswith(("?", "!")) else said
                self._names[key] = name
                self._added.append((name, schema if said.endswith("!") else optional(schema)))
        if not self._names:
            raise InvalidConfig({"topic.field": ["No field insertion configured"]})
        if "static.field" in self._names and self._static is None:
            raise InvalidConfig(
                {
                    "static.value": [
                        "Invalid value null for configuration static.value: "
                        f"No value specified for static field: {self._names['static.field']}"
                    ]
                }
            )
        self._schemas = SchemaCache(self._schema)

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if value is None:
            return record
        if schema is None:
            held = {**need_map(value, _PURPOSE), **dict(self._known(record, typed=False))}
            return self._operand.replaced(record, None, held)
        struct = need_struct(value, _PURPOSE)
        made = Struct(self._schemas.get(struct.schema))
        for one in struct.schema.fields:
            made.put(one.name, value_of(struct, one.name, self._replace_null))
        for name, known in self._known(record, typed=True):
            made.put(name, known)
        return self._operand.replaced(record, made.schema, made)

    def _known(self, record: Record, *, typed: bool) -> Iterator[tuple[str, Any]]:
        for key, name in self._names.items():
            match key:
                case "topic.field":
                    yield name, record.topic
                case "partition.field" if record.partition is not None:
                    yield name, record.partition if typed else Int32(record.partition)
                case "offset.field":
                    if record.offset is None:
                        raise DataError(
                            f"Only SinkRecord supported for [{_PURPOSE}], found: "
                            "org.apache.kafka.connect.source.SourceRecord"
                        )
                    yield name, record.offset
                case "timestamp.field" if record.timestamp is not None:
                    yield name, timestamp_of(record.timestamp) if typed else record.timestamp
                case "static.field":
                    yield name, self._static

    def _schema(self, schema: Schema) -> Schema:
        own = [(one.name, one.schema) for one in fields_of(schema)]
        return struct_schema([*own, *self._added], **basics(schema))

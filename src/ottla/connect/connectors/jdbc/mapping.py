"""Which row of which table a record is: keys, fields, and Debezium's envelope. Pure."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.jdbc.dialects.dialect import Wanted
from ottla.connect.data import Record, Schema, Struct, Type
from ottla.connect.definitions import InvalidConfig
from ottla.connect.runs.fields import AlikeRecords, FieldColumn

KAFKA_FIELDS: Final = ("__connect_topic", "__connect_partition", "__connect_offset")
_KAFKA_SCHEMAS = (
    Schema(type=Type.STRING),
    Schema(type=Type.INT32),
    Schema(type=Type.INT64),
)
_NO_NAME = re.compile(r"[^a-zA-Z0-9_.]")
_SOURCE_FIELD = re.compile(r"\$\{source\.([a-z_]+)\}")
SHAPES_MAX = 1000


class Change(Enum):
    WRITE = auto()
    DELETE = auto()
    TRUNCATE = auto()
    NOTHING = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingSettings:
    pk_mode: str
    pk_fields: tuple[str, ...]
    whitelist: frozenset[str]
    include: frozenset[str]
    exclude: frozenset[str]
    deletes: bool
    truncates: bool
    name_format: str
    normalize: bool
    tables: Mapping[str, str] = field(default_factory=dict)
    debezium: bool = False  # dots of a topic become underscores; a null value may mean nothing


def mapping_settings(values: Mapping[str, Any], debezium: bool) -> MappingSettings:
    """InvalidConfig where the keys contradict each other."""
    mode, fields = values["pk.mode"], tuple(values["pk.fields"])
    errors: dict[str, list[str]] = {}
    if values["delete.enabled"] and mode != "record_key":
        errors["delete.enabled"] = ["delete.enabled needs pk.mode=record_key: a key to delete by"]
    if values["insert.mode"] in ("upsert", "update") and mode == "none":
        errors["pk.mode"] = [f"insert.mode={values['insert.mode']} needs a key: set pk.mode"]
    if mode == "kafka" and len(fields) not in (0, 3):
        errors["pk.fields"] = ["pk.mode=kafka has three fields: topic, partition and offset"]
    mapped = [one.rpartition(":") for one in values["topics.to.tables.mapping"]]
    if not all(topic and table for topic, _, table in mapped):
        errors["topics.to.tables.mapping"] = ["topics.to.tables.mapping has items topic:table"]
    if errors:
        raise InvalidConfig(errors)
    return MappingSettings(
        pk_mode=mode,
        pk_fields=fields,
        whitelist=frozenset(values["fields.whitelist"]),
        include=frozenset(values["field.include.list"]),
        exclude=frozenset(values["field.exclude.list"]),
        deletes=values["delete.enabled"],
        truncates=values["truncate.enabled"],
        name_format=values["table.name.format"],
        normalize=values["table.name.normalize"],
        tables={topic: table for topic, _, table in mapped},
        debezium=debezium,
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of records with the same schemas, those of the key first. Schemas that only equal
    each other share `wanted`."""

    key_schema: Schema | None
    value_schema: Schema | None
    wanted: tuple[Wanted, ...]
    keys: int
    fields: tuple[tuple[str, Any], ...] = field(init=False)  # names and defaults of those wanted

    def __post_init__(self) -> None:
        fields = tuple((one.name, one.schema.default) for one in self.wanted)
        object.__setattr__(self, "fields", fields)


@dataclass(slots=True)  # not frozen: one for each record
class Row:
    change: Change
    table: str
    shape: Shape | None
    values: tuple[Any, ...]  # as the shape's columns; of a delete, the key's alone
    record: Record


class Mapper:
    def __init__(self, settings: MappingSettings) -> None:
        self._settings = settings
        self._shapes: dict[tuple[str, int, int], Shape] = {}
        self._known: dict[str, list[Shape]] = {}
        self._tables: dict[str, str] = {}  # by topic, where nothing else names them

    def row(self, record: Record) -> Row:
        """ConnectError: the record is none."""
        settings = self._settings
        change, value_schema, value = _unwrapped(record)
        table = self._table(record)
        if change is Change.TRUNCATE or change is Change.NOTHING:
            wanted = change is Change.TRUNCATE and settings.truncates
            return Row(change if wanted else Change.NOTHING, table, None, (), record)
        if value is None:
            if not settings.deletes:
                if settings.debezium or change is Change.DELETE:
                    return Row(Change.NOTHING, table, None, (), record)
                raise ConnectError(f"{_place(record)} has a null value, and delete.enabled is off")
            change = Change.DELETE
            value_schema = None
        elif value_schema is None or not isinstance(value, Struct):
            raise ConnectError(f"{_place(record)} has no value with a schema of named fields")
        shape = self._shape(record, value_schema)
        return Row(change, table, shape, self._values(record, shape, value), record)

    def _values(self, record: Record, shape: Shape, value: Struct | None) -> tuple[Any, ...]:
        keys: tuple[Any, ...] = ()
        match self._settings.pk_mode:
            case "kafka":
                keys = (record.topic, record.partition, record.offset)
            case "record_key":
                keys = _of_key(record, shape)
        if value is None:
            return keys
        get = value.values.get
        row = (
            *keys,
            *[
                default if (held := get(name)) is None else held
                for name, default in shape.fields[len(keys) :]
            ],
        )
        if shape.keys and None in row[: shape.keys]:
            raise ConnectError(f"{_place(record)} has a null in its key")
        return row

    def columns(self, alike: AlikeRecords) -> tuple[Row, list[FieldColumn]] | None:
        """The first's row, and its shape's columns of all of them. None: each has to be mapped."""
        schema = alike.first.value_schema
        enveloped = schema is not None and (schema.name or "").endswith("Envelope")
        if enveloped or "${source." in self._settings.name_format:
            return None
        try:
            row = self.row(alike.first)
        except ConnectError:
            return None
        if row.shape is None or row.change is not Change.WRITE:
            return None
        shape = row.shape
        match self._settings.pk_mode:
            case "kafka":
                keys = _of_kafka(alike)
            case "record_key":
                if alike.key is None:
                    return None
                keys = [alike.key[name] for name, _ in shape.fields[: shape.keys]]
            case _:
                keys = []
        fields = [*keys, *(alike.value[name] for name, _ in shape.fields[len(keys) :])]
        known = all(one.tells_equals and not one.nodes.null_count for one in fields[: shape.keys])
        return (row, fields) if known else None

    # Shapes

    def _shape(self, record: Record, value_schema: Schema | None) -> Shape:
        at = (record.topic, id(record.key_schema), id(value_schema))
        found = self._shapes.get(at)
        if found is None:
            found = self._known_shape(record, value_schema)
            if len(self._shapes) > SHAPES_MAX:
                self._shapes.clear()
            self._shapes[at] = found  # which keeps its schemas, so that their ids stay theirs
        return found

    def _known_shape(self, record: Record, value_schema: Schema | None) -> Shape:
        known = self._known.setdefault(record.topic, [])
        for one in known:
            if one.key_schema == record.key_schema and one.value_schema == value_schema:
                return Shape(record.key_schema, value_schema, one.wanted, one.keys)
        made = self._made(record, value_schema)
        known.append(made)
        return made

    def _made(self, record: Record, value_schema: Schema | None) -> Shape:
        keys = self._keys(record, value_schema)
        named = {one.name for one in keys}
        fields = () if value_schema is None else value_schema.fields
        rest = [
            Wanted(one.name, one.schema, False)
            for one in fields
            if one.name not in named and self._takes(record.topic, one.name)
        ]
        if not keys and not rest:
            raise ConnectError(f"{_place(record)} has no field that is to be written")
        return Shape(record.key_schema, value_schema, (*keys, *rest), len(keys))

    def _takes(self, topic: str, name: str) -> bool:
        settings, names = self._settings, {name, f"{topic}:{name}"}
        if settings.whitelist and name not in settings.whitelist:
            return False
        if settings.include and not names & settings.include:
            return False
        return not names & settings.exclude

    def _keys(self, record: Record, value_schema: Schema | None) -> list[Wanted]:
        names = self._settings.pk_fields
        match self._settings.pk_mode:
            case "kafka":
                pairs = zip(names or KAFKA_FIELDS, _KAFKA_SCHEMAS, strict=True)
                return [Wanted(name, schema, True) for name, schema in pairs]
            case "record_key":
                return self._of_record_key(record)
            case "record_value" if value_schema is not None:
                return _fields(record, value_schema, names, "value")
        return []

    def _of_record_key(self, record: Record) -> list[Wanted]:
        schema, names = record.key_schema, self._settings.pk_fields
        if schema is None or record.key is None:
            raise ConnectError(f"{_place(record)} has no key with a schema; pk.mode=record_key")
        if schema.type is Type.STRUCT:
            return _fields(record, schema, names, "key")
        if len(names) != 1:
            raise ConnectError(
                f"{_place(record)} has a key without fields: pk.fields must name its one column"
            )
        return [Wanted(names[0], schema, True)]

    # Tables

    def _table(self, record: Record) -> str:
        found = self._tables.get(record.topic)
        if found is None:
            found = self._named(record)
            if "${source." not in self._settings.name_format:
                self._tables[record.topic] = found
        return found

    def _named(self, record: Record) -> str:
        settings, topic = self._settings, record.topic
        if topic in settings.tables:
            return settings.tables[topic]
        if settings.debezium:
            topic = topic.replace(".", "_")
        if settings.normalize:
            topic = _NO_NAME.sub("_", topic)
        name = settings.name_format.replace("${topic}", topic)
        if "${source." in name:
            name = _SOURCE_FIELD.sub(lambda found: _source(record, found.group(1)), name)
        return name


def _unwrapped(record: Record) -> tuple[Change, Schema | None, Any]:
    """What a record's value says, or what is in Debezium's envelope of it."""
    schema, value = record.value_schema, record.value
    if schema is None or schema.name is None or not schema.name.endswith("Envelope"):
        return Change.WRITE, schema, value
    if value is None or "op" not in value.values:
        return Change.WRITE, schema, value
    match value.values["op"]:
        case "d":
            return Change.DELETE, None, None
        case "t":
            return Change.TRUNCATE, None, None
        case "m":
            return Change.NOTHING, None, None
    after = value.values.get("after")
    return Change.WRITE, None if after is None else after.schema, after


def _fields(record: Record, schema: Schema, names: Iterable[str], what: str) -> list[Wanted]:
    by_name = {one.name: one.schema for one in schema.fields}
    wanted = list(names) or list(by_name)
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise ConnectError(
            f"{_place(record)}: pk.fields names {', '.join(missing)}, which its {what} has not"
        )
    return [Wanted(name, by_name[name], True) for name in wanted]


def _of_key(record: Record, shape: Shape) -> tuple[Any, ...]:
    if isinstance(record.key, Struct):
        given = record.key.values
        found = tuple([given.get(name) for name, _ in shape.fields[: shape.keys]])
    else:
        found = (record.key,)
    if None in found:
        raise ConnectError(f"{_place(record)} has a null in its key")
    return found


def _of_kafka(alike: AlikeRecords) -> list[FieldColumn]:
    import pyarrow

    count = len(alike.offsets)
    columns = (
        pyarrow.repeat(pyarrow.scalar(alike.first.topic, pyarrow.string()), count),
        pyarrow.repeat(pyarrow.scalar(alike.first.partition, pyarrow.int32()), count),
        alike.offsets,
    )
    pairs = zip(_KAFKA_SCHEMAS, columns, strict=True)
    return [FieldColumn(schema, column) for schema, column in pairs]


def _source(record: Record, name: str) -> str:
    source = record.value.values.get("source") if isinstance(record.value, Struct) else None
    if source is None or source.values.get(name) is None:
        raise ConnectError(f"{_place(record)} has no field source.{name} to name its table")
    return str(source.values[name])


def _place(record: Record) -> str:
    return f"The record at offset {record.offset} of {record.topic}-{record.partition}"

"""TimestampConverter: a moment as text, as a number since 1970, or as one of Connect's types."""

import datetime
from collections.abc import Callable
from typing import Any

from ottla.connect.connector import ConnectError
from ottla.connect.data import (
    DATE,
    DATE_SCHEMA,
    TIME,
    TIME_SCHEMA,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    DataError,
    Record,
    Schema,
    Struct,
    Type,
    java_class,
)
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.java_dates import DateFormat
from ottla.connect.logical import epoch_ms, timestamp_of
from ottla.connect.transforms.schemas import (
    REPLACE_NULL,
    SchemaCache,
    basics,
    fields_of,
    struct_schema,
    value_of,
    with_default,
)
from ottla.connect.transforms.transform import Operand, Settings, need_map, need_struct
from ottla.connect.validators import one_of

_PURPOSE = "converting timestamp formats"
_UNITS_PER_MS = {"nanoseconds": 1_000_000, "microseconds": 1_000, "milliseconds": 1}
DEFINITIONS = Definitions(
    (
        Key(
            name="field",
            kind=Kind.STRING,
            default="",
            importance="HIGH",
            doc="The field with the moment; empty: the whole is one.",
        ),
        Key(
            name="target.type",
            kind=Kind.STRING,
            importance="HIGH",
            doc="What it becomes: string, unix, Date, Time or Timestamp.",
            validator=one_of("string", "unix", "Date", "Time", "Timestamp"),
        ),
        Key(
            name="format",
            kind=Kind.STRING,
            default="",
            doc="How text is written and read, as Java's SimpleDateFormat has it.",
        ),
        Key(
            name="unix.precision",
            kind=Kind.STRING,
            default="milliseconds",
            importance="LOW",
            doc="What numbers count: seconds, milliseconds, microseconds or nanoseconds.",
            validator=one_of("nanoseconds", "microseconds", "milliseconds", "seconds"),
        ),
        REPLACE_NULL,
    )
)
_SCHEMAS = {
    "string": Schema(type=Type.STRING),
    "unix": Schema(type=Type.INT64),
    "Date": DATE_SCHEMA,
    "Time": TIME_SCHEMA,
    "Timestamp": TIMESTAMP_SCHEMA,
}
_MIDNIGHT = datetime.time()


class TimestampConverter:
    def __init__(self, settings: Settings, operand: Operand) -> None:
        self._operand = operand
        self._field: str = settings["field"]
        self._target: str = settings["target.type"]
        self._precision: str = settings["unix.precision"]
        self._replace_null: bool = settings[REPLACE_NULL.name]
        pattern: str = settings["format"]
        if self._target == "string" and not pattern.strip():
            raise InvalidConfig(
                {
                    "format": [
                        "TimestampConverter requires format option to be specified "
                        "when using string timestamps"
                    ]
                }
            )
        self._format = DateFormat.of("format", pattern) if pattern.strip() else None
        self._schemas = SchemaCache(self._schema)

    def apply(self, record: Record) -> Record:
        value, schema = self._operand.value(record), self._operand.schema(record)
        if schema is None:
            return self._operand.replaced(record, None, self._schemaless(value))
        if not self._field:
            kind = _kind(schema)
            converted = self._converted(value, kind)
            return self._operand.replaced(record, self._typed(schema.optional), converted)
        struct = None if value is None else need_struct(value, _PURPOSE)
        updated = self._schemas.get(schema)
        made = None if struct is None else self._struct(struct, updated)
        return self._operand.replaced(record, updated, made)

    def _schemaless(self, value: Any) -> Any:
        if value is None or not self._field:
            return self._untyped(value)
        held = need_map(value, _PURPOSE)
        return {**held, self._field: self._untyped(held.get(self._field))}

    def _untyped(self, value: Any) -> Any:
        """Without a schema, a date and a time are moments like others."""
        if value is None:
            return None
        converted = self._converted(value, _inferred(value))
        match converted:
            case datetime.datetime():
                return converted
            case datetime.date():
                return datetime.datetime.combine(converted, _MIDNIGHT, datetime.UTC)
            case datetime.time():
                return datetime.datetime.combine(datetime.date(1970, 1, 1), converted, datetime.UTC)
        return converted

    def _struct(self, struct: Struct, updated: Schema) -> Struct:
        made = Struct(updated)
        for one in struct.schema.fields:
            held = value_of(struct, one.name, self._replace_null)
            if one.name == self._field:
                kind = _kind(one.schema)
                held = self._converted(held, kind)
            made.put(one.name, held)
        return made

    def _typed(self, optional: bool) -> Schema:
        schema = _SCHEMAS[self._target]
        parts = {"type": schema.type, "name": schema.name, "version": schema.version}
        return Schema(**parts, optional=optional)  # type: ignore[arg-type]

    def _schema(self, schema: Schema) -> Schema:
        fields = (
            (one.name, self._typed(one.schema.optional) if one.name == self._field else one.schema)
            for one in fields_of(schema)
        )
        made = struct_schema(fields, optional=schema.optional, **basics(schema))
        if schema.default is None:
            return made
        return with_default(made, self._struct(schema.default, made))

    def _converted(self, value: Any, kind: str) -> Any:
        return None if value is None else self._to_target(self._moment(value, kind))

    def _moment(self, value: Any, kind: str) -> datetime.datetime:
        match kind:
            case "string":
                return self._read(value)
            case "unix":
                if type(value) is not int:
                    raise DataError(
                        f"Expected Unix timestamp to be a Long, but found class {java_class(value)}"
                    )
                return timestamp_of(self._ms(value))
        match value:
            case datetime.datetime():
                return value
            case datetime.date():
                return datetime.datetime.combine(value, _MIDNIGHT, datetime.UTC)
            case datetime.time():
                return datetime.datetime.combine(datetime.date(1970, 1, 1), value, datetime.UTC)
        raise DataError(
            f"Expected {kind} to be a java.util.Date, but found class {java_class(value)}"
        )

    def _read(self, value: Any) -> datetime.datetime:
        if not isinstance(value, str):
            raise DataError(
                f"Expected string timestamp to be a String, but found class {java_class(value)}"
            )
        if self._format is None:
            raise ConnectError("The text of a timestamp cannot be read without a format")
        try:
            return self._format.read(value)
        except ValueError:
            raise DataError(
                f"Could not parse timestamp: value ({value}) does not match pattern "
                f"({self._format.pattern})"
            ) from None

    def _ms(self, number: int) -> int:
        if self._precision == "seconds":
            return number * 1000
        return _truncated(number, _UNITS_PER_MS[self._precision])

    def _to_target(self, moment: datetime.datetime) -> Any:
        targets: dict[str, Callable[[], Any]] = {
            "string": lambda: self._format.written(moment) if self._format else None,
            "unix": lambda: self._unix(epoch_ms(moment)),
            "Date": moment.date,
            "Time": moment.time,
            "Timestamp": lambda: moment,
        }
        return targets[self._target]()

    def _unix(self, ms: int) -> int:
        if self._precision == "seconds":
            return _truncated(ms, 1000)
        long = ms * _UNITS_PER_MS[self._precision]
        return min(max(long, -(1 << 63)), (1 << 63) - 1)


def _truncated(number: int, by: int) -> int:
    return number // by if number >= 0 else -(-number // by)


def _kind(schema: Schema) -> str:
    named = {TIMESTAMP: "Timestamp", DATE: "Date", TIME: "Time"}.get(schema.name or "")
    if named is not None:
        return named
    if schema.type is Type.STRING:
        return "string"
    if schema.type is Type.INT64:
        return "unix"
    raise ConnectError(f"Schema {schema} does not correspond to a known timestamp type format")


def _inferred(value: Any) -> str:
    match value:
        case datetime.date():
            return "Timestamp"
        case str():
            return "string"
    if type(value) is int:
        return "unix"
    raise DataError(
        f"TimestampConverter does not support class {java_class(value)} objects as timestamps"
    )

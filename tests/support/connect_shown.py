"""Records, schemas and values as the lines of RecordOracle.java have them; a task done our way."""

import base64
import datetime
import decimal
import struct
from typing import Any

from ottla.connect import converters, predicates, transforms
from ottla.connect.data import (
    Field,
    Header,
    Record,
    Schema,
    Struct,
    Type,
    schemaless_type,
)
from ottla.connect.definitions import InvalidConfig
from ottla.connect.logical import MS_PER_DAY, days, epoch_ms, time_ms

_NUMBERS = {
    Type.INT8: "byte",
    Type.INT16: "short",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
}


def shown_schema(schema: Schema | None) -> Any:
    if schema is None:
        return None
    shown: dict[str, Any] = {"type": schema.type.name}
    if schema.optional:
        shown["optional"] = True
    for name in ("name", "version", "doc"):
        if getattr(schema, name) is not None:
            shown[name] = getattr(schema, name)
    if schema.parameters:
        shown["parameters"] = dict(schema.parameters)
    match schema.type:
        case Type.STRUCT:
            shown["fields"] = [[one.name, shown_schema(one.schema)] for one in schema.fields]
        case Type.MAP:
            shown["keys"] = shown_schema(schema.key_schema)
            shown["values"] = shown_schema(schema.value_schema)
        case Type.ARRAY:
            shown["values"] = shown_schema(schema.value_schema)
    if schema.default is not None:
        shown["default"] = shown_value(schema, schema.default)
    return shown


def shown_value(schema: Schema | None, value: Any) -> Any:
    match value:
        case None:
            return None
        case bool():
            return {"boolean": value}
        case int() | float():
            return _shown_number(schema, value)
        case str():
            return {"string": value}
        case bytes():
            return {"bytes": base64.b64encode(value).decode()}
        case decimal.Decimal():
            return {"decimal": str(value)}
        case datetime.datetime():
            return {"date": epoch_ms(value)}
        case datetime.date():
            return {"date": days(value) * MS_PER_DAY}
        case datetime.time():
            return {"date": time_ms(value)}
        case list():
            inner = None if schema is None else schema.value_schema
            return {"list": [shown_value(inner, one) for one in value]}
        case dict():
            keys = None if schema is None else schema.key_schema
            values = None if schema is None else schema.value_schema
            entries = [
                [shown_value(keys, key), shown_value(values, one)] for key, one in value.items()
            ]
            return {"map": entries}
        case Struct():
            fields = {
                one.name: shown_value(one.schema, value.values.get(one.name))
                for one in value.schema.fields
            }
            return {"struct": {"schema": shown_schema(value.schema), "values": fields}}
    raise AssertionError(value)


def _shown_number(schema: Schema | None, value: float) -> Any:
    kind = schemaless_type(value) if schema is None else schema.type
    if kind not in _NUMBERS:  # a value that is not its schema's
        kind = schemaless_type(value)
    assert kind is not None
    match kind:
        case Type.INT64:
            return {"long": str(int(value))}
        case Type.FLOAT32:
            bits = struct.pack(">f", value) if value == value else bytes.fromhex("7fc00000")
            return {"float": bits.hex()}
        case Type.FLOAT64:
            bits = struct.pack(">d", value) if value == value else bytes.fromhex("7ff8" + "0" * 12)
            return {"double": bits.hex()}
    return {_NUMBERS[kind]: int(value)}


def shown_record(record: Record, *, asked: bool = False) -> Any:
    shown = {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "key_schema": shown_schema(record.key_schema),
        "key": shown_value(record.key_schema, record.key),
        "value_schema": shown_schema(record.value_schema),
        "value": shown_value(record.value_schema, record.value),
        "headers": [
            [one.name, shown_schema(one.schema), shown_value(one.schema, one.value)]
            for one in record.headers
        ],
    }
    return shown | {"offset": record.offset} if asked else shown


def comparable(shown: Any) -> Any:
    """Entries of maps have no order: Java's HashMap has its own."""
    match shown:
        case {"map": list(entries)} if len(shown) == 1:
            return {"map": sorted((comparable(one) for one in entries), key=repr)}
        case dict():
            return {name: comparable(one) for name, one in shown.items()}
        case list():
            return [comparable(one) for one in shown]
    return shown


# --- back again: from a recorded line


def schema_of(shown: Any) -> Schema | None:
    if shown is None:
        return None
    parts = {name: shown[name] for name in ("optional", "name", "version", "doc") if name in shown}
    if "parameters" in shown:
        parts["parameters"] = shown["parameters"]
    kind = Type[shown["type"]]
    if kind is Type.STRUCT:
        parts["fields"] = tuple(Field(name, _schema(one)) for name, one in shown["fields"])
    if kind is Type.MAP:
        parts["key_schema"] = schema_of(shown["keys"])
    if kind in (Type.MAP, Type.ARRAY):
        parts["value_schema"] = schema_of(shown["values"])
    plain = Schema(type=kind, **parts)
    if "default" not in shown:
        return plain
    return Schema(type=kind, **parts, default=value_of(plain, shown["default"]))


def _schema(shown: Any) -> Schema:
    found = schema_of(shown)
    assert found is not None
    return found


def value_of(schema: Schema | None, shown: Any) -> Any:
    from ottla.connect.data import DATE, TIME, Float32, Int8, Int16, Int32
    from ottla.connect.logical import date_of, time_of, timestamp_of

    if shown is None:
        return None
    ((kind, held),) = shown.items()
    narrow: dict[str, Any] = {"byte": Int8, "short": Int16, "int": Int32}
    match kind:
        case "boolean" | "string":
            return held
        case "byte" | "short" | "int" | "long":
            return int(held) if schema is not None else narrow.get(kind, int)(int(held))
        case "float":
            number = struct.unpack(">f", bytes.fromhex(held))[0]
            return number if schema is not None else Float32(number)
        case "double":
            return struct.unpack(">d", bytes.fromhex(held))[0]
        case "bytes":
            return base64.b64decode(held)
        case "decimal":
            return decimal.Decimal(held)
        case "date":
            name = None if schema is None else schema.name
            if name == DATE:
                return date_of(held // MS_PER_DAY)
            return time_of(held) if name == TIME else timestamp_of(held)
        case "list":
            return [value_of(None if schema is None else schema.value_schema, one) for one in held]
        case "map":
            keys = None if schema is None else schema.key_schema
            values = None if schema is None else schema.value_schema
            return {value_of(keys, key): value_of(values, one) for key, one in held}
    own = _schema(held["schema"])
    fields = {one.name: one.schema for one in own.fields}
    return Struct(own, {name: value_of(fields[name], one) for name, one in held["values"].items()})


def record_of(shown: Any) -> Record:
    key_schema, value_schema = schema_of(shown["key_schema"]), schema_of(shown["value_schema"])
    headers = []
    for name, said, value in shown["headers"]:
        schema = schema_of(said)
        headers.append(Header(name, schema, value_of(schema, value)))
    return Record(
        topic=shown["topic"],
        partition=shown["partition"],
        key_schema=key_schema,
        key=value_of(key_schema, shown["key"]),
        value_schema=value_schema,
        value=value_of(value_schema, shown["value"]),
        timestamp=shown["timestamp"],
        headers=tuple(headers),
        offset=shown["offset"],
    )


# --- a task, done our way


def our_answer(task: dict[str, Any]) -> Any:
    """What we make of a line; `error` with our sentence where we refuse."""
    try:
        return _done(task)
    except InvalidConfig as error:
        return {"error": "config", "message": str(error)}
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


def _done(task: dict[str, Any]) -> Any:
    name, config = task["class"], task["config"]
    match task["do"]:
        case "transform":
            changed = transforms.transform(name, config).apply(record_of(task["record"]))
            return {"record": None if changed is None else shown_record(changed)}
        case "predicate":
            return {"test": predicates.predicate(name, config).test(record_of(task["record"]))}
        case "write":
            schema = schema_of(task["schema"])
            made = converters.converter(name, config, is_key=task["key"])
            data = made.from_connect("t", schema, value_of(schema, task["value"]))
            return {"data": None if data is None else base64.b64encode(data).decode()}
        case "read":
            read = converters.converter(name, config, is_key=task["key"])
            return _both(*read.to_connect("t", _data(task["data"])))
        case "write header":
            schema = schema_of(task["schema"])
            header = converters.header_converter(name, config)
            data = header.from_header("t", "h", schema, value_of(schema, task["value"]))
            return {"data": None if data is None else base64.b64encode(data).decode()}
    header = converters.header_converter(name, config)
    return _both(*header.to_header("t", "h", _data(task["data"])))


def _data(shown: str | None) -> bytes | None:
    return None if shown is None else base64.b64decode(shown)


def _both(schema: Schema | None, value: Any) -> Any:
    return {"schema": shown_schema(schema), "value": shown_value(schema, value)}


def differs(ours: Any, theirs: Any) -> bool:
    """Refusals are equal as refusals; the sentences of Connect's DataException are, too."""
    if "error" not in theirs or "error" not in ours:
        return bool(comparable(ours) != comparable(theirs))
    if theirs["error"] != "org.apache.kafka.connect.errors.DataException":
        return False
    return _sentence(ours["message"]) != _sentence(theirs["message"])


def _sentence(said: str | None) -> str:
    """Without what shows a value or its class, of which Java may have several for one of ours."""
    words = (said or "").split(" class ")
    return words[0].partition(", found: ")[0].partition(" on record: ")[0]

"""Tasks of AvroConverter's mapping, drawn or chosen, and what is made of them here."""

import base64
import json
from typing import Any

from hypothesis import strategies as st

from ottla.connect.converters.avro_connect_schemas import connect_schema
from ottla.connect.converters.avro_options import KEYS, AvroOptions
from ottla.connect.converters.avro_reading import avro_reader
from ottla.connect.converters.avro_schemas import avro_schema
from ottla.connect.converters.avro_types import parse_avro
from ottla.connect.converters.avro_writing import AvroWriting
from ottla.connect.data import DataError
from support.connect_drawing import halves
from support.connect_shown import schema_of, shown_schema, shown_value, value_of

_OPTIONS = st.fixed_dictionaries(
    {"scrub.invalid.names": st.sampled_from(["true", "true", "true", "false"])},
    optional={
        "enhanced.avro.schema.support": st.sampled_from(["true", "false"]),
        "connect.meta.data": st.sampled_from(["true", "false"]),
        "ignore.default.for.nullables": st.sampled_from(["true", "false"]),
    },
)


@st.composite
def avro_write_tasks(draw: st.DrawFn) -> dict[str, Any]:
    schema, value = draw(halves())
    return {
        "do": "avro write",
        "config": draw(_OPTIONS),
        "schema": shown_schema(schema),
        "value": shown_value(schema, value),
    }


def avro_answer(task: dict[str, Any]) -> Any:
    """`error` where it is refused here."""
    try:
        return _written(task) if task["do"] == "avro write" else _read(task)
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


def _options(task: dict[str, Any]) -> AvroOptions:
    return AvroOptions.of(KEYS.parse(task["config"]))


def _written(task: dict[str, Any]) -> Any:
    options, schema = _options(task), schema_of(task["schema"])
    avro = avro_schema(schema, options)
    value = value_of(schema, task["value"])
    if value is None and schema is not None and not schema.optional:
        raise DataError("Found null value for non-optional schema")
    data = None if value is None else AvroWriting(options).data(schema, value)
    return {"avro": avro, "data": None if data is None else base64.b64encode(data).decode()}


def _read(task: dict[str, Any]) -> Any:
    options, avro = _options(task), parse_avro(task["avro"])
    schema = connect_schema(avro, options, task["version"])
    value = avro_reader(avro, schema)(base64.b64decode(task["data"]), 0)
    return {"schema": shown_schema(schema), "value": shown_value(schema, value)}


def same_schema(ours: Any, theirs: str) -> bool:
    """As texts with the same order of attributes; Avro writes a namespace only where it changes."""
    return json.dumps(_plain(ours, "")) == json.dumps(_plain(json.loads(theirs), ""))


def _plain(avro: Any, space: str) -> Any:
    match avro:
        case list():
            return [_plain(one, space) for one in avro]
        case str():
            known = avro in ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
            return avro if known or "." in avro or not space else f"{space}.{avro}"
        case {"name": name, "type": kind} if kind in ("record", "enum", "fixed"):
            space = avro.get("namespace", space)
            said = {"type": kind, "name": f"{space}.{name}" if space else name}
            more = {one: it for one, it in avro.items() if one not in ("type", "name", "namespace")}
            if kind == "record":
                more["fields"] = [
                    one | {"type": _plain(one["type"], space)} for one in avro["fields"]
                ]
            return said | more
        case {"type": "array"}:
            return avro | {"items": _plain(avro["items"], space)}
        case {"type": "map"}:
            return avro | {"values": _plain(avro["values"], space)}
    return avro


# --- schemas that other programs wrote

_RECORD = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "doc": "what was bought",
    "fields": [
        {"name": "id", "type": "long", "doc": "the number"},
        {"name": "count", "type": "int", "default": 3},
        {"name": "ratio", "type": "float", "default": 0.1},
        {"name": "raw", "type": "bytes", "default": "\u00ff"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "state", "type": ["string", "null"], "default": "new"},
        {
            "name": "kind",
            "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"], "default": "A"},
            "default": "B",
        },
        {"name": "tags", "type": {"type": "array", "items": "string"}, "default": ["x"]},
        {"name": "sizes", "type": {"type": "map", "values": "int"}, "default": {"a": 1}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}, "default": 7},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {
            "name": "address",
            "type": {
                "type": "record",
                "name": "Address",
                "fields": [{"name": "street", "type": "string", "default": "s"}],
            },
        },
        {"name": "other", "type": ["null", "Address"], "default": None},
    ],
}
_ORDER = {
    "id": 5,
    "count": 1,
    "ratio": 0.5,
    "raw": b"\0\1",
    "note": "n",
    "state": None,
    "kind": "A",
    "tags": ["a", "b"],
    "sizes": {"b": 2},
    "day": 1,
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "at": 17,
    "address": {"street": "there"},
    "other": {"street": "else"},
}
_FIXED = {"type": "fixed", "name": "a.Four", "size": 4}
CHOSEN: list[tuple[Any, Any]] = [
    (_RECORD, _ORDER),
    ("string", "x"),
    ("int", -1),
    ("bytes", b"abc"),
    (["null", "long"], 7),
    (["int", "string"], "x"),
    (["null", "int", "string"], 7),
    (["string"], "x"),
    (_FIXED, b"1234"),
    (
        {"type": "fixed", "name": "D", "size": 3, "logicalType": "decimal", "precision": 5},
        b"\0\0\7",
    ),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, b"\4\xd2"),
    ({"type": "int", "connect.type": "int8"}, 7),
    ({"type": "int", "connect.type": "int64"}, 7),
    ({"type": "string", "avro.java.string": "String"}, "x"),
    ({"type": "long", "connect.name": "n", "connect.doc": "d", "connect.default": 5}, 7),
    ({"type": "long", "connect.parameters": {"a": "b"}}, 7),
    ({"type": "long", "connect.parameters": {"a": 1}}, 7),
    ({"type": "enum", "name": "x.E", "symbols": ["P", "Q"], "doc": "of two"}, "Q"),
    (
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "u", "type": ["int", _FIXED, {"type": "array", "items": "int"}]},
                {"name": "v", "type": ["string", "int"], "default": "d"},
                {"name": "w", "type": ["null", "a.Four", "double"], "default": None},
            ],
        },
        {"u": b"1234", "v": 5, "w": 1.5},
    ),
    (
        {
            "type": "array",
            "items": {
                "type": "record",
                "name": "E",
                "connect.internal.type": "MapEntry",
                "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}],
            },
        },
        [{"key": 1, "value": "a"}],
    ),
    ({"type": "map", "values": ["null", "int"]}, {"a": None, "b": 1}),
]


def avro_read_tasks() -> list[dict[str, Any]]:
    import io

    import fastavro

    made = []
    for avro, value in CHOSEN:
        plain = json.loads(json.dumps(avro).replace('"logicalType"', '"wasLogical"'))
        out = io.BytesIO()
        if avro == "bytes" or (isinstance(avro, dict) and avro["type"] == "bytes"):
            out.write(value)
        else:
            fastavro.schemaless_writer(out, fastavro.parse_schema(plain), value)
        data = base64.b64encode(out.getvalue()).decode()
        for config in (
            {},
            {"enhanced.avro.schema.support": "true"},
            {"connect.meta.data": "false"},
        ):
            for version in (None, 1):
                made.append(
                    {
                        "do": "avro read",
                        "avro": json.dumps(avro),
                        "data": data,
                        "config": config,
                        "version": version,
                    }
                )
    return made

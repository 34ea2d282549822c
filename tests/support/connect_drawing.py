"""Tasks for Connect's transforms, predicates and converters, drawn by Hypothesis."""

import base64
import datetime
import decimal
import json
from typing import Any

from hypothesis import strategies as st

from ottla.connect.data import (
    DATE_SCHEMA,
    TIME_SCHEMA,
    TIMESTAMP_SCHEMA,
    Field,
    Float32,
    Header,
    Int8,
    Int16,
    Int32,
    Record,
    Schema,
    Struct,
    Type,
    decimal_schema,
    optional,
)
from ottla.connect.java_text import single
from support.connect_shown import shown_record, shown_schema, shown_value

NAMES = ("a", "b", "c", "d.e", "`f`")
names = st.sampled_from(NAMES)
# Java before 19 shows some numbers with a digit too many; these have few digits.
doubles = st.one_of(
    st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e7, 1e-3, 9999999.0, 1.0e10, 1e300, 0.1, 1e-5]),
    st.integers(-(2**40), 2**40).map(float),
    st.decimals(-1000, 1000, places=2).map(float),
)
floats = st.one_of(
    st.sampled_from([0.0, -0.0, 1.5, -2.25, 1e7, 1e-3, 1.0e10, 0.1, 1e-5]),
    st.integers(-(2**20), 2**20).map(float),
    st.decimals(-1000, 1000, places=2).map(float),
).map(single)
texts = st.one_of(
    st.sampled_from(
        ["", "1", "-7", "300", "true", "FALSE", "1.5", "1e3", "abc", "2020-01-02", " 1"]
    ),
    st.text('ab:é"\\ ,{}[]', max_size=4),
)
integers = {
    Type.INT8: st.integers(-128, 127),
    Type.INT16: st.integers(-(2**15), 2**15 - 1),
    Type.INT32: st.integers(-(2**31), 2**31 - 1),
    Type.INT64: st.integers(-(2**63), 2**63 - 1),
}
moments = st.integers(-10_000_000_000, 4_000_000_000_000).map(
    lambda ms: (
        datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=ms)
    )
)
decimals = st.builds(
    lambda unscaled, scale: decimal.Decimal(unscaled).scaleb(-scale),
    st.integers(-(10**12), 10**12),
    st.integers(0, 3),
)
PLAIN: dict[Type, st.SearchStrategy[Any]] = {
    **integers,
    Type.FLOAT32: floats,
    Type.FLOAT64: doubles,
    Type.BOOLEAN: st.booleans(),
    Type.STRING: texts,
    Type.BYTES: st.binary(max_size=3),
}
schemaless_scalars: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    integers[Type.INT64],
    doubles,
    texts,
    integers[Type.INT8].map(Int8),
    integers[Type.INT16].map(Int16),
    integers[Type.INT32].map(Int32),
    floats.map(Float32),
    st.binary(max_size=3),
)
schemaless: st.SearchStrategy[Any] = st.recursive(
    schemaless_scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, max_size=4)),
    max_leaves=6,
)
schemaless_maps = st.dictionaries(names, schemaless, min_size=0, max_size=4)


def plain_schemas() -> st.SearchStrategy[Schema]:
    kinds = st.sampled_from(list(PLAIN))
    logical = st.one_of(
        st.just(DATE_SCHEMA),
        st.just(TIME_SCHEMA),
        st.just(TIMESTAMP_SCHEMA),
        st.integers(0, 3).map(decimal_schema),
    )
    return st.one_of(
        st.builds(lambda kind: Schema(type=kind), kinds),
        logical,
        st.builds(lambda kind: Schema(type=kind, name="named", version=2, doc="text"), kinds),
    )


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    kind = draw(
        st.sampled_from(["plain", "plain", "array", "map", "struct"] if depth else ["plain"])
    )
    match kind:
        case "array":
            schema = Schema(type=Type.ARRAY, value_schema=draw(schemas(depth - 1)))
        case "map":
            keys = draw(st.sampled_from([Type.STRING, Type.STRING, Type.INT32]))
            schema = Schema(
                type=Type.MAP,
                key_schema=Schema(type=keys),
                value_schema=draw(schemas(depth - 1)),
            )
        case "struct":
            return draw(struct_schemas(depth - 1))
        case _:
            schema = draw(plain_schemas())
    if draw(st.booleans()):
        schema = optional(schema)
    if schema.type in PLAIN and draw(st.integers(0, 3)) == 0:
        default = draw(values(schema, nulls=False))
        parts = {one: getattr(schema, one) for one in Schema.__dataclass_fields__}
        schema = Schema(**(parts | {"default": default}))
    return schema


@st.composite
def struct_schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    fields = draw(st.lists(names, min_size=0, max_size=4, unique=True))
    return Schema(
        type=Type.STRUCT,
        optional=draw(st.booleans()),
        name=draw(st.sampled_from([None, "s"])),
        fields=tuple(Field(name, draw(schemas(depth))) for name in fields),
    )


@st.composite
def values(draw: st.DrawFn, schema: Schema, nulls: bool = True) -> Any:
    if schema.optional and nulls and draw(st.integers(0, 2)) == 0:
        return None
    match schema.name:
        case DATE_SCHEMA.name:
            return draw(moments).date()
        case TIME_SCHEMA.name:
            return draw(moments).time()
        case TIMESTAMP_SCHEMA.name:
            return draw(moments)
    if schema.parameters and "scale" in schema.parameters:
        scale = int(schema.parameters["scale"])
        return decimal.Decimal(draw(st.integers(-(10**9), 10**9))).scaleb(-scale)
    match schema.type:
        case Type.ARRAY:
            assert schema.value_schema is not None
            return draw(st.lists(values(schema.value_schema), max_size=3))
        case Type.MAP:
            assert schema.key_schema is not None
            assert schema.value_schema is not None
            keys = values(schema.key_schema)
            return draw(st.dictionaries(keys, values(schema.value_schema), max_size=3))
        case Type.STRUCT:
            held = {one.name: draw(values(one.schema)) for one in schema.fields}
            return Struct(schema, held)
    return draw(PLAIN[schema.type])


@st.composite
def halves(draw: st.DrawFn) -> tuple[Schema | None, Any]:
    """A key or a value with its schema, mostly a struct or a map."""
    match draw(
        st.sampled_from(["map", "map", "struct", "struct", "struct", "any", "typed", "null"])
    ):
        case "map":
            return None, draw(schemaless_maps)
        case "struct":
            schema = draw(struct_schemas())
            return schema, draw(values(schema))
        case "typed":
            schema = draw(schemas())
            return schema, draw(values(schema))
        case "null":
            return None, None
    return None, draw(schemaless)


@st.composite
def records(draw: st.DrawFn) -> Record:
    key_schema, key = draw(halves())
    value_schema, value = draw(halves())
    sink = draw(st.booleans())
    headers = draw(
        st.lists(
            st.builds(Header, st.sampled_from(["h", "i"]), st.none(), schemaless_scalars),
            max_size=2,
        )
    )
    return Record(
        topic=draw(st.sampled_from(["t", "topic-1", "abab", "x.y"])),
        partition=draw(st.integers(0, 9)) if sink else draw(st.sampled_from([None, 3])),
        key_schema=key_schema,
        key=key,
        value_schema=value_schema,
        value=value,
        timestamp=draw(st.one_of(st.none(), st.integers(0, 4_000_000_000_000))),
        headers=tuple(headers),
        offset=draw(st.integers(0, 2**40)) if sink else None,
    )


_fields = st.lists(names, min_size=1, max_size=3).map(",".join)
_types = st.sampled_from(
    ["int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "bytes", "x"]
)
_pairs = st.lists(
    st.builds(lambda one, other: f"{one}:{other}", names, st.sampled_from([*NAMES, "n", ""])),
    max_size=2,
).map(",".join)
_formats = st.sampled_from(
    [
        "yyyy-MM-dd",
        "yyyyMMdd",
        "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
        "dd MMM yyyy hh:mm a",
        "EEE, d MMMM yyyy HH:mm:ss Z",
        "yyyyMMddHHmmss",
        "D yyyy kk K X",
        "",
    ]
)
_maybe_null = st.sampled_from([{}, {}, {"replace.null.with.default": "false"}])


def _config(**keys: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str]]:
    fixed = {name.replace("_", "."): one for name, one in keys.items()}
    return st.fixed_dictionaries({}, optional=fixed)


TRANSFORMS: dict[str, st.SearchStrategy[dict[str, str]]] = {
    "Cast": st.fixed_dictionaries(
        {
            "spec": st.one_of(
                _types,
                st.lists(st.builds("{}:{}".format, names, _types), min_size=1, max_size=2).map(
                    ",".join
                ),
            )
        }
    ),
    "DropHeaders": st.fixed_dictionaries({"headers": st.sampled_from(["h", "h,i", "x", ""])}),
    "ExtractField": st.fixed_dictionaries(
        {"field": st.sampled_from([*NAMES, "a.b", "`d.e`.a", "c.`d.e`", "`", "a."])},
        optional={"field.syntax.version": st.sampled_from(["V1", "v2", "V2"])},
    ),
    "Filter": st.just({}),
    "Flatten": _config(delimiter=st.sampled_from(["_", ".", ""])),
    "HeaderFrom": st.fixed_dictionaries(
        {
            "fields": _fields,
            "headers": st.sampled_from(["x", "x,y", "x,y,z"]),
            "operation": st.sampled_from(["copy", "move", "move", "steal"]),
        }
    ),
    "HoistField": st.fixed_dictionaries({"field": names}),
    "InsertField": _config(
        topic_field=st.sampled_from(["t", "t!", "a", "t?"]),
        partition_field=st.sampled_from(["p", "p!"]),
        offset_field=st.sampled_from(["o", "o!"]),
        timestamp_field=st.sampled_from(["s", "s!"]),
        static_field=st.sampled_from(["f", "f!"]),
        static_value=texts,
    ),
    "InsertHeader": st.fixed_dictionaries(
        {"header": st.sampled_from(["h", "n"]), "value.literal": texts}
    ),
    "MaskField": st.fixed_dictionaries(
        {"fields": _fields}, optional={"replacement": st.sampled_from(["1", "x", "1.5", "300", ""])}
    ),
    "RegexRouter": st.fixed_dictionaries(
        {
            "regex": st.sampled_from(
                [
                    "t",
                    "(.*)",
                    "(.)(.*)",
                    "a|ab.*",
                    "topic-(\\d)",
                    "(?<n>.*)-1",
                    "(ab)\\1",
                    "(?!t).*",
                ]
            ),
            "replacement": st.sampled_from(
                ["x", "$1", "$2-$1", "${n}", "\\$1", "$11", "$", "a$0b"]
            ),
        }
    ),
    "ReplaceField": _config(exclude=_fields, include=_fields, renames=_pairs),
    "SetSchemaMetadata": _config(
        schema_name=st.sampled_from(["n", "org.x"]), schema_version=st.sampled_from(["3", "x"])
    ),
    "TimestampConverter": st.fixed_dictionaries(
        {"target.type": st.sampled_from(["string", "unix", "Date", "Time", "Timestamp"])},
        optional={
            "field": names,
            "format": _formats,
            "unix.precision": st.sampled_from(
                ["seconds", "milliseconds", "microseconds", "nanoseconds"]
            ),
        },
    ),
    "TimestampRouter": _config(
        topic_format=st.sampled_from(["${topic}-${timestamp}", "x${timestamp}", "y"]),
        timestamp_format=_formats,
    ),
    "ValueToKey": st.fixed_dictionaries({"fields": _fields}),
}
_WITHOUT_HALVES = {
    "DropHeaders",
    "Filter",
    "InsertHeader",
    "RegexRouter",
    "TimestampRouter",
    "ValueToKey",
}
_PACKAGE = "org.apache.kafka.connect.transforms."


@st.composite
def transform_tasks(draw: st.DrawFn, name: str | None = None) -> dict[str, Any]:
    chosen = name or draw(st.sampled_from(sorted(TRANSFORMS)))
    half = "" if chosen in _WITHOUT_HALVES else draw(st.sampled_from(["$Key", "$Value", "$Value"]))
    return {
        "do": "transform",
        "class": f"{_PACKAGE}{chosen}{half}",
        "config": draw(TRANSFORMS[chosen]) | draw(_maybe_null),
        "record": shown_record(draw(records()), asked=True),
    }


@st.composite
def predicate_tasks(draw: st.DrawFn) -> dict[str, Any]:
    name, config = draw(
        st.sampled_from(
            [
                ("HasHeaderKey", {"name": "h"}),
                ("HasHeaderKey", {"name": ""}),
                ("RecordIsTombstone", {}),
                ("TopicNameMatches", {"pattern": "t.*"}),
                ("TopicNameMatches", {"pattern": "(?=a).*b"}),
                ("TopicNameMatches", {"pattern": "("}),
            ]
        )
    )
    return {
        "do": "predicate",
        "class": f"{_PACKAGE}predicates.{name}",
        "config": config,
        "record": shown_record(draw(records()), asked=True),
    }


JSON = "org.apache.kafka.connect.json.JsonConverter"
_json_config = st.fixed_dictionaries(
    {},
    optional={
        "schemas.enable": st.sampled_from(["true", "false"]),
        "decimal.format": st.sampled_from(["base64", "NUMERIC"]),
        "replace.null.with.default": st.sampled_from(["true", "false"]),
    },
)
_CONVERTERS = [
    f"org.apache.kafka.connect.converters.{name}Converter"
    for name in ("Boolean", "ByteArray", "Double", "Float", "Integer", "Long", "Short")
]
_STRING = "org.apache.kafka.connect.storage.StringConverter"


def _has_bytes(value: Any) -> bool:
    """Java shows an array of bytes by where it lies."""
    match value:
        case bytes():
            return True
        case list():
            return any(map(_has_bytes, value))
        case dict():
            return any(map(_has_bytes, [*value.keys(), *value.values()]))
        case Struct():
            return any(map(_has_bytes, value.values.values()))
    return False


@st.composite
def write_tasks(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from([JSON, JSON, JSON, JSON, _STRING, *_CONVERTERS]))
    schema, value = draw(halves())
    if name == _STRING and _has_bytes(value):
        value = None
    return {
        "do": "write",
        "class": name,
        "config": draw(_json_config) if name == JSON else {},
        "key": draw(st.booleans()),
        "schema": shown_schema(schema),
        "value": shown_value(schema, value),
    }


_schema_nodes: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from([one.value for one in Type if one.value not in ("map", "array")])},
        optional={
            "optional": st.sampled_from([True, False, 1]),
            "name": st.sampled_from(
                ["n", 1, DATE_SCHEMA.name, TIMESTAMP_SCHEMA.name, decimal_schema(0).name]
            ),
            "version": st.sampled_from([1, "x"]),
            "doc": st.just("d"),
            "default": st.sampled_from([0, "a", None, True, 1.5]),
            "parameters": st.sampled_from([{"scale": "2"}, {"p": 1}, {}]),
        },
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {
                "type": st.just("struct"),
                "fields": st.lists(
                    st.builds(lambda one, name: {**(one or {}), "field": name}, inner, names),
                    max_size=3,
                ),
            },
            optional={"optional": st.booleans()},
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"type": st.just("map"), "keys": inner, "values": inner}),
        st.sampled_from([None, {}, {"type": "x"}, {"type": "array"}]),
    ),
    max_leaves=4,
)
_json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.integers(-200, 200),
        doubles,
        texts,
        st.binary(max_size=4).map(lambda one: base64.b64encode(one).decode()),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(names, inner, max_size=3),
        st.lists(st.tuples(inner, inner).map(list), max_size=2),
    ),
    max_leaves=5,
)
_envelopes = st.builds(
    lambda schema, payload: {"schema": schema, "payload": payload}, _schema_nodes, _json_values
)
_broken = st.sampled_from(
    [
        b"",
        b" ",
        b"{",
        b"1 2",
        b"01",
        b"[1,]",
        b"nul",
        b"nullx",
        b'{"a":1} x',
        b"1.",
        b"NaN",
        b"\xff",
    ]
)


@st.composite
def read_tasks(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from([JSON, JSON, JSON, JSON, _STRING, *_CONVERTERS]))
    data: bytes | None
    if name == JSON:
        tree = draw(st.one_of(_envelopes, _envelopes, _json_values))
        data = draw(st.one_of(st.just(json.dumps(tree).encode()), _broken, st.none()))
    else:
        sizes = st.sampled_from([0, 1, 2, 4, 8])
        data = draw(
            st.one_of(st.none(), sizes.flatmap(lambda n: st.binary(min_size=n, max_size=n)))
        )
    return {
        "do": "read",
        "class": name,
        "config": draw(_json_config) if name == JSON else {},
        "key": draw(st.booleans()),
        "data": None if data is None else base64.b64encode(data).decode(),
    }


SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_header_texts = st.one_of(
    texts,
    st.text('0123456789+-.eE:,{}[]" ntrufalse', max_size=8),
    st.sampled_from(
        [
            "null",
            "true",
            "[1,2]",
            "[1,300]",
            '["a","b"]',
            '{"a":1,"b":2}',
            "[null]",
            "[1,null]",
            "12:34:56.789Z",
            "2020-01-02T03:04:05.678Z",
            '["2020-01-02"]',
            "1e400",
            "99999999999999999999",
            "0.1",
            "128",
            '{"a":[1]}',
            "{}",
            "[]",
            "[1, 2] x",
            "{1:2 3:4}",
        ]
    ),
)


@st.composite
def header_tasks(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        data = base64.b64encode(draw(_header_texts).encode()).decode()
        return {"do": "read header", "class": SIMPLE, "config": {}, "data": data}
    schema, value = draw(halves())
    return {
        "do": "write header",
        "class": SIMPLE,
        "config": {},
        "schema": shown_schema(schema),
        "value": shown_value(schema, value),
    }

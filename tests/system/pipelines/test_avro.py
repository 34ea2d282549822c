"""Avro records of a schema registry through applications: read, evolved, refused, written."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal
from io import BytesIO
from typing import Any, cast

import fastavro
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ottla.pipelines import App, DefinitionError, avro
from ottla.pipelines.formats.avro_format import Avro
from ottla.pipelines.formats.avro_types import columns
from ottla.pipelines.runtime import sessions
from ottla.testing import Registry, drive

ORDER: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "customer", "type": "string"}],
}
PRICED = {
    **ORDER,
    "fields": [*ORDER["fields"], {"name": "price", "type": "double", "default": 1.5}],
}
NOTED = {
    **PRICED,
    "fields": [*PRICED["fields"], {"name": "note", "type": ["null", "string"], "default": None}],
}
MANY: dict[str, Any] = {
    "type": "record",
    "name": "Many",
    "namespace": "a.b",
    "fields": [
        {"name": "b", "type": "boolean"},
        {"name": "i", "type": "int"},
        {"name": "f", "type": "float"},
        {"name": "x", "type": "bytes"},
        {"name": "maybe", "type": ["null", "long"]},
        {"name": "number", "type": ["int", "long"]},
        {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["P", "Q"]}},
        {"name": "again", "type": "E"},
        {"name": "four", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {"name": "list", "type": {"type": "array", "items": ["null", "string"]}},
        {"name": "map", "type": {"type": "map", "values": "int"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {
            "name": "amount",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {
            "name": "inner",
            "type": {
                "type": "record",
                "name": "Inner",
                "fields": [{"name": "deep", "type": ["null", "b.Other"]}],
            },
        },
    ],
}
OTHER = {
    "type": "record",
    "name": "Other",
    "namespace": "b",
    "fields": [{"name": "s", "type": "string"}],
}
ROW: dict[str, Any] = {
    "b": True,
    "i": -7,
    "f": 0.5,
    "x": b"\x00\xff",
    "maybe": 2**40,
    "number": 9,
    "e": "Q",
    "again": "P",
    "four": b"abcd",
    "list": ["x", None],
    "map": {"k": 1},
    "day": date(2026, 2, 3),
    "at": datetime(2026, 1, 2, 3, 4, 5, 6000, UTC),
    "micros": datetime(2026, 1, 2, 3, 4, 5, 6, UTC),
    "local": datetime(2026, 1, 2, 3, 4, 5, 6),
    "amount": Decimal("12.30"),
    "inner": {"deep": {"s": "ö"}},
}


@pytest.fixture(scope="module")
def registry(driven: str) -> Iterator[Registry]:
    with Registry(driven, settings={"kafkastore.topic": "_schemas-avro"}) as started:
        yield started


@pytest.fixture(scope="module")
def client(registry: Registry) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry.url})


def of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def framed(client: SchemaRegistryClient, schema: Any, topic: str, value: Any) -> bytes:
    written = AvroSerializer(client, json.dumps(schema))(value, of(topic))
    assert written is not None
    return written


def raw(value: str | bytes) -> bytes:
    """A driver shows bytes that are UTF-8 as text."""
    return value.encode() if isinstance(value, str) else value


def test_records_of_several_schemas_are_rows_of_the_latest_one_and_others_dead_letters(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    """One schema is registered only after the application was defined."""
    old = framed(client, ORDER, "orders", {"id": 1, "customer": "Kim"})
    new = framed(client, PRICED, "orders", {"id": 2, "customer": "Ada", "price": 3.0})
    app = App("avro-orders", registry=registry.url)
    orders = app.stream("orders", value=avro(id_column="schema_id"))
    assert orders.columns == ("id", "customer", "price", "schema_id")
    orders.filter("price > 0").with_columns(double="price * 2").to(
        "priced", value=avro(name="com.shop.Priced")
    )
    with drive(app) as d:
        newer = {"id": 3, "customer": "Eve", "price": 4.0, "note": "later"}
        for record in (old, new, framed(client, NOTED, "orders", newer)):
            d.send("orders", record)
        unknown = b"\0" + (12345).to_bytes(4, "big") + b"x"
        for bad in (b"plain", unknown, old[:-1], old + b"!", old[:5] + b"\x02\xff\xff\xff\xff\x0f"):
            d.send("orders", bad)
        results = [value for _, value in d.read("priced")]
        read = AvroDeserializer(client)
        rows = [read(raw(value), of("priced")) for value in results]
        assert [(row["id"], row["customer"], row["double"]) for row in rows] == [
            (1, "Kim", 3.0),
            (2, "Ada", 6.0),
            (3, "Eve", 8.0),
        ]
        assert [row["schema_id"] for row in rows] == [
            int.from_bytes(one[1:5], "big") for one in (old, new)
        ] + [rows[2]["schema_id"]]
        latest = client.get_latest_version("priced-value")
        assert json.loads(latest.schema.schema_str or "")["name"] == "Priced"
        reasons = [letter.headers["ottla.reason"].decode() for letter in d.dead_letters()]
        unfit = f"the bytes do not fit the schema with the id {old[4]}"
        assert [reason.partition(":")[0] for reason in reasons] == [
            "the value has no frame of a schema registry",
            "the registry has no schema with the id 12345",
            *[unfit] * 3,
        ]


def test_every_type_is_read_as_fastavro_wrote_it_and_written_so_that_it_reads_it(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    client.register_schema("other", Schema(json.dumps(OTHER), "AVRO"))
    named = [SchemaReference("b.Other", "other", 1)]
    id = client.register_schema("many-value", Schema(json.dumps(MANY), "AVRO", named))
    fastavro_names: dict[str, Any] = {}
    fastavro.parse_schema(OTHER, named_schemas=fastavro_names)
    schema = fastavro.parse_schema(MANY, named_schemas=fastavro_names)
    body = BytesIO()
    fastavro.schemaless_writer(body, schema, ROW)
    app = App("avro-many", registry=registry.url)
    app.stream("many", value=avro()).to("copies", value=avro())
    with drive(app) as d:
        d.send("many", b"\0" + id.to_bytes(4, "big") + body.getvalue())
        ((_, copy),) = d.read("copies")
        assert AvroDeserializer(client)(raw(copy), of("copies")) == ROW
        spark: Any = sessions.session()
        texts = (json.dumps(OTHER), json.dumps(MANY))
        told = spark._jvm.ottla.AvroFrames.typeOf(json.dumps(texts))
        ours = ", ".join(f"{f.name}: {f.type}" for f in columns(texts))
        assert plain(told) == plain(f"STRUCT<{ours}>")


def plain(type: str) -> str:
    return type.replace("`", "").replace(" NOT NULL", "").replace(" ", "").upper()


def logical(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "logicalType": name, **more}


EXACT = Context(prec=40)
FIRST, LAST = datetime(1700, 1, 1), datetime(9000, 1, 1)
DAYS = st.dates(FIRST.date(), LAST.date())
LOCAL = st.datetimes(FIRST, LAST)
MOMENTS = st.datetimes(FIRST, LAST, timezones=st.just(UTC))
INNER = {"type": "record", "name": "In", "fields": [{"name": "n", "type": ["null", "int"]}]}
SIXTEEN = {"name": "Sixteen", "size": 9, "precision": 20, "scale": 4}
DRAWN: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "i": ("int", st.integers(-(2**31), 2**31 - 1)),
    "l": ("long", st.integers(-(2**63), 2**63 - 1)),
    "f": ("float", st.floats(allow_nan=False, width=32)),
    "d": ("double", st.floats(allow_nan=False)),
    "s": ("string", st.text(st.characters(codec="utf-8"))),
    "x": ("bytes", st.binary(max_size=20)),
    "day": (logical("int", "date"), DAYS),
    "millis": (
        logical("long", "timestamp-millis"),
        MOMENTS.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)),
    ),
    "micros": (logical("long", "timestamp-micros"), MOMENTS),
    "local": (logical("long", "local-timestamp-micros"), LOCAL),
    "money": (
        logical("bytes", "decimal", precision=9, scale=2),
        st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    ),
    "large": (
        {**logical("fixed", "decimal"), **SIXTEEN},
        st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: EXACT.scaleb(Decimal(n), -4)),
    ),
    "uuid": (logical("string", "uuid"), st.uuids()),
    "clock": (logical("int", "time-millis"), st.just(time(1, 2, 3, 4000))),
    "clocks": (logical("long", "time-micros"), st.times()),
    "maybe": (["null", logical("int", "date")], st.none() | DAYS),
    "list": (
        {"type": "array", "items": ["null", logical("long", "timestamp-micros")]},
        st.lists(st.none() | MOMENTS, max_size=3),
    ),
    "map": (
        {"type": "map", "values": logical("bytes", "decimal", precision=4, scale=1)},
        st.dictionaries(
            st.text("ab", max_size=2),
            st.integers(-9999, 9999).map(lambda n: Decimal(n).scaleb(-1)),
            max_size=3,
        ),
    ),
    "in": (INNER, st.fixed_dictionaries({"n": st.none() | st.integers(-5, 5)})),
}


@pytest.mark.long
def test_drawn_rows_of_every_logical_type_are_read_and_written_as_fastavro_has_them(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    fields = [{"name": name, "type": kind} for name, (kind, _) in DRAWN.items()]
    text = json.dumps({"type": "record", "name": "Drawn", "fields": fields})
    id = client.register_schema("drawn-value", Schema(text, "AVRO"))
    schema = fastavro.parse_schema(json.loads(text))
    drawn: list[dict[str, Any]] = []

    @settings(max_examples=150, deadline=None, phases=[Phase.generate], database=None)
    @given(st.fixed_dictionaries({name: strategy for name, (_, strategy) in DRAWN.items()}))
    def collect(row: dict[str, Any]) -> None:
        drawn.append(row)

    collect()  # one job reads and writes all of them

    def encoded(row: dict[str, Any]) -> bytes:
        body = BytesIO()
        fastavro.schemaless_writer(body, schema, row)
        return b"\0" + id.to_bytes(4, "big") + body.getvalue()

    def decoded(framed: bytes) -> Any:
        """A map has no order: its bytes may have another."""
        return fastavro.schemaless_reader(BytesIO(framed[5:]), schema, None)

    spark = sessions.session()
    format = avro().of_topic("drawn", registry.url, reads=True)
    format.prepare(spark)
    back = Avro(fixed=(text,)).of_topic("drawn", registry.url, reads=False)
    names = [field.name for field in format.schema]
    frame = spark.createDataFrame(
        [(at, encoded(row)) for at, row in enumerate(drawn)], "_at INT, value BINARY"
    ).selectExpr("*", "cast(NULL AS array<struct<key: string, value: binary>>) AS headers")
    parsed = frame.selectExpr("_at", f"{format.parsed(())} AS _parsed")
    read = parsed.selectExpr(
        "_at", "_parsed.reason AS _reason", *(f"{format.read(n, 'value')} AS `{n}`" for n in names)
    )
    written = read.selectExpr("*", f"{back.written(names, read.schema)} AS _written")
    same = ("i", "l", "f", "d", "s", "day", "local", "money", "large", "maybe")
    rows = written.orderBy("_at").select("_reason", "_written", *same).collect()
    for row, sent in zip(rows, drawn, strict=True):
        assert row["_reason"] is None
        assert decoded(bytes(row["_written"])) == decoded(encoded(sent))
        for name in same:
            assert row[name] == sent[name], name


def test_a_schema_that_the_subject_refuses_is_an_error_of_the_definition(
    registry: Registry, client: SchemaRegistryClient
) -> None:
    client.register_schema("taken-value", Schema(json.dumps(ORDER), "AVRO"))
    client.register_schema("source-value", Schema(json.dumps(PRICED), "AVRO"))
    app = App("avro-refused", registry=registry.url)
    app.stream("source", value=avro()).select("customer AS id").to(
        "taken", value=avro(name="Order")
    )
    with drive(app) as d, pytest.raises(DefinitionError, match=r"test_avro\.py:\d+: taken-value"):
        d.settle()


def test_what_cannot_be_read_is_told_where_it_is_asked_for(registry: Registry) -> None:
    app = App("avro-missing", registry=registry.url)
    with pytest.raises(DefinitionError, match=r"test_avro\.py:\d+: Subject 'nowhere-value' not"):
        app.stream("nowhere", value=avro())
    away = App("avro-away", registry="http://127.0.0.1:9")
    with pytest.raises(DefinitionError, match="No schema registry answers"):
        away.stream("nowhere", value=avro())


def test_keys_are_written_behind_an_id(registry: Registry, client: SchemaRegistryClient) -> None:
    """Text, numbers and records, the last with its id in a header."""
    framed(client, ORDER, "keyed", {"id": 1, "customer": "Kim"})
    app = App("avro-written-keys", registry=registry.url)
    keyed = app.stream("keyed", value=avro())
    keyed.to("by-name", key="customer", key_format=avro())
    keyed.to("by-number", key="id", key_format=avro())
    both = avro(name="shop.OrderKey", id_in="header")
    keyed.to("by-both", key="struct(id, customer)", key_format=both, value=avro(id_in="header"))
    assert "by-name-key, registered at the start" in str(app.explain())
    with drive(app) as d:
        d.send("keyed", framed(client, ORDER, "keyed", {"id": 1, "customer": "Kim"}))
        read = AvroDeserializer(client)

        def key(topic: str) -> Any:
            (made,) = d.records(topic)
            headers = cast(Any, list(made.headers.items()))
            return read(raw(made.key), SerializationContext(topic, MessageField.KEY, headers))

        assert key("by-name") == "Kim"
        assert key("by-number") == 1
        assert key("by-both") == {"id": 1, "customer": "Kim"}
        held = client.get_latest_version("by-both-key").schema.schema_str or ""
        assert (json.loads(held)["namespace"], json.loads(held)["name"]) == ("shop", "OrderKey")
        assert client.get_latest_version("by-number-key").schema.schema_str == '"long"'

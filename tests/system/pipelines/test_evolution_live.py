"""Writers go on to newer schemas while an application runs, in both engines and in three formats;
the registry dies meanwhile and comes back. Nothing is started again, no row is lost or wrong.
Drivers that are killed are started again, and go on with what they left."""

import io
import json
import uuid
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ottla.pipelines import App, avro, json_schema, protobuf
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.formats.format import Format
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.views import Lines
from ottla.pipelines.planning.plan import make_plan
from ottla.testing import Registry
from support.brokers import Kind as BrokerKind
from support.confluent import create_topic
from system.pipelines.struck import Struck
from system.pipelines.test_protobuf import classes, framed
from system.pipelines.test_running import eventually, live

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
ROWS = 20  # of each schema
BASE: list[dict[str, Any]] = [{"name": "id", "type": "long"}, {"name": "price", "type": "double"}]
LATER: list[dict[str, Any]] = [
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    {"name": "weight", "type": "int", "default": 1},
]


MESSAGE = """
syntax = "proto3";
message Order {
  int64 id = 1;
  double price = 2;
  %s
}
"""
LATER_FIELDS = ("string note = 3;", "repeated string tags = 4;", "optional int32 weight = 5;")


def schema(step: int) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": [*BASE, *LATER[:step]]})


def row(step: int, id: int) -> dict[str, Any]:
    more = {"note": f"n{id}", "tags": ["x"], "weight": id}
    names = [field["name"] for field in LATER[:step]]
    return {"id": id, "price": float(id), **{name: more[name] for name in names}}


class Kind(Protocol):
    def format(self) -> Format: ...
    def write(self, registry: str, topic: str, step: int, id: int) -> bytes: ...
    def read(self, registry: str, topic: str, value: bytes) -> dict[str, Any]: ...


class AsAvro:
    format = staticmethod(avro)

    def write(self, registry: str, topic: str, step: int, id: int) -> bytes:
        client = SchemaRegistryClient({"url": registry})
        made = AvroSerializer(client, schema(step))(
            row(step, id), SerializationContext(topic, MessageField.VALUE)
        )
        assert made is not None
        return made

    def read(self, registry: str, topic: str, value: bytes) -> dict[str, Any]:
        client = SchemaRegistryClient({"url": registry})
        of = SerializationContext(topic, MessageField.VALUE)
        made: dict[str, Any] = AvroDeserializer(client)(value, of)
        return made


class AsProtobuf:
    format = staticmethod(protobuf)

    def __init__(self) -> None:
        self._kinds: dict[str, Any] = {}

    def _kind(self, text: str, name: str) -> Any:
        if text not in self._kinds:
            self._kinds[text] = classes(text)[name]
        return self._kinds[text]

    def write(self, registry: str, topic: str, step: int, id: int) -> bytes:
        client = SchemaRegistryClient({"url": registry})
        text = MESSAGE % "\n  ".join(LATER_FIELDS[:step])
        schema_id = client.register_schema(f"{topic}-value", Schema(text, "PROTOBUF"))
        return framed(schema_id, self._kind(text, "Order")(**row(step, id)))

    def read(self, registry: str, topic: str, value: bytes) -> dict[str, Any]:
        client = SchemaRegistryClient({"url": registry})
        text = client.get_schema(int.from_bytes(value[1:5], "big")).schema_str or ""
        name = topic.replace("-", "_")
        made = self._kind(text, name).FromString(value[6:])
        return {"id": made.id, "doubled": made.doubled}


class AsJsonSchema:
    format = staticmethod(json_schema)
    LATER = (
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
        {"type": "integer"},
    )

    def write(self, registry: str, topic: str, step: int, id: int) -> bytes:
        names = [field["name"] for field in LATER[:step]]
        base = {"id": {"type": "integer"}, "price": {"type": "number"}}
        properties = {**base, **dict(zip(names, self.LATER, strict=False))}
        closed = {"type": "object", "properties": properties, "additionalProperties": False}
        client = SchemaRegistryClient({"url": registry})
        made = JSONSerializer(json.dumps({"title": "Order", **closed}), client)(
            row(step, id), SerializationContext(topic, MessageField.VALUE)
        )
        assert made is not None
        return made

    def read(self, registry: str, topic: str, value: bytes) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(value[5:])
        return made


class Prices:
    """What the application has written, read by others' libraries."""

    def __init__(self, bootstrap: str, topic: str, registry: str, kind: Kind) -> None:
        self._kind, self._topic, self._registry = kind, topic, registry
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": uuid.uuid4().hex,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "topic.metadata.refresh.interval.ms": 1000,
            }
        )
        self._consumer.subscribe([topic])
        self.rows: dict[int, float] = {}
        self.count = 0

    def has(self, count: int) -> bool:
        while (message := self._consumer.poll(0.2)) is not None:
            if message.error() is None:
                made = self._kind.read(self._registry, self._topic, message.value() or b"")
                self.rows[made["id"]] = made["doubled"]
                self.count += 1
        return len(self.rows) >= count

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.parametrize("latency", ["throughput", "low"])
@pytest.mark.parametrize(
    "kind", [AsAvro(), AsProtobuf(), AsJsonSchema()], ids=["avro", "protobuf", "json_schema"]
)
def test_schemas_evolve_under_a_running_application(
    driven: str, tmp_path: Path, latency: Literal["throughput", "low"], kind: Kind
) -> None:
    name = f"evolving-{uuid.uuid4().hex[:6]}"
    orders, prices = f"{name}-orders", f"{name}-prices"
    settings = {"kafkastore.topic": f"_schemas-{name}", "schema.registry.group.id": f"sr-{name}"}
    producer = Producer({"bootstrap.servers": driven, "linger.ms": 0})
    with Registry(driven, settings=settings) as registry:

        def send(step: int) -> None:
            for id in range(step * ROWS, (step + 1) * ROWS):
                producer.produce(orders, kind.write(registry.url, orders, step, id))
            assert producer.flush(30) == 0

        create_topic(driven, orders)
        send(0)
        app = App(name, bootstrap=driven, latency=latency, parallelism=1, registry=registry.url)
        app.stream(orders, value=kind.format()).select("id", "price * 2 AS doubled").to(
            prices, value=kind.format()
        )
        options = RunOptions(state=tmp_path, ui=False, archive=False)
        runner = Runner(make_plan(app.definition()), options, Lines(io.StringIO()))
        seen = Prices(driven, prices, registry.url, kind)
        with live(runner):
            eventually(lambda: seen.has(ROWS))
            for step in (1, 2):
                send(step)
                eventually(partial(seen.has, (step + 1) * ROWS))
            send(3)
            registry.kill()  # whether it was asked for the last schema already or not
            registry.start()
            eventually(lambda: seen.has(4 * ROWS))
        seen.close()
    assert seen.rows == {id: 2.0 * id for id in range(4 * ROWS)}


PROGRAM = """
import ottla
from ottla.pipelines import avro
app = ottla.App("evolving", delivery="exactly_once", registry="{registry}")
orders = app.stream("orders", value=avro())
orders.select("id", "price * 2 AS doubled").to("prices", value=avro())
"""


@pytest.mark.timeout(900)
def test_drivers_and_the_registry_die_while_schemas_evolve(
    broker_kind: BrokerKind, tmp_path: Path
) -> None:
    """Each row is there once, in what others read as committed."""
    kind = AsAvro()
    struck = Struck(broker_kind, tmp_path, "")
    producer = Producer({"bootstrap.servers": struck.bootstrap, "enable.idempotence": True})
    create_topic(struck.bootstrap, "orders")
    create_topic(struck.bootstrap, "prices")
    settings = {"kafkastore.topic.replication.factor": 1}
    try:
        with Registry(struck.bootstrap, settings=settings) as registry:

            def send(step: int) -> None:
                for id in range(step * ROWS, (step + 1) * ROWS):
                    producer.produce("orders", kind.write(registry.url, "orders", step, id))
                assert producer.flush(30) == 0

            send(0)
            (tmp_path / "program.py").write_text(PROGRAM.format(registry=registry.url))
            seen = Prices(struck.bootstrap, "prices", registry.url, kind)
            struck.start()
            eventually(lambda: seen.has(ROWS))
            send(1)
            struck.strike("driver")
            eventually(lambda: seen.has(2 * ROWS))
            send(2)
            registry.kill()
            registry.start()
            struck.strike("jvm")
            eventually(lambda: seen.has(3 * ROWS))
            send(3)
            eventually(lambda: seen.has(4 * ROWS))
            struck.stop()
            seen.has(4 * ROWS + 1)
            seen.close()
    finally:
        struck.close()
    assert seen.rows == {id: 2.0 * id for id in range(4 * ROWS)}
    assert seen.count == 4 * ROWS

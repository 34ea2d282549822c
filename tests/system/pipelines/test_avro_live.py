"""Writers go on to newer schemas while an application runs, in both engines; the registry dies
meanwhile and comes back. Nothing is started again, no row is lost or wrong."""

import io
import json
import uuid
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ottla.pipelines import App, avro
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.lifecycle.running import Runner
from ottla.pipelines.lifecycle.views import Lines
from ottla.pipelines.planning.plan import make_plan
from ottla.testing import Registry
from support.confluent import create_topic
from system.pipelines.test_running import eventually, live

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
ROWS = 20  # of each schema
BASE: list[dict[str, Any]] = [{"name": "id", "type": "long"}, {"name": "price", "type": "double"}]
LATER: list[dict[str, Any]] = [
    {"name": "note", "type": ["null", "string"], "default": None},
    {"name": "tags", "type": {"type": "array", "items": "string"}, "default": []},
    {"name": "weight", "type": "int", "default": 1},
]


def schema(step: int) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": [*BASE, *LATER[:step]]})


def row(step: int, id: int) -> dict[str, Any]:
    more = {"note": f"n{id}", "tags": ["x"], "weight": id}
    names = [field["name"] for field in LATER[:step]]
    return {"id": id, "price": float(id), **{name: more[name] for name in names}}


class Prices:
    """What the application has written, read by confluent-kafka."""

    def __init__(self, bootstrap: str, topic: str, registry: str) -> None:
        client = SchemaRegistryClient({"url": registry})
        self._read = AvroDeserializer(client)
        self._of = SerializationContext(topic, MessageField.VALUE)
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

    def has(self, count: int) -> bool:
        while (message := self._consumer.poll(0.2)) is not None:
            if message.error() is None:
                made = self._read(message.value(), self._of)
                self.rows[made["id"]] = made["doubled"]
        return len(self.rows) >= count

    def close(self) -> None:
        self._consumer.close()


@pytest.mark.parametrize("latency", ["throughput", "low"])
def test_schemas_evolve_under_a_running_application(
    driven: str, tmp_path: Path, latency: Literal["throughput", "low"]
) -> None:
    name = f"evolving-{uuid.uuid4().hex[:6]}"
    orders, prices = f"{name}-orders", f"{name}-prices"
    settings = {"kafkastore.topic": f"_schemas-{name}", "schema.registry.group.id": f"sr-{name}"}
    producer = Producer({"bootstrap.servers": driven, "linger.ms": 0})
    with Registry(driven, settings=settings) as registry:

        def send(step: int) -> None:
            client = SchemaRegistryClient({"url": registry.url})
            write = AvroSerializer(client, schema(step))
            for id in range(step * ROWS, (step + 1) * ROWS):
                value = write(row(step, id), SerializationContext(orders, MessageField.VALUE))
                producer.produce(orders, value)
            assert producer.flush(30) == 0

        create_topic(driven, orders)
        send(0)
        app = App(name, bootstrap=driven, latency=latency, parallelism=1, registry=registry.url)
        app.stream(orders, value=avro()).select("id", "price * 2 AS doubled").to(
            prices, value=avro()
        )
        options = RunOptions(state=tmp_path, ui=False, archive=False)
        runner = Runner(make_plan(app.definition()), options, Lines(io.StringIO()))
        seen = Prices(driven, prices, registry.url)
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

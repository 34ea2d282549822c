"""Changes of a table as Avro with a registry, and from there into another table, on Spark."""

from uuid import uuid4

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from ottla.connect.runs.spark_runner import SparkRunner
from support.cdc import config
from support.postgres import Postgres
from system.connect.running import committed, make_topics, running, until
from system.registry.processes import Registry

COLUMNS = "id int PRIMARY KEY, item text, price numeric(8,2), at timestamp(3), raw bytea"
FILL = (
    "INSERT INTO {} SELECT n, 'item ' || n, n / 4.0, timestamp '2026-01-02 03:04:05.678',"
    " '\\x00ff' FROM generate_series({}, {}) n"
)


def avro(registry: Registry) -> dict[str, str]:
    return {
        name: value
        for side in ("key", "value")
        for name, value in {
            f"{side}.converter": "io.confluent.connect.avro.AvroConverter",
            f"{side}.converter.schema.registry.url": registry.url,
        }.items()
    }


@pytest.mark.long
@pytest.mark.timeout(600)
def test_changes_go_through_avro_into_another_table(
    runner: SparkRunner, bootstrap: str, postgres: Postgres, slot: str
) -> None:
    prefix = f"shop-{uuid4().hex[:8]}"
    topic = f"{prefix}.public.orders"
    make_topics(bootstrap, **{topic: 1})
    postgres.run(f"CREATE TABLE orders ({COLUMNS})", FILL.format("orders", 1, 50))
    with Registry(bootstrap, name="cdc") as registry:
        source = (
            avro(registry)
            | config(
                postgres,
                topic_prefix=prefix,
                slot_name=slot,
                name=prefix,
                table_include_list="public.orders",
            )
            | {
                "key.converter.scrub.invalid.names": "true",
                "value.converter.scrub.invalid.names": "true",
            }
        )
        sink = avro(registry) | {
            "name": f"{prefix}-sink",
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "connection.url": postgres.jdbc_url,
            "connection.username": postgres.user,
            "connection.password": postgres.password,
            "topics": topic,
            "collection.name.format": "copied",
            "insert.mode": "upsert",
            "primary.key.mode": "record_key",
            "schema.evolution": "basic",
            "delete.enabled": "true",
        }
        with (
            running(runner, bootstrap, source) as read,
            running(runner, bootstrap, sink) as written,
        ):
            committed(bootstrap, topic, 50)
            postgres.run(
                FILL.format("orders", 51, 60),
                "UPDATE orders SET item = NULL WHERE id = 7",
                "DELETE FROM orders WHERE id = 8",
            )
            wanted = postgres.rows("SELECT id, item, price, at, raw FROM orders ORDER BY id")

            def copied() -> list[tuple[object, ...]]:
                if postgres.rows("SELECT to_regclass('copied')")[0][0] is None:
                    return []
                return postgres.rows("SELECT id, item, price, at, raw FROM copied ORDER BY id")

            until(
                lambda: copied() == wanted,
                lambda: (list(read.queue), list(written.queue), copied()[:9], wanted[:9]),
            )
        client = SchemaRegistryClient({"url": registry.url})
        message = committed(bootstrap, topic, 63)[0]
        envelope = AvroDeserializer(client)(
            message.value(), SerializationContext(topic, MessageField.VALUE, [])
        )
        assert isinstance(envelope, dict)
        assert (envelope["op"], envelope["before"]) == ("r", None)
        assert envelope["after"]["item"] == "item 1"

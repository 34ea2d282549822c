"""The connector on Spark, through real topics and with a schema history in Kafka: once each."""

import json
from uuid import uuid4

import pytest

from ottla.connect.runs.offsets import read_offsets
from ottla.connect.runs.spark_runner import SparkRunner
from support.mariadb import MariaDb
from support.mysql_cdc import config
from system.connect.running import JSON, OFFSETS, committed, make_topics, plan_of, running


@pytest.mark.long
@pytest.mark.timeout(900)
def test_rows_and_changes_arrive_once_through_two_runs(
    runner: SparkRunner, bootstrap: str, mariadb: MariaDb
) -> None:
    prefix = f"shop-{uuid4().hex[:8]}"
    topic = f"{prefix}.{mariadb.name}.orders"
    make_topics(bootstrap, **{topic: 1, prefix: 1})
    keys = config(mariadb, topic_prefix=prefix, name=prefix) | {
        "key.converter": JSON,
        "value.converter": JSON,
        "schema.history.internal.kafka.topic": f"{prefix}-history",
        "schema.history.internal.kafka.bootstrap.servers": bootstrap,
    }
    mariadb.run(
        "CREATE TABLE orders (id int PRIMARY KEY, item text)",
        "INSERT INTO orders SELECT seq, 'old' FROM seq_1_to_100",
    )
    with running(runner, bootstrap, keys):
        committed(bootstrap, topic, 100)
        mariadb.run("INSERT INTO orders SELECT seq, 'new' FROM seq_101_to_150")
        committed(bootstrap, topic, 150)
    mariadb.run(
        "ALTER TABLE orders ADD COLUMN late int DEFAULT 7 FIRST",
        "INSERT INTO orders (id, item) SELECT seq, 'late' FROM seq_151_to_200",
    )
    with running(runner, bootstrap, keys):
        messages = committed(bootstrap, topic, 200)
    payloads = [json.loads(one.value() or b"")["payload"] for one in messages]
    assert [one["after"]["id"] for one in payloads] == list(range(1, 201))
    assert [one["op"] for one in payloads] == ["r"] * 100 + ["c"] * 100
    assert payloads[-1]["after"] == {"late": 7, "id": 200, "item": "late"}
    plan = plan_of(bootstrap, keys)
    stored = read_offsets(plan.connection, OFFSETS, prefix).get({"server": prefix})
    assert list(stored or {}) == ["ts_sec", "file", "pos", "gtids", "server_id"]

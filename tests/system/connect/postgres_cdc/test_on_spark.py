"""The connector on Spark, through real topics: once each, in order, and how soon."""

import json
import statistics
import time
from uuid import uuid4

import pytest

from ottla.connect.runs.offsets import read_offsets
from ottla.connect.runs.spark_runner import SparkRunner
from support.cdc import config
from support.postgres import Postgres
from system.connect.running import JSON, OFFSETS, committed, make_topics, plan_of, running


@pytest.mark.long
@pytest.mark.timeout(900)
def test_rows_and_changes_arrive_once_through_two_runs(
    runner: SparkRunner, bootstrap: str, postgres: Postgres, slot: str
) -> None:
    prefix = f"shop-{uuid4().hex[:8]}"
    topic = f"{prefix}.public.orders"
    make_topics(bootstrap, **{topic: 1})
    converters = {"key.converter": JSON, "value.converter": JSON}
    keys = config(postgres, topic_prefix=prefix, slot_name=slot, name=prefix) | converters
    postgres.run(
        "CREATE TABLE orders (id int PRIMARY KEY, item text)",
        "INSERT INTO orders SELECT n, 'old' FROM generate_series(1, 100) n",
    )
    with running(runner, bootstrap, keys):
        committed(bootstrap, topic, 100)
        postgres.run("INSERT INTO orders SELECT n, 'new' FROM generate_series(101, 150) n")
        committed(bootstrap, topic, 150)
    postgres.run("INSERT INTO orders SELECT n, 'late' FROM generate_series(151, 200) n")
    delays = []
    with running(runner, bootstrap, keys):
        committed(bootstrap, topic, 200)
        for number in range(201, 211):
            postgres.run(f"INSERT INTO orders VALUES ({number}, 'timed')")
            began = time.monotonic()
            messages = committed(bootstrap, topic, number)
            delays.append(time.monotonic() - began)
    print(f"commit to read committed: median {statistics.median(delays):.3f} s of {delays}")
    payloads = [json.loads(one.value() or b"")["payload"] for one in messages]
    assert [one["after"]["id"] for one in payloads] == list(range(1, 211))
    assert [one["op"] for one in payloads] == ["r"] * 100 + ["c"] * 110
    plan = plan_of(bootstrap, keys)
    stored = read_offsets(plan.connection, OFFSETS, prefix).get({"server": prefix})
    assert stored is not None
    assert stored["messageType"] == "COMMIT"

"""What goes wrong is a sentence in the trace that REST shows, without a secret; and what is mended
goes on. One worker with Spark, a broker and a PostgreSQL."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ottla.client.connection import Connection
from ottla.testing.connect import Connect
from support.cdc import config as cdc
from support.postgres import Postgres, running_postgres
from system.connect.asking import ask, until
from system.connect.requests import delete, get, patch, post, put
from system.connect.running import JSON, STRING, committed, lines_in
from system.connect.running import until as come_true

pytestmark = [pytest.mark.java, pytest.mark.long, pytest.mark.timeout(900)]
SECRET = "a password that is nobody's name"


@pytest.fixture(scope="module")
def worker(
    bootstrap: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Connect, Path]]:
    secrets = tmp_path_factory.mktemp("secrets") / "file"
    secrets.write_text(f"password={SECRET}\n")
    provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
    settings: dict[str, str | int] = {
        "group.id": "traces",
        "config.providers": "file",
        "config.providers.file.class": provider,
        "config.providers.file.param.allowed.paths": str(secrets.parent),
        **{f"{kind}.storage.topic": f"traces-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": 1 for kind in ("config", "offset", "status")},
    }
    with Connect(bootstrap, settings=settings, start_within_s=180) as started:
        yield started, secrets
        assert SECRET not in started.log_file.read_text()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server.database()


def begin(worker: Connect, name: str, config: dict[str, str]) -> None:
    answer = ask(worker.url, put(f"/connectors/{name}/config", config))
    assert answer.status == 201, answer.body


def sentence(worker: Connect, name: str) -> str:
    """The first line of the trace, when the task, or the connector itself, has failed."""
    found: list[str] = []

    def failed() -> bool:
        status = ask(worker.url, get(f"/connectors/{name}/status")).body
        told = [status.get("connector", {}), *status.get("tasks", [])]
        found[:] = [one["trace"] for one in told if one.get("state") == "FAILED"]
        return bool(found)

    come_true(failed, lambda: ask(worker.url, get(f"/connectors/{name}/status")).body)
    assert SECRET not in found[0]
    return found[0].splitlines()[0]


def test_a_slot_that_was_dropped_meanwhile(
    worker: tuple[Connect, Path], bootstrap: str, postgres: Postgres
) -> None:
    connect, _ = worker
    postgres.run("CREATE TABLE kept (id int PRIMARY KEY)", "INSERT INTO kept VALUES (1)")
    keys = cdc(postgres, name="slotless", topic_prefix="slotless", slot_name="slotless")
    keys |= {"table.include.list": "public.kept"}
    begin(connect, "slotless", keys)
    committed(bootstrap, "slotless.public.kept", 1)
    ask(connect.url, put("/connectors/slotless/stop"))
    until(connect.url, "slotless", "STOPPED")
    postgres.drop_slot("slotless")
    postgres.run("INSERT INTO kept VALUES (2)")
    ask(connect.url, put("/connectors/slotless/resume"))
    said = sentence(connect, "slotless")
    assert "The replication slot slotless is gone, and with it the changes since" in said
    assert "snapshot.mode=when_needed" in said
    # As it says: without its offsets it begins anew.
    ask(connect.url, put("/connectors/slotless/stop"))
    until(connect.url, "slotless", "STOPPED")
    server = {"partition": {"server": "slotless"}, "offset": {"lsn": "0/16"}}
    refused = ask(connect.url, patch("/connectors/slotless/offsets", {"offsets": [server]}))
    assert refused.status == 500
    assert "'lsn'" in refused.body["message"]
    reset = ask(connect.url, delete("/connectors/slotless/offsets"))
    assert reset.status == 200
    assert "if this connector manages offsets externally" in reset.body["message"]  # as Debezium's
    ask(connect.url, put("/connectors/slotless/resume"))
    committed(bootstrap, "slotless.public.kept", 3)


def test_credentials_that_have_expired(worker: tuple[Connect, Path], postgres: Postgres) -> None:
    connect, secrets = worker
    postgres.run(
        f"CREATE ROLE late LOGIN REPLICATION PASSWORD $${SECRET}$$ VALID UNTIL '2020-01-01'"
    )
    keys = cdc(postgres, name="late", topic_prefix="late", slot_name="late")
    keys |= {"database.user": "late", "database.password": f"${{file:{secrets}:password}}"}
    begin(connect, "late", keys)
    assert "password authentication failed for user" in sentence(connect, "late")
    access = {"connection.url": postgres.jdbc_url, "connection.user": "late"}
    reads = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.password": f"${{file:{secrets}:password}}",
        "mode": "bulk",
        "topic.prefix": "late-",
        "connection.attempts": "1",
    }
    begin(connect, "later", access | reads)
    assert "password authentication failed for user" in sentence(connect, "later")
    postgres.run("ALTER ROLE late SUPERUSER VALID UNTIL 'infinity'")
    assert ask(connect.url, post("/connectors/later/restart?includeTasks=true")).status in (
        202,
        204,
    )
    until(connect.url, "later", "RUNNING")


def test_a_column_that_is_not_there_and_may_not_be_made(
    worker: tuple[Connect, Path], bootstrap: str, postgres: Postgres
) -> None:
    connect, _ = worker
    postgres.run("CREATE TABLE narrow (a int)")
    schema = {
        "type": "struct",
        "fields": [{"field": name, "type": "int32", "optional": True} for name in ("a", "b")],
    }
    send(bootstrap, "narrow", {"schema": schema, "payload": {"a": 1, "b": 2}})
    writes = {
        "connector.class": "io.confluent.connect.jdbc.JdbcSinkConnector",
        "connection.url": postgres.jdbc_url,
        "connection.user": postgres.user,
        "connection.password": postgres.password,
        "topics": "narrow",
        "value.converter": JSON,
    }
    begin(connect, "narrow", writes)
    said = sentence(connect, "narrow")
    assert "narrow" in said
    assert "b" in said
    postgres.run("ALTER TABLE narrow ADD b int")
    ask(connect.url, post("/connectors/narrow/tasks/0/restart"))
    come_true(lambda: postgres.rows("SELECT a, b FROM narrow") == [(1, 2)])


def test_offsets_that_are_set_by_hand_are_where_it_goes_on(
    worker: tuple[Connect, Path], bootstrap: str, tmp_path: Path
) -> None:
    connect, _ = worker
    into, out = tmp_path / "in", tmp_path / "out"
    into.write_text("1\n2\n3\n")
    plain = {"value.converter": STRING}
    source = {"connector.class": "FileStreamSource", "file": str(into), "topic": "surgery"}
    sink = {"connector.class": "FileStreamSink", "file": str(out), "topics": "surgery"}
    begin(connect, "cut", source | plain)
    begin(connect, "sewn", sink | plain)
    come_true(lambda: lines_in(out) == ["1", "2", "3"])
    for name in ("cut", "sewn"):
        ask(connect.url, put(f"/connectors/{name}/stop"))
        until(connect.url, name, "STOPPED")
    place = {"partition": {"filename": str(into)}, "offset": {"position": 4}}
    altered = ask(connect.url, patch("/connectors/cut/offsets", {"offsets": [place]}))
    assert altered.status == 200, altered.body
    place = {"partition": {"kafka_topic": "surgery", "kafka_partition": 0}, "offset": 1}
    refused = ask(connect.url, patch("/connectors/sewn/offsets", {"offsets": [place]}))
    assert refused.status in (400, 500)
    place["offset"] = {"kafka_offset": 1}
    altered = ask(connect.url, patch("/connectors/sewn/offsets", {"offsets": [place]}))
    assert altered.status == 200, altered.body
    for name in ("cut", "sewn"):
        ask(connect.url, put(f"/connectors/{name}/resume"))
    # The line at position 4 again, and records from offset 1 on.
    come_true(lambda: lines_in(out) == ["1", "2", "3", "2", "3", "3"], lambda: lines_in(out))


def send(bootstrap: str, topic: str, value: Any) -> None:
    producer = Connection(bootstrap).producer()
    producer.produce(topic, json.dumps(value))
    assert producer.flush(30) == 0

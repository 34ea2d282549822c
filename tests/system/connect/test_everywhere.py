"""A table into a topic, and from there into each kind of target: what is there is the table.

On any broker and any Spark: `--broker kafka`, `--master local-cluster[2,1,1024]`.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from opensearchpy import OpenSearch

from ottla.connect.runs.spark_runner import SparkRunner
from support.hdfs import running_hdfs
from support.opensearch import running_opensearch
from support.postgres import Postgres, running_postgres
from support.s3 import SECRET, running_gateway
from system.connect.running import JSON, committed, make_topics, running, until
from system.connect.test_sinks_under_fire import in_hdfs, in_lake

pytestmark = [
    pytest.mark.java,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"),
    pytest.mark.timeout(900),
]
ROWS = 600
FLUSH = 100
CONVERTERS = {"key.converter": JSON, "value.converter": JSON}
PLAIN = {**CONVERTERS, "value.converter.schemas.enable": "false"}
FILES = {
    **PLAIN,
    "flush.size": str(FLUSH),
    "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
}


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        database = server.database()
        database.run(
            "CREATE TABLE orders (id int PRIMARY KEY, item text)",
            f"INSERT INTO orders SELECT n, 'item ' || n FROM generate_series(1, {ROWS}) n",
        )
        yield database


def access(postgres: Postgres) -> dict[str, str]:
    return {
        "connection.url": postgres.jdbc_url,
        "connection.user": postgres.user,
        "connection.password": postgres.password,
    }


def copied(runner: SparkRunner, bootstrap: str, postgres: Postgres, schemas: bool) -> str:
    """The topic with the table's rows, in which another run goes on where the first one ended."""
    prefix = f"everywhere-{uuid4().hex[:8]}-"
    topic = f"{prefix}orders"
    make_topics(bootstrap, **{topic: 1})
    config = {
        "name": f"{prefix}source",
        "connector.class": "jdbc-source",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "table.whitelist": "orders",
        "topic.prefix": prefix,
        "poll.interval.ms": "200",
        **access(postgres),
        **CONVERTERS,
        "value.converter.schemas.enable": str(schemas).lower(),
    }
    for _ in range(2):
        with running(runner, bootstrap, config):
            messages = committed(bootstrap, topic, ROWS)
    assert len(messages) == ROWS
    return topic


def test_rows_become_rows(runner: SparkRunner, bootstrap: str, postgres: Postgres) -> None:
    topic = copied(runner, bootstrap, postgres, schemas=True)
    config = {
        "name": f"{topic}-rows",
        "connector.class": "jdbc-sink",
        "topics": topic,
        "table.name.format": "copy_orders",
        "auto.create": "true",
        **access(postgres),
        **CONVERTERS,
    }

    def there() -> bool:
        made = postgres.rows("SELECT to_regclass('copy_orders')")[0][0]
        return bool(made) and postgres.rows("SELECT count(*) FROM copy_orders")[0][0] >= ROWS

    with running(runner, bootstrap, config) as events:
        until(there, lambda: list(events.queue))
    sql = "SELECT id, item FROM {} ORDER BY id"
    assert postgres.rows(sql.format("copy_orders")) == postgres.rows(sql.format("orders"))


def lines_of(files: dict[str, bytes]) -> list[int]:
    """The rows' numbers, as files of so many lines hold them one after another."""
    lines = [files[name].splitlines() for name in sorted(files)]
    assert {len(one) for one in lines} == {FLUSH}
    return [json.loads(line)["id"] for one in lines for line in one]


@pytest.mark.foreign
def test_rows_become_files_of_s3(
    runner: SparkRunner, bootstrap: str, postgres: Postgres, tmp_path: Path
) -> None:
    topic = copied(runner, bootstrap, postgres, schemas=False)
    with running_gateway(tmp_path) as gateway:
        config = {
            "name": f"{topic}-files",
            "connector.class": "s3-sink",
            "topics": topic,
            "s3.bucket.name": "lake",
            "s3.region": "us-east-1",
            "store.url": gateway.url,
            "aws.access.key.id": "me",
            "aws.secret.access.key": SECRET,
            **FILES,
        }
        place = gateway.lake / "topics" / topic
        with running(runner, bootstrap, config) as events:
            until(lambda: len(in_lake(place)) >= ROWS // FLUSH, lambda: list(events.queue))
        assert lines_of(in_lake(place)) == list(range(1, ROWS + 1))


def test_rows_become_files_of_hdfs(
    runner: SparkRunner, bootstrap: str, postgres: Postgres, tmp_path: Path
) -> None:
    topic = copied(runner, bootstrap, postgres, schemas=False)
    with running_hdfs(tmp_path) as hdfs:
        config = {
            "name": f"{topic}-files",
            "connector.class": "hdfs-sink",
            "topics": topic,
            "hdfs.url": hdfs.url,
            **FILES,
        }

        def there() -> dict[str, bytes]:
            return in_hdfs(hdfs.url, f"/topics/{topic}")

        with running(runner, bootstrap, config) as events:
            until(lambda: len(there()) >= ROWS // FLUSH, lambda: list(events.queue))
        assert lines_of(there()) == list(range(1, ROWS + 1))


def test_rows_become_documents(
    runner: SparkRunner, bootstrap: str, postgres: Postgres, tmp_path: Path
) -> None:
    topic = copied(runner, bootstrap, postgres, schemas=False)
    with running_opensearch(tmp_path) as node:
        client = OpenSearch(node.url)
        config = {
            "name": f"{topic}-documents",
            "connector.class": "elasticsearch-sink",
            "topics": topic,
            "connection.url": node.url,
            "key.ignore": "true",
            **PLAIN,
        }

        def there() -> bool:
            if not client.indices.exists(index=topic):
                return False
            client.indices.refresh(index=topic)
            return bool(client.count(index=topic)["count"] >= ROWS)

        with running(runner, bootstrap, config) as events:
            until(there, lambda: list(events.queue))
        found = client.search(index=topic, size=ROWS + 1)["hits"]["hits"]
    assert sorted(one["_source"]["id"] for one in found) == list(range(1, ROWS + 1))
    assert {one["_id"] for one in found} == {f"{topic}+0+{at}" for at in range(ROWS)}

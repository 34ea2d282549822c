"""Sinks whose targets hold no offsets, as worker, JVM and target are killed: what is there in the
end is what the topic says, once each, under the same names.

Records are written all the while to two partitions; where they stand decides what has to be where.
"""

import json
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from opensearchpy import OpenSearch

from ottla.client.connection import Connection
from ottla.testing.connect import Connect
from support.hdfs import running_hdfs
from support.opensearch import running_opensearch
from support.s3 import SECRET, running_gateway
from system.connect.asking import ask
from system.connect.requests import get, put
from system.connect.running import JSON, committed, make_topics, until
from system.connect.test_runs_under_fire import jvms_of

pytestmark = [
    pytest.mark.java,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"),
    pytest.mark.timeout(1200),
]
PARTITIONS = 2
FLUSH = 50


class Fire:
    """A worker that runs one sink, and records for it."""

    def __init__(self, bootstrap: str) -> None:
        own = uuid4().hex[:8]
        self.topic = f"fire-{own}"
        make_topics(bootstrap, **{self.topic: PARTITIONS})
        storages = ("config", "offset", "status")
        settings: dict[str, str | int] = {
            "group.id": f"connect-{own}",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
            **{f"{kind}.storage.topic": f"{kind}-{own}" for kind in storages},
            **{f"{kind}.storage.replication.factor": 1 for kind in storages},
        }
        self.bootstrap = bootstrap
        self.worker = Connect(bootstrap, settings=settings, start_within_s=180)
        self._done = threading.Event()
        self._feeder = threading.Thread(target=self._feed)
        self._name = f"sink-{own}"

    def __enter__(self) -> "Fire":
        self.worker.start()
        self._feeder.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._feeder.join()
        self.worker.close()

    def begin(self, config: dict[str, str]) -> None:
        common = {
            "topics": self.topic,
            "tasks.max": "2",
            "key.converter": JSON,
            "value.converter": JSON,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            "errors.retry.timeout": "-1",
            "errors.retry.delay.max.ms": "2000",
        }
        answer = ask(self.worker.url, put(f"/connectors/{self._name}/config", common | config))
        assert answer.status == 201, answer.body

    def strike(self, what: str) -> None:
        if what == "jvm":
            for pid in jvms_of(self.worker.pid):
                os.kill(pid, signal.SIGKILL)
        else:
            self.worker.kill()
            self.worker.start()

    def wait(self, true: Callable[[], bool]) -> None:
        until(true, lambda: ask(self.worker.url, get(f"/connectors/{self._name}/status")).body)

    def end(self) -> dict[int, list[Any]]:
        """Values of each partition, all that there will be."""
        self._done.set()
        self._feeder.join()
        found: dict[int, list[Any]] = {at: [] for at in range(PARTITIONS)}
        for one in committed(self.bootstrap, self.topic, 0, PARTITIONS):
            found[one.partition() or 0].append(json.loads(one.value() or b""))
        return found

    def _feed(self) -> None:
        producer = Connection(self.bootstrap).producer()
        number = 0
        while not self._done.wait(0.02):
            for _ in range(10):
                value = json.dumps({"n": number})
                producer.produce(self.topic, value, partition=number % PARTITIONS)
                number += 1
            producer.flush(30)


@pytest.fixture
def fire(bootstrap: str) -> Iterator[Fire]:
    with Fire(bootstrap) as burning:
        yield burning


def files_of(topic: str, values: dict[int, list[Any]], *, ends: bool) -> dict[str, bytes]:
    """What has to be there: whole files, by name."""
    wanted = {}
    for partition, all_of_it in values.items():
        for first in range(0, len(all_of_it) - FLUSH + 1, FLUSH):
            end = f"+{first + FLUSH - 1:010}" if ends else ""
            name = f"partition={partition}/{topic}+{partition}+{first:010}{end}.json"
            lines = [json.dumps(one, separators=(",", ":")) for one in all_of_it[first:][:FLUSH]]
            wanted[name] = "".join(f"{line}\n" for line in lines).encode()
    return wanted


def under_fire(
    fire: Fire, there: Callable[[], dict[str, Any]], strikes: list[Callable[[], None]]
) -> dict[int, list[Any]]:
    for strike in strikes:
        before = len(there())
        fire.wait(lambda: len(there()) > before + 3)  # noqa: B023
        strike()
    before = len(there())
    fire.wait(lambda: len(there()) > before + 3)
    return fire.end()


def in_lake(folder: Path) -> dict[str, bytes]:
    found = sorted(one for one in folder.rglob("*.json") if one.is_file())
    return {str(one.relative_to(folder)): one.read_bytes() for one in found}


@pytest.mark.foreign
def test_s3_has_each_record_once_in_its_file(fire: Fire, tmp_path: Path) -> None:
    with running_gateway(tmp_path) as gateway:
        place = gateway.lake / "topics" / fire.topic
        fire.begin(
            {
                "connector.class": "io.confluent.connect.s3.S3SinkConnector",
                "s3.bucket.name": "lake",
                "s3.region": "us-east-1",
                "store.url": gateway.url,
                "aws.access.key.id": "me",
                "aws.secret.access.key": SECRET,
                "flush.size": str(FLUSH),
                "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
            }
        )

        def replaced() -> None:
            gateway.kill()
            gateway.start()

        strikes = [lambda: fire.strike("jvm"), replaced, lambda: fire.strike("worker")]
        values = under_fire(fire, lambda: in_lake(place), strikes)
        wanted = files_of(fire.topic, values, ends=False)
        fire.wait(lambda: len(in_lake(place)) >= len(wanted))
        assert in_lake(place) == wanted
        assert SECRET not in fire.worker.log_file.read_text()
        print(f"S3: {len(wanted)} files of {FLUSH} records, as they had to be")


def test_hdfs_has_each_record_once_in_its_file(fire: Fire, tmp_path: Path) -> None:
    with running_hdfs(tmp_path) as hdfs:
        fire.begin(
            {
                "connector.class": "io.confluent.connect.hdfs.HdfsSinkConnector",
                "hdfs.url": hdfs.url,
                "flush.size": str(FLUSH),
                "format.class": "io.confluent.connect.hdfs.json.JsonFormat",
            }
        )

        def replaced() -> None:
            hdfs.kill("namenode.NameNode")
            hdfs.start_name_node()

        def there() -> dict[str, bytes]:
            return in_hdfs(hdfs.url, f"/topics/{fire.topic}")

        strikes = [lambda: fire.strike("jvm"), replaced, lambda: fire.strike("worker")]
        values = under_fire(fire, lambda: names_in_hdfs(hdfs.url, fire.topic), strikes)
        wanted = files_of(fire.topic, values, ends=True)
        fire.wait(lambda: len(names_in_hdfs(hdfs.url, fire.topic)) >= len(wanted))
        assert there() == wanted
        print(f"HDFS: {len(wanted)} files of {FLUSH} records, as they had to be")


def names_in_hdfs(url: str, topic: str) -> dict[str, str]:
    from hdfs_native import Client

    root = f"/topics/{topic}"
    try:
        found = [one.path for one in Client(url).list_status(root, recursive=True)]
    except Exception:  # away, or nothing is there yet: its errors have no kinds
        return {}
    return {one.partition(f"{root}/")[2]: one for one in found if one.endswith(".json")}


def in_hdfs(url: str, root: str) -> dict[str, bytes]:
    from hdfs_native import Client

    found = {}
    for name, path in names_in_hdfs(url, root.rpartition("/")[2]).items():
        with Client(url).read(path) as file:
            found[name] = bytes(file.read())
    return found


def test_an_index_has_each_record_once(fire: Fire, tmp_path: Path) -> None:
    with running_opensearch(tmp_path) as node:
        client = OpenSearch(node.url)
        fire.begin(
            {
                "connector.class": "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
                "connection.url": node.url,
                "key.ignore": "true",
                "max.retries": "1",
            }
        )

        def there() -> dict[str, Any]:
            if not client.indices.exists(index=fire.topic):
                return {}
            client.indices.refresh(index=fire.topic)
            return dict.fromkeys(map(str, range(client.count(index=fire.topic)["count"])))

        def frozen() -> None:
            os.kill(node.pid, signal.SIGSTOP)
            threading.Event().wait(5)
            os.kill(node.pid, signal.SIGCONT)

        strikes = [lambda: fire.strike("jvm"), frozen, lambda: fire.strike("worker")]
        values = under_fire(fire, there, strikes)
        wanted = {
            f"{fire.topic}+{partition}+{offset}": value
            for partition, all_of_it in values.items()
            for offset, value in enumerate(all_of_it)
        }
        fire.wait(lambda: len(there()) >= len(wanted))
        found: dict[str, Any] = {}
        page = client.search(index=fire.topic, size=1000, scroll="1m")
        while page["hits"]["hits"]:
            found |= {one["_id"]: one["_source"] for one in page["hits"]["hits"]}
            page = client.scroll(scroll_id=page["_scroll_id"], scroll="1m")
        assert found == wanted
        print(f"OpenSearch: {len(wanted)} documents, as they had to be")

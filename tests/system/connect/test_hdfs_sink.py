"""hdfs-sink before HDFS itself: files with their first and last offset, whole or not there."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.connect.connector import ConnectError, RetriableError, TopicPartition
from ottla.connect.connectors.hdfs_sink import make
from ottla.connect.data import Record
from ottla.ports.network import free_ports
from support.hdfs import Hdfs, running_hdfs

pytestmark = [
    pytest.mark.java,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with running_hdfs(tmp_path_factory.mktemp("hdfs")) as started:
        yield started


def config(url: str, **keys: str) -> dict[str, str]:
    return {
        "hdfs.url": url,
        "flush.size": "3",
        "format.class": "io.confluent.connect.hdfs.json.JsonFormat",
        **{name.replace("_", "."): one for name, one in keys.items()},
    }


def records(count: int) -> Iterator[Record]:
    for at in range(count):
        yield Record(topic="t", partition=0, value={"n": at}, timestamp=at, original=("t", 0, at))


def refuse(record: Record, error: Exception) -> None:
    raise error


def contents(url: str, folder: str) -> dict[str, bytes]:
    from hdfs_native import Client

    client = Client(url)
    found = {}
    for one in client.list_status(folder):
        with client.read(one.path) as file:
            found[Path(one.path).name] = bytes(file.read())
    return found


def test_whole_files_arrive_and_arrive_again_as_the_same(hdfs: Hdfs) -> None:
    made = make(config(hdfs.url), "hdfs-sink")
    made.start()
    seen = []
    for _ in range(2):
        assert made.task().put(TopicPartition("t", 0), records(8), refuse) == 6
        seen.append(contents(hdfs.url, "/topics/t/partition=0"))
    assert sorted(seen[0]) == [
        "t+0+0000000000+0000000002.json",
        "t+0+0000000003+0000000005.json",
    ]
    assert seen[0]["t+0+0000000003+0000000005.json"] == b'{"n":3}\n{"n":4}\n{"n":5}\n'
    assert seen[0] == seen[1]


def test_a_name_node_that_is_away_is_said_so() -> None:
    (port,) = free_ports(1)
    away = make(config(f"hdfs://127.0.0.1:{port}"), "hdfs-sink")
    with pytest.raises(ConnectError, match="cannot be reached"):
        away.start()
    with pytest.raises(RetriableError, match="cannot be written"):
        away.task().put(TopicPartition("t", 0), records(3), refuse)

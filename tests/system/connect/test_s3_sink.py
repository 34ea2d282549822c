"""s3-sink before a store with S3's interface: Versity's gateway over a folder."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.connect.connector import ConnectError, RetriableError, TopicPartition
from ottla.connect.connectors.s3_sink import make
from ottla.connect.data import Record
from support.s3 import SECRET, running_gateway

pytestmark = [
    pytest.mark.foreign,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("go") is None, reason="needs Go"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with running_gateway(tmp_path_factory.mktemp("s3")) as gateway:
        yield gateway.url, gateway.folder


def config(url: str, **keys: str) -> dict[str, str]:
    return {
        "s3.bucket.name": "lake",
        "s3.region": "us-east-1",
        "store.url": url,
        "aws.access.key.id": "me",
        "aws.secret.access.key": SECRET,
        "flush.size": "3",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
        **{name.replace("_", "."): one for name, one in keys.items()},
    }


def records(count: int) -> Iterator[Record]:
    for at in range(count):
        yield Record(topic="t", partition=0, value={"n": at}, timestamp=at, original=("t", 0, at))


def refuse(record: Record, error: Exception) -> None:
    raise error


def test_whole_files_arrive_and_arrive_again_as_the_same(store: tuple[str, Path]) -> None:
    url, folder = store
    made = make(config(url), "s3-sink")
    made.start()
    place = folder / "lake" / "topics" / "t" / "partition=0"
    contents = []
    for _ in range(2):
        assert made.task().put(TopicPartition("t", 0), records(8), refuse) == 6
        contents.append({one.name: one.read_bytes() for one in sorted(place.iterdir())})
    assert list(contents[0]) == ["t+0+0000000000.json", "t+0+0000000003.json"]
    assert contents[0]["t+0+0000000003.json"] == b'{"n":3}\n{"n":4}\n{"n":5}\n'
    assert contents[0] == contents[1]


def test_a_bucket_that_is_not_there_and_a_wrong_secret_are_said(store: tuple[str, Path]) -> None:
    url, _ = store
    with pytest.raises(ConnectError, match="nowhere"):
        make(config(url, s3_bucket_name="nowhere"), "s3-sink").start()
    wrong = make(config(url, aws_secret_access_key="wrong"), "s3-sink")
    with pytest.raises((ConnectError, RetriableError)):
        wrong.task().put(TopicPartition("t", 0), records(3), refuse)

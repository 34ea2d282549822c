"""elasticsearch-sink before OpenSearch itself: ids, versions, mappings, deletes, refusals."""

import pickle
import shutil
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from opensearchpy import OpenSearch

from ottla.connect.connector import ConnectError, TopicPartition
from ottla.connect.connectors.elasticsearch.sink import make
from ottla.connect.data import (
    TIMESTAMP_SCHEMA,
    DataError,
    Field,
    Header,
    Record,
    Schema,
    Struct,
    Type,
    decimal_schema,
)
from ottla.connect.logical import timestamp_of
from ottla.ports.network import free_ports
from support.opensearch import running_opensearch

pytestmark = [
    pytest.mark.java,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("java") is None, reason="needs Java"),
    pytest.mark.timeout(300),
]
_topics = count()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_opensearch(tmp_path_factory.mktemp("opensearch")) as node:
        yield node.url


class Sink:
    """A connector for a topic of its own, and what is in its index."""

    def __init__(self, url: str, **keys: str) -> None:
        self.topic = f"t{next(_topics)}"
        named = {name.replace("_", "."): one for name, one in keys.items()}
        made = make({"connection.url": url, "max.retries": "1", **named}, "elasticsearch-sink")
        made.start()
        self.task = pickle.loads(pickle.dumps(made.task()))
        self.client = OpenSearch(url)
        self.reported: list[tuple[Record, Exception]] = []

    def record(self, offset: int, value: Any, key: Any = None, **more: Any) -> Record:
        place = (self.topic, 0, offset)
        return Record(topic=self.topic, key=key, value=value, original=place, **more)

    def put(self, *records: Record) -> None:
        partition = TopicPartition(self.topic, 0)
        report = lambda record, error: self.reported.append((record, error))  # noqa: E731
        assert self.task.put(partition, iter(records), report) is None

    def found(self) -> dict[str, Any]:
        self.client.indices.refresh(index=self.topic)
        hits = self.client.search(index=self.topic, size=1000)["hits"]["hits"]
        return {one["_id"]: one["_source"] for one in hits}


def test_documents_are_named_by_their_place_and_a_second_delivery_changes_nothing(
    cluster: str,
) -> None:
    sink = Sink(cluster, key_ignore="true", batch_size="7")
    records = [sink.record(at, {"n": at}) for at in range(20)]
    sink.put(*records)
    sink.put(*records[5:])
    assert sink.found() == {f"{sink.topic}+0+{at}": {"n": at} for at in range(20)}


def test_a_later_offset_of_a_key_wins_whatever_comes_again(cluster: str) -> None:
    sink = Sink(cluster, behavior_on_null_values="delete")
    old = [
        sink.record(0, {"n": 0}, "a"),
        sink.record(1, {"n": 1}, 7),
        sink.record(2, {"n": 2}, "a"),
    ]
    sink.put(*old, sink.record(3, None, 7))
    assert sink.found() == {"a": {"n": 2}}
    sink.put(*old)  # the deletion of 7 is remembered, too
    assert sink.found() == {"a": {"n": 2}}


def test_an_upsert_merges_fields(cluster: str) -> None:
    sink = Sink(cluster, write_method="upsert")
    sink.put(sink.record(0, {"a": 1, "b": 1}, "k"), sink.record(1, {"b": 2}, "k"))
    assert sink.found() == {"k": {"a": 1, "b": 2}}


def test_a_mapping_is_made_of_the_schema(cluster: str) -> None:
    schema = Schema(
        type=Type.STRUCT,
        fields=(
            Field("price", decimal_schema(2)),
            Field("at", TIMESTAMP_SCHEMA),
            Field("small", Schema(type=Type.INT16)),
            Field("word", Schema(type=Type.STRING)),
        ),
    )
    sink = Sink(cluster, key_ignore="true")
    value = {"price": Decimal("1.50"), "at": timestamp_of(1000), "small": 3, "word": "x"}
    sink.put(sink.record(0, Struct(schema, value), value_schema=schema))
    made = sink.client.indices.get_mapping(index=sink.topic)[sink.topic]["mappings"]["properties"]
    kinds = {name: one["type"] for name, one in made.items()}
    assert kinds == {"price": "double", "at": "date", "small": "short", "word": "text"}
    assert list(sink.found().values()) == [{"price": 1.5, "at": 1000, "small": 3, "word": "x"}]


def test_malformed_documents_are_reported_or_left(cluster: str) -> None:
    sink = Sink(cluster, key_ignore="true")
    sink.put(sink.record(0, {"n": 1}), sink.record(1, {"n": "no number"}), sink.record(2, {"n": 3}))
    assert [record.original for record, _ in sink.reported] == [(sink.topic, 0, 1)]
    assert "malformed" in str(sink.reported[0][1])
    assert len(sink.found()) == 2
    lenient = Sink(cluster, key_ignore="true", behavior_on_malformed_documents="ignore")
    lenient.put(lenient.record(0, {"n": 1}), lenient.record(1, {"n": "no number"}))
    assert lenient.reported == []


def test_what_cannot_become_a_document_is_reported(cluster: str) -> None:
    sink = Sink(cluster)
    sink.put(sink.record(0, None, "k"), sink.record(1, {"n": 1}), sink.record(2, 5, "k"))
    assert all(isinstance(error, DataError) for _, error in sink.reported)
    assert [record.original[2] for record, _ in sink.reported if record.original] == [0, 1, 2]


def test_the_version_may_stand_in_a_header(cluster: str) -> None:
    sink = Sink(cluster, external_version_header="v")
    newer, older = (Header("v", None, number) for number in (9, 8))
    sink.put(sink.record(0, {"n": 9}, "k", headers=(newer,)))
    sink.put(sink.record(1, {"n": 8}, "k", headers=(older,)))
    assert sink.found() == {"k": {"n": 9}}


def test_a_cluster_that_is_away_is_said_so() -> None:
    (port,) = free_ports(1)
    sink = make({"connection.url": f"http://127.0.0.1:{port}", "max.retries": "0"}, "x")
    with pytest.raises(ConnectError, match="does not answer"):
        sink.start()

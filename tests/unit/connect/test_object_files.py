"""Files of an object store: their names, their cuts, their bytes; a rerun writes the same."""

import gzip
import io
import json
import pickle
import threading
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow.parquet
import pytest

from ottla.connect.connector import ConnectError, RetriableError, TopicPartition
from ottla.connect.connectors import hdfs_sink, s3_sink
from ottla.connect.connectors.object_files import putting as several
from ottla.connect.connectors.object_files.putting import Putting
from ottla.connect.connectors.object_files.sink import FilesSink
from ottla.connect.connectors.object_files.stores import HdfsStore
from ottla.connect.converters.avro_names import UNION
from ottla.connect.converters.avro_options import AvroOptions
from ottla.connect.converters.avro_schemas import avro_schema
from ottla.connect.data import (
    TIMESTAMP_SCHEMA,
    DataError,
    Field,
    Record,
    Schema,
    Struct,
    Type,
    decimal_schema,
    optional,
)
from ottla.connect.definitions import InvalidConfig
from ottla.connect.logical import timestamp_of
from ottla.ports.network import free_ports

CONFLUENT = "io.confluent.connect."
JSON = CONFLUENT + "s3.format.json.JsonFormat"
HOUR_MS = 3_600_000


class Kept:
    """A store that is a dictionary."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def check(self) -> None:
        pass

    def put(self, path: str, data: bytes) -> None:
        self.files[path] = data


def sink(**keys: str) -> FilesSink:
    named = {name.replace("_", "."): one for name, one in keys.items()}
    config = {"s3.bucket.name": "b", "flush.size": "3", "format.class": JSON, **named}
    return s3_sink.make(config, "s3-sink")


def record(offset: int, value: Any, timestamp: int | None = 0, **more: Any) -> Record:
    place = ("t", 2, offset)
    return Record(topic="t", partition=2, value=value, timestamp=timestamp, original=place, **more)


def written(made: FilesSink, records: list[Record]) -> tuple[dict[str, bytes], int | None]:
    store = Kept()
    task: Any = pickle.loads(pickle.dumps(made.task()))
    object.__setattr__(task, "store", store)

    def refuse(record: Record, error: Exception) -> None:
        raise error

    return store.files, task.put(TopicPartition("t", 2), iter(records), refuse)


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def test_files_hold_flush_size_records_and_the_rest_is_not_safe() -> None:
    records = [record(at, {"n": at}) for at in range(8)]
    files, safe = written(sink(), records)
    assert list(files) == [
        "topics/t/partition=2/t+2+0000000000.json",
        "topics/t/partition=2/t+2+0000000003.json",
    ]
    assert lines(files["topics/t/partition=2/t+2+0000000003.json"]) == [{"n": n} for n in (3, 4, 5)]
    assert safe == 6
    assert written(sink(), records[:6])[1] is None


def test_what_is_given_again_from_the_safe_offset_makes_the_same_files() -> None:
    records = [record(at, {"n": at % 3}, timestamp=at * 700_000) for at in range(100)]
    made = sink(
        partitioner_class=CONFLUENT + "storage.partitioner.FieldPartitioner",
        partition_field_name="n",
        rotate_interval_ms=str(HOUR_MS),
        flush_size="7",
    )
    whole, _ = written(made, records)
    piecewise: dict[str, bytes] = {}
    begin, end = 0, 0
    for end in (13, 14, 40, 77, 100):
        files, safe = written(made, records[begin:end])
        assert all(whole[path] == data for path, data in files.items())
        piecewise |= files
        begin = end if safe is None else safe
    assert piecewise == whole


def test_time_makes_folders_and_ends_files() -> None:
    made = sink(
        partitioner_class="HourlyPartitioner",
        timezone="Europe/Berlin",
        rotate_interval_ms=str(HOUR_MS),
        flush_size="100",
    )
    winter = 1_700_000_000_000 // HOUR_MS * HOUR_MS  # 2023-11-14 22:00 UTC
    records = [record(at, {"n": at}, timestamp=winter + at * HOUR_MS // 2) for at in range(5)]
    files, safe = written(made, records)
    assert list(files) == [
        "topics/t/year=2023/month=11/day=14/hour=23/t+2+0000000000.json",
        "topics/t/year=2023/month=11/day=15/hour=00/t+2+0000000002.json",
    ]
    assert safe == 4


def test_a_folder_of_time_has_confluents_pattern() -> None:
    made = sink(
        partitioner_class="TimeBasedPartitioner",
        path_format="'dt'=YYYY-MM-dd",
        partition_duration_ms=str(24 * HOUR_MS),
        timezone="UTC",
        timestamp_extractor="RecordField",
        timestamp_field="at",
        flush_size="1",
    )
    files, _ = written(made, [record(0, {"at": 86_400_000}), record(1, {"at": "1970-01-03"})])
    assert [path.split("/")[2] for path in files] == ["dt=1970-01-02", "dt=1970-01-03"]


SCHEMA = Schema(
    type=Type.STRUCT,
    name="org.example.Row",
    fields=(
        Field("id", Schema(type=Type.INT64)),
        Field("price", decimal_schema(2)),
        Field("at", optional(TIMESTAMP_SCHEMA)),
        Field("tags", Schema(type=Type.ARRAY, value_schema=Schema(type=Type.STRING))),
        Field(
            "by",
            Schema(
                type=Type.MAP,
                key_schema=Schema(type=Type.STRING),
                value_schema=Schema(type=Type.INT32, optional=True),
            ),
        ),
    ),
)


def rows() -> list[Record]:
    first = {
        "id": 1,
        "price": Decimal("1.50"),
        "at": timestamp_of(5),
        "tags": ["a"],
        "by": {"x": 1},
    }
    second = {"id": 2, "price": Decimal("-2.00"), "at": None, "tags": [], "by": {"y": None}}
    return [
        record(at, Struct(SCHEMA, held), value_schema=SCHEMA)
        for at, held in enumerate((first, second))
    ]


def test_avro_files_hold_the_schema_and_are_the_same_each_time() -> None:
    made = sink(format_class=CONFLUENT + "s3.format.avro.AvroFormat", flush_size="2")
    files, _ = written(made, rows())
    ((path, data),) = files.items()
    assert path.endswith("t+2+0000000000.avro")
    read: Any = fastavro.reader(io.BytesIO(data))
    assert read.writer_schema["name"] == "org.example.Row"
    assert [one["price"] for one in read] == [Decimal("1.50"), Decimal("-2.00")]
    assert written(made, rows())[0] == files


def test_avro_files_say_all_that_the_converter_says_of_a_schema() -> None:
    """Versions, docs, defaults and unions, as Confluent's sinks write them by its AvroData."""
    number = optional(Schema(type=Type.INT32, version=3))
    either = Schema(
        type=Type.STRUCT,
        name=UNION,
        fields=(Field("int", number), Field("string", optional(Schema(type=Type.STRING)))),
    )
    schema = Schema(
        type=Type.STRUCT,
        name="Row",
        version=7,
        doc="a row",
        fields=(Field("n", Schema(type=Type.INT8, default=4)), Field("either", either)),
    )
    row = Struct(schema, {"n": 2, "either": Struct(either, {"string": "five"})})
    made = sink(format_class=CONFLUENT + "s3.format.avro.AvroFormat", flush_size="1")
    (data,) = written(made, [record(0, row, value_schema=schema)])[0].values()
    read: Any = fastavro.reader(io.BytesIO(data))
    assert list(read) == [{"n": 2, "either": "five"}]
    said = json.loads(read.metadata["avro.schema"])
    assert (said["connect.version"], said["connect.doc"]) == (7, "a row")
    assert said["fields"][0]["type"]["connect.type"] == "int8"
    assert avro_schema(schema, AvroOptions())["fields"] == said["fields"]


def test_parquet_files_hold_typed_columns_and_are_the_same_each_time() -> None:
    made = sink(format_class=CONFLUENT + "s3.format.parquet.ParquetFormat", flush_size="2")
    files, _ = written(made, rows())
    ((path, data),) = files.items()
    assert path.endswith("t+2+0000000000.snappy.parquet")
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    assert table.column("at").to_pylist() == [timestamp_of(5), None]
    assert table.column("by").to_pylist() == [[("x", 1)], [("y", None)]]
    assert written(made, rows())[0] == files


def test_bytes_are_kept_and_files_are_zipped() -> None:
    made = sink(
        format_class=CONFLUENT + "s3.format.bytearray.ByteArrayFormat",
        s3_compression_type="gzip",
        flush_size="2",
    )
    files, _ = written(made, [record(0, b"a"), record(1, b"b")])
    assert {path: gzip.decompress(data) for path, data in files.items()} == {
        "topics/t/partition=2/t+2+0000000000.bin.gz": b"a\nb\n"
    }


def test_a_file_ends_where_the_schema_changes() -> None:
    other = Schema(type=Type.STRUCT, fields=(Field("x", Schema(type=Type.STRING)),))
    changed = record(2, Struct(other, {"x": "y"}), value_schema=other)
    files, safe = written(sink(), [*rows(), changed])
    assert len(files) == 1
    assert safe == 2


def test_hdfs_names_tell_the_last_offset_too() -> None:
    config = {"hdfs.url": "hdfs://h:1", "flush.size": "2", "format.class": JSON}
    files, _ = written(hdfs_sink.make(config, "hdfs-sink"), [record(at, {}) for at in (7, 9)])
    assert list(files) == ["topics/t/partition=2/t+2+0000000007+0000000009.json"]


def test_tombstones_fail_or_are_left_out() -> None:
    with pytest.raises(DataError, match="without a value"):
        written(sink(), [record(0, None)])
    files, _ = written(
        sink(behavior_on_null_values="ignore", flush_size="1"), [record(0, None), record(1, {})]
    )
    assert list(files) == ["topics/t/partition=2/t+2+0000000001.json"]


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"rotate_schedule_interval_ms": "1000"}, "rotate.schedule.interval.ms"),
        ({"timestamp_extractor": "Wallclock"}, "timestamp.extractor"),
        ({"store_kafka_keys": "true"}, "store.kafka.keys"),
        ({"format_class": "x.OrcFormat"}, "format.class"),
        ({"partitioner_class": "DailyPartitioner"}, "timezone"),
    ],
)
def test_keys_that_are_not_served_are_named(keys: dict[str, str], named: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        sink(**keys)
    assert list(refused.value.errors) == [named]


def test_a_name_node_that_is_away_is_said_so() -> None:
    (port,) = free_ports(1)
    store = HdfsStore(f"hdfs://127.0.0.1:{port}")
    with pytest.raises(ConnectError, match="cannot be reached"):
        store.check()
    with pytest.raises(RetriableError, match="cannot be written"):
        store.put("a/b.json", b"1")


class Together:
    """A store whose files arrive two at a time, or never."""

    def __init__(self) -> None:
        self.there: dict[str, bytes] = {}
        self._pairs = threading.Barrier(2, timeout=30)

    def check(self) -> None: ...

    def put(self, path: str, data: bytes) -> None:
        self._pairs.wait()
        self.there[path] = data


def test_files_are_written_several_at_once_and_all_are_there_in_the_end() -> None:
    store = Together()
    with Putting(store) as putting:
        for number in range(20):
            putting.put(f"{number}", b"%d" % number)
    assert store.there == {f"{number}": b"%d" % number for number in range(20)}


class Reluctant(Together):
    """A store whose first file is there when all others are."""

    def __init__(self, others: int) -> None:
        super().__init__()
        self._left = others
        self._changed = threading.Condition()

    def put(self, path: str, data: bytes) -> None:
        with self._changed:
            if path == "0":
                assert self._changed.wait_for(lambda: not self._left, 30)
            else:
                self._left -= 1
                self._changed.notify_all()
        self.there[path] = data


def test_a_file_that_takes_long_keeps_no_other_one_waiting() -> None:
    store = Reluctant(others=19)
    with Putting(store) as putting:
        for number in range(20):
            putting.put(f"{number}", b"")
    assert len(store.there) == 20


class Slow(Together):
    """A store whose first file is there when it is said."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on, self.second = threading.Event(), threading.Event()

    def put(self, path: str, data: bytes) -> None:
        if path == "first":
            assert self.goes_on.wait(30)
        else:
            self.second.set()
        self.there[path] = data


def test_no_more_bytes_are_on_their_way_than_fit_into_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(several, "BYTES_MAX", 10, raising=False)
    store = Slow()

    def put() -> None:
        with Putting(store) as putting:
            putting.put("first", b"123456")
            putting.put("second", b"78901")

    putting = threading.Thread(target=put)
    putting.start()
    assert not store.second.wait(0.3)
    store.goes_on.set()
    putting.join(30)
    assert store.there == {"first": b"123456", "second": b"78901"}


class Full(Together):
    def put(self, path: str, data: bytes) -> None:
        raise RetriableError(f"{path} cannot be written")


def test_a_file_that_was_not_written_is_told_at_the_latest_in_the_end() -> None:
    with pytest.raises(RetriableError, match="only cannot be written"), Putting(Full()) as putting:
        putting.put("only", b"")

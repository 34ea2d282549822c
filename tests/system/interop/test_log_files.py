"""Segment files byte for byte: what Kafka wrote we rebuild, what we wrote Kafka's tool reads."""

import shutil
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from ottla.ids import TopicPartition
from ottla.log.cleaning import CleaningPlan, SourceSegment, clean
from ottla.log.config import LogConfig
from ottla.log.directory import LogDirectory
from ottla.log.files import OpenFiles
from ottla.log.partition_log import AppendOrigin, LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache
from ottla.wire.compression import Codec
from ottla.wire.record_batch import NewRecord, build_batch, build_marker, iterate_batches
from support.brokers import running
from support.confluent import create_topic
from support.homes import Home
from support.ids import new_uuid
from support.toolbox import Toolbox

pytestmark = [pytest.mark.java, pytest.mark.timeout(240)]

REBUILT = (".index", ".timeindex", ".txnindex", ".snapshot")
DELETE_RETENTION_MS = 100_000
CLEANING_SECONDS_MAX = 60


def resources() -> LogResources:
    return LogResources(OpenFiles(64), TailCache())


@pytest.fixture(scope="module")
def written_by_kafka(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of Apache Kafka after a clean stop."""
    delays = {"log.cleaner.backoff.ms": "200", "log.segment.delete.delay.ms": "600000"}
    home = Home(path=tmp_path_factory.mktemp("kafka"), settings=delays)
    with running("kafka", home):
        fill_rolled(home.bootstrap)
        fill_transactions(home.bootstrap)
        fill_compacted(home.bootstrap, home.data[0] / "compacted-0")
    return home.data[0]


def fill_rolled(bootstrap: str) -> None:
    """Every codec, an idempotent producer, more than one segment."""
    create_topic(bootstrap, "rolled", config={"segment.bytes": "1048576"})
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": True,
                "batch.num.messages": 7,
            }
        )
        for n in range(600):
            producer.produce("rolled", key=b"%d" % n, value=bytes(n % 251 for n in range(900)))
            producer.poll(0)
        producer.flush()


def fill_transactions(bootstrap: str) -> None:
    """Three producers whose transactions overlap, some aborted, one left open."""
    create_topic(bootstrap, "transactions")
    settings = {"bootstrap.servers": bootstrap, "batch.num.messages": 5}
    producers = [Producer({**settings, "transactional.id": f"t{n}"}) for n in range(3)]
    for producer in producers:
        producer.init_transactions()
    for turn in range(4):
        for producer in producers:
            producer.begin_transaction()
        for _ in range(30):
            for producer in producers:
                producer.produce("transactions", value=b"x" * 60)
        for n, producer in enumerate(producers):
            producer.flush()
            if (n + turn) % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
    producers[0].begin_transaction()
    producers[0].produce("transactions", value=b"open")
    producers[0].flush()


def fill_compacted(bootstrap: str, log: Path) -> None:
    """A compacted topic with tombstones, cleaned once."""
    config = {
        "cleanup.policy": "compact",
        "segment.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": str(DELETE_RETENTION_MS),
    }
    create_topic(bootstrap, "compacted", config=config)
    producer = Producer({"bootstrap.servers": bootstrap, "batch.num.messages": 20})
    for n in range(3000):
        value = None if n % 50 == 3 else bytes(500)
        producer.produce("compacted", key=b"%d" % (n % 50), value=value)
        producer.poll(0)
    producer.flush()
    deadline = time.monotonic() + CLEANING_SECONDS_MAX
    while not list(log.glob("*.log.deleted")):
        assert time.monotonic() < deadline, "Kafka did not clean"
        time.sleep(0.1)


@pytest.fixture
def rebuilt(written_by_kafka: Path, tmp_path: Path, request: pytest.FixtureRequest) -> PartitionLog:
    """A log of Kafka's, of which nothing but the batches was left."""
    source = written_by_kafka / request.param
    target = tmp_path / request.param
    shutil.copytree(source, target)
    for path in target.iterdir():
        if path.suffix in (*REBUILT, ".deleted") or path.name == "leader-epoch-checkpoint":
            path.unlink()
    topic, _, partition = request.param.rpartition("-")
    name = TopicPartition(topic, int(partition))
    now_ms = int(time.time() * 1000)
    log = open_log(target, name, LogConfig(), resources(), now_ms=now_ms, clean=False)
    log.close()
    return log


@pytest.mark.parametrize("rebuilt", ["rolled-0", "transactions-0"], indirect=True)
def test_recovery_writes_the_files_that_kafka_wrote(
    rebuilt: PartitionLog, written_by_kafka: Path
) -> None:
    theirs = written_by_kafka / rebuilt.path.name
    names = {path.name for path in theirs.iterdir()}
    assert {path.name for path in rebuilt.path.iterdir()} == names
    for name in names:
        assert (rebuilt.path / name).read_bytes() == (theirs / name).read_bytes(), name


def test_a_directory_of_kafkas_is_opened_as_it_is(written_by_kafka: Path, tmp_path: Path) -> None:
    shutil.copytree(written_by_kafka, tmp_path / "data")
    directory = LogDirectory(tmp_path / "data", resources())
    directory.open_all(lambda topic: LogConfig(), now_ms=int(time.time() * 1000))
    assert directory.previous_broker_epoch is not None
    log = directory.logs[TopicPartition("transactions", 0)]
    assert log.high_watermark == log.log_end_offset
    # One transaction is open; markers of those before it may have come after its record.
    assert log.log_end_offset - 4 <= log.last_stable_offset < log.log_end_offset
    assert len(log.aborted_transactions(0, log.log_end_offset)) == 6
    assert directory.logs[TopicPartition("rolled", 0)].log_end_offset == 3000


def test_cleaning_writes_the_files_that_kafka_wrote(written_by_kafka: Path, tmp_path: Path) -> None:
    theirs, ours = written_by_kafka / "compacted-0", tmp_path / "compacted-0"
    shutil.copytree(theirs, ours)
    before = sorted(path for path in ours.iterdir() if path.suffix == ".deleted")
    for path in before:
        path.rename(path.with_suffix(""))
    bases = sorted(int(path.name[:20]) for path in before if path.name.endswith(".log.deleted"))
    cleaned = [theirs / f"{base:020d}.log" for base in bases]
    horizons = {
        header.delete_horizon
        for path in cleaned
        for _, header in iterate_batches(path.read_bytes())
        if header.delete_horizon is not None
    }
    plan = CleaningPlan(
        directory=str(ours),
        segments=tuple(
            SourceSegment(base, (ours / f"{base:020d}.log").stat().st_size) for base in bases
        ),
        first_dirty=0,
        first_uncleanable=end_of_cleaning(theirs, bases),
        aborted=(),
        producers={},
        config=LogConfig(segment_bytes=1048576, delete_retention_ms=DELETE_RETENTION_MS),
        now_ms=horizons.pop() - DELETE_RETENTION_MS,
    )
    assert not horizons, "Kafka cleaned more than once"
    clean(plan)
    for base in bases:
        for suffix in (".log", ".index", ".timeindex"):
            name = f"{base:020d}{suffix}"
            assert (ours / f"{name}.cleaned").read_bytes() == (theirs / name).read_bytes(), name


def end_of_cleaning(log: Path, cleaned: list[int]) -> int:
    bases = sorted(int(path.name[:20]) for path in log.glob("*.log"))
    return min(base for base in bases if base > cleaned[-1])


@pytest.fixture
def written_by_us(tmp_path: Path) -> Path:
    """A partition with every codec, transactions and several segments, closed cleanly."""
    now_ms = int(time.time() * 1000)
    directory = LogDirectory(tmp_path, resources())
    config = LogConfig(segment_bytes=8000, index_interval_bytes=1000)
    log = directory.create(TopicPartition("ours", 0), new_uuid(), config, now_ms=now_ms)
    sequences = {1: 0, 2: 0}
    for n in range(200):
        producer = 1 + n % 2
        headers = (("h", b"x"), ("n", None))
        records = [NewRecord(now_ms + n * 10 + i, b"k", bytes(50), headers) for i in range(5)]
        data = build_batch(
            records,
            codec=Codec(n % 5),
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequences[producer],
            transactional=True,
        )
        sequences[producer] += 5
        log.append_as_leader(data, leader_epoch=n // 50, now_ms=now_ms)
        if n % 20 in (18, 19):
            marker = build_marker(
                commit=n % 40 < 20,
                producer_id=producer,
                producer_epoch=0,
                coordinator_epoch=1,
                timestamp=now_ms + n * 10,
            )
            log.append_as_leader(
                marker, leader_epoch=n // 50, now_ms=now_ms, origin=AppendOrigin.COORDINATOR
            )
    directory.close(broker_epoch=1)
    return log.path


def test_kafkas_dump_tool_finds_nothing_wrong_with_our_files(
    toolbox: Toolbox, written_by_us: Path
) -> None:
    suffixes = (".log", *REBUILT)
    files = sorted(str(path) for path in written_by_us.iterdir() if path.suffix in suffixes)
    assert len(files) > 15
    dump = "org.apache.kafka.tools.DumpLogSegments"
    output = toolbox.run(dump, "--deep-iteration", "--files", ",".join(files)).output
    assert output.count("isvalid: true") == 220
    assert output.count("| offset: ") == 1020
    assert "isvalid: false" not in output
    for complaint in ("Mismatches", "Exception", "corrupt", "not found"):
        assert complaint not in output
    indexes = [file for file in files if file.endswith("index") and "txn" not in file]
    output = toolbox.run(dump, "--index-sanity-check", "--files", ",".join(indexes)).output
    assert output.count("passed sanity check") == len(indexes)

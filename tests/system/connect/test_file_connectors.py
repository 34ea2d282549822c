"""File connectors through real topics, on Spark: what comes out is what went in, once."""

import json
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import TopicPartition

from ottla.client.connection import Connection
from ottla.connect.runs.offsets import read_offsets
from ottla.connect.runs.run import TaskState, TopicUsed
from ottla.connect.runs.spark_runner import SparkRunner
from system.connect.running import (
    JSON,
    OFFSETS,
    STRING,
    committed,
    lines_in,
    make_topics,
    running,
    until,
)
from system.registry.processes import Registry

AVRO = "io.confluent.connect.avro.AvroConverter"


def source(file: Path, topic: str, converter: str = STRING) -> dict[str, str]:
    return {
        "name": f"source-{topic}",
        "connector.class": "FileStreamSource",
        "file": str(file),
        "topic": topic,
        "value.converter": converter,
    }


def sink(file: Path, topic: str, converter: str = STRING) -> dict[str, str]:
    return {
        "name": f"sink-{topic}",
        "connector.class": "FileStreamSink",
        "file": str(file),
        "topics": topic,
        "value.converter": converter,
    }


@pytest.mark.timeout(500)
@pytest.mark.parametrize("converter", [STRING, JSON])
def test_lines_go_through_a_topic_into_another_file(
    runner: SparkRunner, bootstrap: str, tmp_path: Path, converter: str
) -> None:
    topic = f"lines-{uuid4()}"
    make_topics(bootstrap, **{topic: 3})
    wanted = [f"line {number} – süß" for number in range(100)]
    into, out = tmp_path / "in", tmp_path / "out"
    with (
        running(runner, bootstrap, source(into, topic, converter)) as events,
        running(runner, bootstrap, sink(out, topic, converter)),
    ):
        into.write_text("".join(f"{line}\n" for line in wanted[:50]))
        until(lambda: len(lines_in(out)) >= 50, lambda: list(events.queue))
        with into.open("a") as more:
            more.write("".join(f"{line}\n" for line in wanted[50:]))
        until(lambda: len(lines_in(out)) >= 100, lambda: list(events.queue))
    assert sorted(lines_in(out)) == sorted(wanted)
    assert {TaskState(0, "RUNNING"), TopicUsed(topic)} <= set(events.queue)
    values = [message.value() or b"" for message in committed(bootstrap, topic, 100, 3)]
    if converter == JSON:
        assert json.loads(values[0])["schema"] == {"type": "string", "optional": False}
    group = Connection(bootstrap).consumer({"group.id": f"connect-sink-{topic}"})
    places = [TopicPartition(topic, at) for at in range(3)]
    assert sum(one.offset for one in group.committed(places, 10) if one.offset > 0) >= 100
    group.close()


@pytest.mark.timeout(500)
def test_a_source_goes_on_where_its_offsets_topic_says(
    runner: SparkRunner, bootstrap: str, tmp_path: Path
) -> None:
    topic = f"resumed-{uuid4()}"
    own = f"own-{topic}"
    make_topics(bootstrap, **{topic: 1, own: 2})
    file = tmp_path / "in"
    config = source(file, topic) | {"offsets.storage.topic": own}
    for number in range(3):
        with file.open("a") as more:
            more.write(f"{number}\n")
        with running(runner, bootstrap, config):
            read = [message.value() for message in committed(bootstrap, topic, number + 1)]
        assert read == [b"%d" % one for one in range(number + 1)]
    for offsets in (OFFSETS, own):
        stored = read_offsets(Connection(bootstrap), offsets, config["name"])
        assert stored.all() == [({"filename": str(file)}, {"position": 6})]


@pytest.mark.timeout(500)
def test_topics_are_made_as_their_group_says(
    runner: SparkRunner, bootstrap: str, tmp_path: Path
) -> None:
    topic = f"made-{uuid4()}"
    make_topics(bootstrap)
    file = tmp_path / "in"
    file.write_text("one\n")
    creation = {
        "topic.creation.groups": "made",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "topic.creation.made.include": "made-.*",
        "topic.creation.made.partitions": "4",
        "topic.creation.made.retention.ms": "1000000000",
    }
    with running(runner, bootstrap, source(file, topic) | creation):
        committed(bootstrap, topic, 1, 4)
    admin = Connection(bootstrap).admin()
    (deleted,) = admin.delete_topics([topic]).values()
    deleted.result()
    with file.open("a") as more:
        more.write("two\n")
    with running(runner, bootstrap, source(file, topic) | creation):  # and made again
        committed(bootstrap, topic, 1, 4)


@pytest.mark.timeout(500)
def test_records_that_fail_are_dead_letters_with_ten_headers(
    runner: SparkRunner, bootstrap: str, tmp_path: Path
) -> None:
    topic = f"mixed-{uuid4()}"
    make_topics(bootstrap, **{topic: 1})
    producer = Connection(bootstrap).producer()
    for value in ("1", "{", "2"):
        producer.produce(topic, value, headers=[("own", b"x")], timestamp=1_700_000_000_000)
    producer.flush(30)
    out = tmp_path / "out"
    config = sink(out, topic, JSON) | {
        "value.converter.schemas.enable": "false",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": f"{topic}-dead",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    with running(runner, bootstrap, config):
        until(lambda: lines_in(out) == ["1", "2"])
        (letter,) = committed(bootstrap, f"{topic}-dead", 1)
    assert letter.value() == b"{"
    assert letter.timestamp()[1] == 1_700_000_000_000
    headers = dict(letter.headers() or [])
    assert len(headers) == 11
    assert headers["own"] == b"x"
    assert headers["__connect.errors.offset"] == b"1"


@pytest.mark.timeout(500)
def test_a_sink_that_cannot_write_fails_with_a_sentence(
    runner: SparkRunner, bootstrap: str, tmp_path: Path
) -> None:
    topic = f"refused-{uuid4()}"
    make_topics(bootstrap, **{topic: 1})
    producer = Connection(bootstrap).producer()
    producer.produce(topic, "one")
    producer.flush(30)
    with running(runner, bootstrap, sink(tmp_path / "missing" / "out", topic)) as events:
        while not isinstance(event := events.get(timeout=240), TaskState) or event.trace is None:
            pass
    assert event.state == "FAILED"
    assert "cannot be written: No such file or directory." in event.trace.splitlines()[0]


@pytest.mark.timeout(500)
def test_lines_go_through_a_topic_as_avro(
    runner: SparkRunner, bootstrap: str, tmp_path: Path
) -> None:
    topic = f"avro-{uuid4()}"
    make_topics(bootstrap, **{topic: 1})
    into, out = tmp_path / "in", tmp_path / "out"
    into.write_text("one\nzwölf\n")
    with Registry(bootstrap, name="lines") as registry:
        url = {"value.converter.schema.registry.url": registry.url}
        with (
            running(runner, bootstrap, source(into, topic, AVRO) | url) as events,
            running(runner, bootstrap, sink(out, topic, AVRO) | url),
        ):
            until(lambda: lines_in(out) == ["one", "zwölf"], lambda: list(events.queue))
            registry.stop()  # what is known needs no registry
            with into.open("a") as more:
                more.write("three\n")
            until(lambda: len(lines_in(out)) == 3, lambda: list(events.queue))

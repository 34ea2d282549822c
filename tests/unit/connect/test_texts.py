"""Texts as columns are the same records as one by one."""

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from ottla.connect.connector import Progress, TopicPartition
from ottla.connect.connectors.file_sink import FileTask, marker_of
from ottla.connect.connectors.file_source import LinesSlice
from ottla.connect.data import STRING_SCHEMA, Record
from ottla.connect.pipeline import SinkChain, SourceChain
from ottla.connect.runs.sink_tasks import SinkWork
from ottla.connect.runs.texts import SinkTexts, SourceTexts, is_text, record_batches

STRING = "org.apache.kafka.connect.storage.StringConverter"
BOTH = {"key.converter": STRING, "value.converter": STRING}
PARTITION = TopicPartition("t", 0)


def slice_of(folder: Path, data: bytes) -> LinesSlice:
    (folder / "in").write_bytes(data)
    return LinesSlice(str(folder / "in"), "t", 0, len(data), 0)


@pytest.mark.parametrize(
    "data", [b"a\n", b"\n", b"a\n\nb\n", "süß\n😀\n".encode(), b"a\r\nb\rc\n", b"a\r\n"]
)
def test_lines_as_a_column_are_the_lines(tmp_path: Path, data: bytes) -> None:
    slice = slice_of(tmp_path, data)
    *records, progress = slice.read()
    columns = slice.read_texts()
    assert columns is not None
    texts, same = columns
    assert not isinstance(texts, Progress)
    assert same == progress
    wanted = [str(one.value).encode() for one in records if isinstance(one, Record)]
    assert texts.values.to_pylist() == wanted


def test_what_is_no_utf8_is_read_one_by_one(tmp_path: Path) -> None:
    assert slice_of(tmp_path, b"\xff\n").read_texts() is None


@pytest.mark.parametrize("values", [[b"a", None, b""], ["süß".encode()], [b"\xff", b"b"]])
def test_a_column_becomes_the_same_lines(tmp_path: Path, values: list[Any]) -> None:
    chain = SinkChain(BOTH, {})
    made = [chain.record("t", 0, at, 1, None, one) for at, one in enumerate(values)]
    records = [one for one in made if isinstance(one, Record)]
    FileTask(tmp_path / "one").put(PARTITION, iter(records), lambda *_: None)
    texts = SinkTexts(pyarrow.array(range(len(values))), values)
    FileTask(tmp_path / "two").put_texts(PARTITION, iter([texts]), len(values))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    # What the file has already is not written again.
    FileTask(tmp_path / "two").put_texts(PARTITION, iter([texts]), len(values))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


LINES = [b"a", b"", "süß 😀".encode(), b'"quoted" \\ and \x01\t', b"{}", b"\x7f"]


@pytest.mark.parametrize("schemas", ["true", "false"])
@pytest.mark.parametrize("lines", [LINES, LINES[:3], [b"x" * 100] * 3])
def test_columns_of_json_are_what_the_converter_writes(schemas: str, lines: list[bytes]) -> None:
    chain = SourceChain(json_keys(schemas), {})
    texts = SourceTexts("t", pyarrow.array(lines, pyarrow.binary()), 5)
    (batch,) = record_batches(texts, chain.value)
    records = [
        Record(topic="t", value_schema=STRING_SCHEMA, value=one.decode(), timestamp=5)
        for one in lines
    ]
    made = list(chain.rows(records))
    assert batch.column(2).to_pylist() == [one.value for one in made]
    assert batch.column(1).to_pylist() == [one.key for one in made]


ENVELOPE = b'{"schema":{"type":"string","optional":true},"payload":%b}'
OTHERS = [
    None,
    ENVELOPE % b"null",
    ENVELOPE % b'"\\u00e4\\n"',
    ENVELOPE % b'"a","payload":"b"',
    b'{"schema":{"type":"int32"},"payload":7}',
    b'{"payload":"turned","schema":{"type":"string"}}',
]


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("keyed", [False, True])
def test_columns_of_json_are_the_lines_of_their_records(
    tmp_path: Path, other: bytes | None, keyed: bool
) -> None:
    key = b'{"schema":{"type":"int32"},"payload":1}' if keyed else None
    values = [ENVELOPE % b'"a"', ENVELOPE % '"ä \x7f"'.encode(), other, ENVELOPE % b'""']
    for some in (values, values[:2]):
        expected = tmp_path / "one"
        expected.unlink(missing_ok=True)
        chain = SinkChain(json_keys("true"), {})
        made = [chain.record("t", 0, at, 1, key, one) for at, one in enumerate(some)]
        records = [one for one in made if isinstance(one, Record)]
        FileTask(expected).put(PARTITION, iter(records), lambda *_: None)
        marker_of(expected).unlink()
        lines = expected.read_bytes()
        assert delivered(tmp_path / f"two-{len(some)}", some, key) == lines


def delivered(file: Path, values: list[bytes | None], key: bytes | None) -> bytes:
    """By a task of Spark's, as far as it is ours."""
    count = len(values)
    batch = pyarrow.RecordBatch.from_arrays(
        [
            pyarrow.array(["t"] * count),
            pyarrow.array([0] * count, pyarrow.int32()),
            pyarrow.array(range(count), pyarrow.int64()),
            pyarrow.array([1] * count, pyarrow.int64()),
            pyarrow.array([key] * count, pyarrow.binary()),
            pyarrow.array(values, pyarrow.binary()),
            pyarrow.nulls(count, pyarrow.list_(pyarrow.null())),
        ],
        names=["topic", "partition", "offset", "time", "key", "value", "headers"],
    )
    work = SinkWork(
        connector="c",
        alias="FileStreamSink",
        config={**json_keys("true"), "errors.tolerance": "all"},
        worker={},
        task=FileTask(file),
        tasks={PARTITION: 0},
        ends={PARTITION: count},
    )
    list(work(iter([batch])))
    return file.read_bytes()


def json_keys(schemas: str) -> dict[str, str]:
    converter = "org.apache.kafka.connect.json.JsonConverter"
    return {
        name: value
        for side in ("key.converter", "value.converter")
        for name, value in ((side, converter), (f"{side}.schemas.enable", schemas))
    }


def test_columns_are_for_texts_alone() -> None:
    assert is_text(SourceChain(BOTH, {}))
    assert is_text(SinkChain({}, BOTH))
    assert is_text(SourceChain({"value.converter": STRING}, {}))
    numbers = "org.apache.kafka.connect.converters.IntegerConverter"
    assert not is_text(SourceChain({**BOTH, "value.converter": numbers}, {}))
    assert not is_text(SourceChain({**BOTH, "value.converter.converter.encoding": "latin1"}, {}))
    cast = {
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.InsertHeader",
        "transforms.a.header": "h",
        "transforms.a.value.literal": "v",
    }
    assert not is_text(SourceChain({**BOTH, **cast}, {}))

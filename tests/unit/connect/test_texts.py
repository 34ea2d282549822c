"""Texts as columns are the same records as one by one."""

from pathlib import Path
from typing import Any

import pyarrow
import pytest

from ottla.connect.connector import Progress, TopicPartition
from ottla.connect.connectors.file_sink import FileTask
from ottla.connect.connectors.file_source import LinesSlice
from ottla.connect.data import Record
from ottla.connect.pipeline import SinkChain, SourceChain
from ottla.connect.runs.texts import SinkTexts, is_text

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
    texts = SinkTexts(pyarrow.array(range(len(values))), pyarrow.array(values, pyarrow.binary()))
    FileTask(tmp_path / "two").put_texts(PARTITION, iter([texts]), len(values))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    # What the file has already is not written again.
    FileTask(tmp_path / "two").put_texts(PARTITION, iter([texts]), len(values))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_columns_are_for_texts_alone() -> None:
    assert is_text(SourceChain(BOTH, {}))
    assert is_text(SinkChain({}, BOTH))
    assert not is_text(SourceChain({"value.converter": STRING}, {}))
    assert not is_text(SourceChain({**BOTH, "value.converter.converter.encoding": "latin1"}, {}))
    cast = {
        "transforms": "a",
        "transforms.a.type": "org.apache.kafka.connect.transforms.InsertHeader",
        "transforms.a.header": "h",
        "transforms.a.value.literal": "v",
    }
    assert not is_text(SourceChain({**BOTH, **cast}, {}))

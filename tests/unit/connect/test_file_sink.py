"""A file between two workers, and after a crash: each line once, wherever that can be known."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ottla.connect.connector import TopicPartition, adopt_group
from ottla.connect.connectors import file_sink

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


def append(file: Path, partition: TopicPartition, text: str, end: int) -> None:
    with file_sink.appending(file, partition) as lines:
        lines.append(text.encode(), end)


def torn(file: Path, partition: TopicPartition, text: str) -> None:
    """An append whose process dies before the marker is written."""
    with file.open("a") as into:
        into.write(text)


def sink(file: Path) -> file_sink.FileSink:
    return file_sink.make({"file": str(file)}, "FileStreamSink")


@pytest.mark.parametrize("offset", [1, 3, None])
def test_an_offset_moved_by_hand_keeps_nothing_of_another_partitions_unfinished_append(
    tmp_path: Path, offset: int | None
) -> None:
    file = tmp_path / "out"
    append(file, ZERO, "0a\n0b\n", 2)
    torn(file, ONE, "1a\n1b")
    sink(file).move({ZERO: offset})
    append(file, ONE, "1a\n1b\n", 2)
    assert file.read_text() == "0a\n0b\n1a\n1b\n"


def test_an_offset_moved_by_hand_leaves_what_was_there_before_the_first_line(
    tmp_path: Path,
) -> None:
    file = tmp_path / "out"
    file.write_text("before\n")
    sink(file).move({ZERO: 5})
    append(file, ZERO, "0f\n", 6)
    assert file.read_text() == "before\n0f\n"


@pytest.mark.parametrize(
    "group",
    [{ZERO: 2}, {ZERO: 1, ONE: 1}],
    ids=["a partition that the file knows", "a partition that it does not know"],
)
def test_what_another_worker_wrote_stays_when_offsets_are_moved_by_hand(
    tmp_path: Path, group: Mapping[TopicPartition, int]
) -> None:
    file = tmp_path / "out"
    append(file, ZERO, "ours\n", 1)
    with file.open("a") as theirs:
        theirs.write("theirs\n")
    adopt_group(sink(file), group)
    sink(file).move({ZERO: 0})
    append(file, ZERO, "ours\n", 1)
    assert file.read_text() == "ours\ntheirs\nours\n"


def test_a_group_that_is_not_ahead_says_of_no_other_worker(tmp_path: Path) -> None:
    file = tmp_path / "out"
    append(file, ZERO, "0a\n", 1)
    torn(file, ZERO, "0b")
    adopt_group(sink(file), {ZERO: 1})
    append(file, ZERO, "0b\n", 2)
    assert file.read_text() == "0a\n0b\n"

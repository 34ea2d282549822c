"""Lines of a file as slices: which of them, from where to where."""

from pathlib import Path
from typing import Any

import pytest

from ottla.connect.connector import Place, Progress
from ottla.connect.connectors import file_source
from ottla.connect.data import Record
from ottla.connect.definitions import InvalidConfig


def started(file: Path, stored: Place | None = None) -> file_source.FileSource:
    source = file_source.make({"file": str(file), "topic": "lines"}, "FileStreamSource")
    source.start(lambda partition: stored if partition == {"filename": str(file)} else None)
    return source


def taken(source: file_source.FileSource) -> list[Any]:
    """What is read next, committed."""
    texts: list[Any] = []
    for slice in source.poll(0.0):
        read = list(slice.read())
        texts += [one.value for one in read if isinstance(one, Record)]
        source.committed([one for one in read if isinstance(one, Progress)])
    return texts


def test_the_last_line_waits_for_its_end(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes(b"one\ntwo\nthr")
    source = started(file)
    assert taken(source) == ["one", "two"]
    assert taken(source) == []
    with file.open("ab") as more:
        more.write(b"ee\n")
    assert taken(source) == ["three"]


def test_lines_end_as_java_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes(b"a\r\nb\rc\n\nd\r")
    source = started(file)
    assert taken(source) == ["a", "b", "c", ""]
    with file.open("ab") as more:
        more.write(b"\ne\r.")
    assert taken(source) == ["d", "e"]


def test_a_slice_that_is_read_again_gives_the_same_lines(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes(b"one\n")
    (slice,) = started(file).poll(0.0)
    with file.open("ab") as more:
        more.write(b"two\n")
    assert [one.value for one in slice.read() if isinstance(one, Record)] == ["one"]


def test_a_file_may_appear_late_be_cut_or_replaced(tmp_path: Path) -> None:
    file = tmp_path / "in"
    source = started(file)
    assert taken(source) == []
    file.write_bytes(b"one\ntwo\n")
    assert taken(source) == ["one", "two"]
    file.write_bytes(b"cut\n")
    assert taken(source) == ["cut"]
    (tmp_path / "new").write_bytes(b"another\nfile\n")
    (tmp_path / "new").replace(file)
    assert taken(source) == ["another", "file"]


def test_a_line_longer_than_a_slice_is_one_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "SLICE_BYTES", 8)
    file = tmp_path / "in"
    file.write_bytes(b"x" * 100 + b"\nshort\n")
    source = started(file)
    assert [*taken(source), *taken(source)] == ["x" * 100, "short"]


def test_a_position_of_ours_is_bytes_and_says_so_beyond_ascii(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_bytes("fünf\n😀\n".encode())
    (slice,) = started(file).poll(0.0)
    (progress,) = [one for one in slice.read() if isinstance(one, Progress)]
    assert progress.offset == {"position": 11, "characters": 8}
    assert taken(started(file, progress.offset)) == []


@pytest.mark.parametrize(
    ("position", "rest"),
    [
        (5, ["zwölf", "drei"]),  # of Connect: the characters of the first line
        (6, ["zwölf", "drei"]),  # its bytes: Connect goes on from what we wrote
        (8, ["zwölf", "drei"]),  # neither: rather a line twice than none
    ],
)
def test_a_position_of_connect_is_characters_if_a_line_begins_there(
    tmp_path: Path, position: int, rest: list[str]
) -> None:
    file = tmp_path / "in"
    file.write_bytes("fünf\nzwölf\ndrei\n".encode())
    assert taken(started(file, {"position": position})) == rest


def test_standard_input_is_refused_in_a_sentence() -> None:
    with pytest.raises(InvalidConfig, match="standard input"):
        file_source.make({"topic": "lines"}, "FileStreamSource")

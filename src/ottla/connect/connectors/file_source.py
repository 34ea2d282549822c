"""Lines of a file that grows, as records: Connect's FileStreamSource.

A file that is not there yet is waited for; one that was cut, or replaced by another, is read from
its beginning. Lines end with a line feed, a carriage return, or both; the last one waits for its
end.

Connect's `position` counts characters but is used to skip bytes, so beyond ASCII Connect itself
goes on at a wrong place. Here it is bytes, which Connect goes on from rightly; where that differs
from the number of characters, `characters` says so. A position without it that is none of ours is
one of Connect's, in characters, if a line begins there.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ottla.connect.connector import Config, ConnectError, Place, Progress
from ottla.connect.data import Record, Schema, Type
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind
from ottla.connect.runs.texts import SourceTexts
from ottla.connect.validators import non_empty
from ottla.connect.waiting import Pause

SLICE_BYTES = 16 * 1024 * 1024
LOOK_EVERY_S = 0.25
_VALUE = Schema(type=Type.STRING)
_LINE_END = re.compile(rb"\r\n|\r|\n")


DEFINITIONS = Definitions(
    (
        Key(
            name="file",
            kind=Kind.STRING,
            default=None,
            importance="HIGH",
            doc="The file whose lines are read.",
        ),
        Key(
            name="topic",
            kind=Kind.STRING,
            importance="HIGH",
            doc="The topic that gets a record for each line.",
            validator=non_empty,
        ),
        Key(
            name="batch.size",
            kind=Kind.INT,
            default=2000,
            importance="LOW",
            doc="Taken for the sake of configurations that have it: a transaction holds as many "
            "lines as there are, up to 16 MiB.",
        ),
    )
)


def check_offset(partition: Place | None, offset: Place) -> None:
    """Of an offset that is set by hand; ConnectError in Connect's words."""
    if "filename" not in (partition or {}):
        raise ConnectError("Partition objects should contain the key 'filename'")
    if "position" not in offset:
        raise ConnectError("Offset objects should either be null or contain the key 'position'")
    position = offset["position"]
    if not isinstance(position, int) or isinstance(position, bool):
        raise ConnectError(
            "The value for the 'position' key in the offset is expected to be a Long value"
        )
    if position < 0:
        raise ConnectError(
            "The value for the 'position' key in the offset should be a non-negative value"
        )


def make(config: Config, alias: str) -> "FileSource":
    values = DEFINITIONS.parse(config)
    if not values["file"]:
        sentence = "file is missing: the standard input of a worker is not read here."
        raise InvalidConfig({"file": [sentence]})
    return FileSource(values["file"], values["topic"], config)


@dataclass(frozen=True, slots=True)
class LinesSlice:
    """Whole lines, from one byte to another."""

    file: str
    topic: str
    begin: int
    end: int
    characters: int  # before the beginning
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        data = self._data()
        now = int(time.time() * 1000)
        for line in lines(data):
            text = line.decode(errors="replace")
            yield Record(topic=self.topic, value_schema=_VALUE, value=text, timestamp=now)
        yield self._progress(characters_in(data))

    def read_texts(self) -> "Iterator[SourceTexts | Progress] | None":
        """The same without a Python object for each line; None where that cannot be."""
        import pyarrow
        import pyarrow.compute

        data = self._data()
        try:
            count = characters_in(data, "strict")
        except UnicodeDecodeError:
            return None
        if b"\r" in data:
            values = pyarrow.array(lines(data), pyarrow.binary())
        else:
            whole = pyarrow.array([data[:-1]], pyarrow.binary())
            values = pyarrow.compute.split_pattern(whole, pattern=b"\n").values
        now = int(time.time() * 1000)
        return iter((SourceTexts(self.topic, values, now), self._progress(count)))

    def _data(self) -> bytes:
        with open(self.file, "rb") as file:
            file.seek(self.begin)
            return file.read(self.end - self.begin)

    def _progress(self, characters: int) -> Progress:
        return Progress(partition_of(self.file), offset_of(self.end, self.characters + characters))


class FileSource:
    def __init__(self, file: str, topic: str, config: Config) -> None:
        self._file = file
        self._topic = topic
        self._config = config
        self._position = 0
        self._characters = 0
        self._inode: int | None = None
        self._pause = Pause()

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self._config]

    def record_schemas(self) -> dict[str, Schema]:
        return {self._topic: _VALUE}

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        offset = stored(partition_of(self._file))
        if offset is not None:
            self._position, self._characters = found_place(Path(self._file), offset)

    def poll(self, timeout_s: float) -> Sequence[LinesSlice]:
        until = time.monotonic() + timeout_s
        while True:
            end = self._end_of_lines()
            if end is not None:
                return [LinesSlice(self._file, self._topic, self._position, end, self._characters)]
            left_s = until - time.monotonic()
            if left_s <= 0 or self._pause.ended(min(left_s, LOOK_EVERY_S)):
                return []

    def committed(self, progress: Sequence[Progress]) -> None:
        for one in progress:
            assert one.offset is not None
            self._position = one.offset["position"]
            self._characters = one.offset.get("characters", self._position)

    def stop(self) -> None:
        self._pause.end()

    def _end_of_lines(self) -> int | None:
        """Behind the last whole line of what comes next; None: there is none yet."""
        try:
            with open(self._file, "rb") as file:
                told = os.fstat(file.fileno())
                replaced = self._inode is not None and told.st_ino != self._inode
                self._inode = told.st_ino
                if replaced or told.st_size < self._position:
                    self._position = self._characters = 0
                size = SLICE_BYTES
                while self._position < told.st_size:
                    file.seek(self._position)
                    data = file.read(min(size, told.st_size - self._position))
                    length = whole_lines(data)
                    if length or self._position + len(data) >= told.st_size:
                        return self._position + length if length else None
                    size *= 2  # a long line
        except FileNotFoundError:
            self._inode = None
        return None


def partition_of(file: str) -> Place:
    return {"filename": file}


def offset_of(position: int, characters: int) -> Place:
    if characters == position:
        return {"position": position}
    return {"position": position, "characters": characters}


def lines(data: bytes) -> list[bytes]:
    """Of whole lines."""
    if b"\r" not in data:
        return data.split(b"\n")[:-1]
    return _LINE_END.split(data)[:-1]


def whole_lines(data: bytes) -> int:
    """How many bytes of it are whole lines. A carriage return at the end may be half of an end."""
    last = data.rfind(b"\n") + 1
    carriage = data.rfind(b"\r", last, -1) + 1 if data else 0
    return max(last, carriage)


def characters_in(data: bytes, errors: str = "replace") -> int:
    """As Java counts: one beyond the basic plane is two."""
    if data.isascii():
        return len(data)
    return len(data.decode(errors=errors).encode("utf-16-le")) // 2


def found_place(file: Path, offset: Place) -> tuple[int, int]:
    """Position and characters that a stored offset means."""
    position = int(offset["position"])
    if "characters" in offset:
        return position, int(offset["characters"])
    try:
        data = file.read_bytes() if position else b""
    except FileNotFoundError:
        return position, position
    if data[:position].isascii():
        return position, position
    text = data.decode(errors="replace").encode("utf-16-le")[: 2 * position]
    read = len(text.decode("utf-16-le", errors="replace").encode())
    for place in (read, position):
        if data[:place].endswith((b"\n", b"\r")):
            return place, characters_in(data[:place])
    # Connect went on from a position in bytes: between lines is the last place that loses none.
    place = whole_lines(data[:position] + b" ")
    return place, characters_in(data[:place])

"""`ottla log dump FILE`: what is inside the files of a data directory, Ottla's or Kafka's.

Each file becomes entries (dictionaries); people get a line an entry, scripts get JSON.
"""

import mmap
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from struct import Struct
from typing import Annotated, Any

import typer

from ottla.cli.arguments import Json
from ottla.cli.internal_records import decode_record
from ottla.cli.moments import show_moment
from ottla.cli.output import print_json, progress
from ottla.config.properties import read_properties
from ottla.errors import KafkaError, OttlaError
from ottla.log.producer_snapshots import decode_snapshot
from ottla.wire.compression import Codec
from ottla.wire.record_batch import (
    BatchHeader,
    Record,
    crc_is_valid,
    iterate_batches,
    iterate_records,
)

app = typer.Typer(no_args_is_help=True, help="Look into the files of a data directory.")

Entry = dict[str, Any]
_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_ABORTED_ENTRY = Struct(">hqqqq")
_SHOWN_BYTES = 120


@app.callback()
def log() -> None:
    """A group of its own: more ways to look at logs will stand beside `dump`."""


@app.command()
def dump(
    file: Annotated[Path, typer.Argument(help="A segment, index, snapshot or checkpoint.")],
    records: Annotated[
        bool, typer.Option("--records", "-r", help="Also the records within batches.")
    ] = False,
    json: Json = False,
) -> None:
    """Show what a file of a data directory holds."""
    damage = False
    for entry in read_entries(file, records=records):
        damage = damage or "damage" in entry
        if json:
            print_json(entry)
        else:
            _print_entry(entry)
    if damage:
        raise typer.Exit(1)


def read_entries(path: Path, *, records: bool = False) -> Iterator[Entry]:
    if not path.is_file():
        raise OttlaError(f"{path} is not a file. Name a file within a partition's directory.")
    if path.suffix == ".log" or path.suffix == ".checkpoint":
        return _batches(path, records)
    reader = _READERS.get(path.suffix) or _READERS_BY_NAME.get(path.name)
    if reader is None:
        raise OttlaError(
            f"{path.name} is none of the files of a data directory: .log, .index, .timeindex, "
            ".txnindex, .snapshot, .checkpoint, the checkpoints, meta.properties, quorum-state."
        )
    return reader(path)


def _batches(path: Path, records: bool) -> Iterator[Entry]:
    if path.stat().st_size == 0:
        return
    topic = "__cluster_metadata" if path.suffix == ".checkpoint" else _topic_of(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        view = memoryview(content)
        end = 0
        try:
            with progress(len(view)) as bar:
                task = bar.add_task(f"reading {path.name}", total=len(view))
                for position, header in iterate_batches(view):
                    yield _batch(view, position, header, topic, records)
                    end = position + header.size
                    bar.update(task, completed=end)
            if end < len(view):
                yield {"position": end, "damage": f"{len(view) - end} bytes of a batch cut short"}
        except KafkaError as error:
            yield {"position": end, "damage": str(error)}
        finally:
            view.release()


def _batch(
    view: memoryview, position: int, header: BatchHeader, topic: str, records: bool
) -> Entry:
    entry: Entry = {
        "offset": header.base_offset,
        "last": header.last_offset,
        "records": header.count,
        "position": position,
        "bytes": header.size,
        "codec": Codec(header.codec).name.lower() if header.codec <= Codec.ZSTD else header.codec,
        "time": show_moment(header.max_timestamp) if header.max_timestamp >= 0 else None,
        "epoch": header.leader_epoch,
    }
    if header.producer_id >= 0:
        entry["producer"] = header.producer_id
        entry["producer_epoch"] = header.producer_epoch
        entry["sequence"] = header.base_sequence
    if header.is_transactional:
        entry["transactional"] = True
    if header.is_control:
        entry["control"] = True
    if not crc_is_valid(view, position, header):
        entry["damage"] = "the checksum is wrong"
    elif records:
        entry["content"] = [
            _record(record, topic, header.is_control)
            for record in iterate_records(view, position, header)
        ]
    return entry


def _record(record: Record, topic: str, control: bool) -> Entry:
    entry: Entry = {"offset": record.offset, "time": show_moment(record.timestamp)}
    decoded = decode_record(topic, record, control=control)
    if decoded is not None:
        entry["type"], entry["fields"] = decoded
        return entry
    entry |= {"key": _shown(record.key), "value": _shown(record.value)}
    if record.headers:
        entry["headers"] = [[name, _shown(value)] for name, value in record.headers]
    return entry


def _offset_index(path: Path) -> Iterator[Entry]:
    base = _base_offset(path)
    for relative, position in _filled(_OFFSET_ENTRY, path):
        yield {"offset": base + relative, "position": position}


def _time_index(path: Path) -> Iterator[Entry]:
    base = _base_offset(path)
    for timestamp, relative in _filled(_TIME_ENTRY, path):
        yield {"time": show_moment(timestamp), "offset": base + relative}


def _filled(layout: Struct, path: Path) -> Iterator[tuple[int, ...]]:
    """Entries up to the zeros of a file that was reserved in advance."""
    content = path.read_bytes()
    whole = content[: len(content) - len(content) % layout.size]
    entries = layout.iter_unpack(whole)
    first = next(entries, None)
    if first is not None and any(first):
        yield first
    yield from takewhile(any, entries)


def _aborted(path: Path) -> Iterator[Entry]:
    names = ("version", "producer", "first", "last", "last_stable")
    for fields in _ABORTED_ENTRY.iter_unpack(path.read_bytes()):
        yield dict(zip(names, fields, strict=True))


def _producers(path: Path) -> Iterator[Entry]:
    try:
        states = decode_snapshot(path.read_bytes())
    except ValueError as error:
        yield {"damage": str(error)}
        return
    for producer_id, state in states.items():
        yield {
            "producer": producer_id,
            "producer_epoch": state.epoch,
            "last_sequence": state.last_sequence,
            "last_offset": state.batches[-1].last_offset if state.batches else None,
            "time": show_moment(state.last_timestamp),
            "coordinator_epoch": state.coordinator_epoch,
            "transaction_start": state.transaction_start,
        }


def _checkpoint(path: Path) -> Iterator[Entry]:
    """Kafka's text checkpoints: a version, a count, then lines of words."""
    text = path.read_text().splitlines()
    version, count = (*text[:2], "?", "?")[:2]
    lines = text[2:]
    if not (version.isdigit() and count.isdigit() and int(count) == len(lines)):
        yield {"damage": f"version {version}, {count} entries announced, {len(lines)} found"}
        return
    for line in lines:
        words = line.split()
        numbers = words[-2:]
        if len(words) not in (2, 3) or not all(number.isdigit() for number in numbers):
            yield {"damage": f"{line!r} is no entry"}
        elif len(words) == 3:
            yield {"topic": words[0], "partition": int(words[1]), "offset": int(words[2])}
        else:
            yield {"epoch": int(words[0]), "start_offset": int(words[1])}


def _properties(path: Path) -> Iterator[Entry]:
    yield {entry.name: entry.value for entry in read_properties(path)}


def _json_file(path: Path) -> Iterator[Entry]:
    import json

    yield json.loads(path.read_text())


def _text(path: Path) -> Iterator[Entry]:
    pairs = (line.partition(":") for line in path.read_text().splitlines())
    yield {name.strip(): value.strip() for name, _, value in pairs}


_READERS: dict[str, Callable[[Path], Iterator[Entry]]] = {
    ".index": _offset_index,
    ".timeindex": _time_index,
    ".txnindex": _aborted,
    ".snapshot": _producers,
}
_READERS_BY_NAME: dict[str, Callable[[Path], Iterator[Entry]]] = {
    "recovery-point-offset-checkpoint": _checkpoint,
    "log-start-offset-checkpoint": _checkpoint,
    "replication-offset-checkpoint": _checkpoint,
    "cleaner-offset-checkpoint": _checkpoint,
    "leader-epoch-checkpoint": _checkpoint,
    "meta.properties": _properties,
    "partition.metadata": _text,
    "quorum-state": _json_file,
    ".kafka_cleanshutdown": _json_file,
}


def _topic_of(path: Path) -> str:
    return path.absolute().parent.name.rpartition("-")[0]


def _base_offset(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def _shown(content: bytes | None) -> str | None:
    if content is None:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"0x{content.hex()}"


def _print_entry(entry: Entry, indent: str = "") -> None:
    content = entry.get("content", ())
    fields = entry.get("fields", {})
    words = []
    for name, value in [*entry.items(), *fields.items()]:
        if name in ("content", "fields") or value is None:
            continue
        text = str(value)
        words.append(f"{name}={text if len(text) <= _SHOWN_BYTES else text[:_SHOWN_BYTES] + '…'}")
    print(indent + "  ".join(words))
    for record in content:
        _print_entry(record, indent + "    ")

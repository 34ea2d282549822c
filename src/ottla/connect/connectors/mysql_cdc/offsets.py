"""Progress as Debezium writes it, so that either goes on where the other stopped. Pure.

Between transactions an offset is a position and the GTIDs before it. Within one, the position is
that of its beginning: the server sends it again, and as many events (`event`) and rows of the next
one (`row`) are skipped as were written.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ottla.connect.connector import ConnectError, Place
from ottla.connect.java_map import in_hash_order
from ottla.connect.offset_checks import check_numbers, check_partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where the stream goes on."""

    file: str
    position: int
    gtids: str | None = None  # of the transactions before it
    events: int = 0  # to be skipped of the transaction that begins here
    rows: int = 0  # to be skipped of the event behind those
    server_id: int = 0
    seconds: int | None = None

    def offset(self, snapshot: str | None = None) -> Place:
        said = {
            "server_id": self.server_id or None,
            "gtids": self.gtids or None,
            "file": self.file,
            "pos": self.position,
            "event": self.events or None,
            "row": self.rows or None,
            "ts_sec": self.seconds,
            "snapshot": snapshot,
        }
        return in_hash_order({name: value for name, value in said.items() if value is not None})


def position(stored: Place) -> Position:
    return Position(
        file=str(stored.get("file") or ""),
        position=_number(stored, "pos"),
        gtids=stored.get("gtids"),
        events=_number(stored, "event"),
        rows=_number(stored, "row"),
        server_id=_number(stored, "server_id"),
        seconds=stored.get("ts_sec"),
    )


def _number(stored: Mapping[str, Any], name: str) -> int:
    return int(stored.get(name) or 0)


def unfinished_snapshot(stored: Place) -> bool:
    completed = stored.get("snapshot_completed")
    return bool(stored.get("snapshot")) and not completed


def check_offset(place: Place | None, offset: Place) -> None:
    """Of an offset that is set by hand: what Debezium's task, too, could go on from."""
    check_partition(place, ("server",))
    check_numbers(offset, "pos", "event", "row", "server_id", "ts_sec")
    for name in ("file", "pos"):
        if offset.get(name) is None:
            raise ConnectError(f"Offset objects should either be null or contain the key '{name}'")
    for name in ("file", "gtids"):
        if not isinstance(offset.get(name, ""), str):
            raise ConnectError(f"The value for the '{name}' key in the offset is no text")

"""Progress as Debezium writes it, so that either goes on where the other stopped. Pure.

At a transaction's end all three LSNs are that of its commit. Within one, `lsn_proc` is the last
change that was written, and `lsn_commit` the end of the transaction before it: the server sends the
open transaction again from its start, and changes up to `lsn_proc` are skipped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ottla.connect.connector import ConnectError, Place
from ottla.connect.offset_checks import check_numbers, check_partition

_ORDER: Final = "transaction_data_collection_order_"
_CHANGES: Final = ("INSERT", "UPDATE", "DELETE", "TRUNCATE", "MESSAGE")
_KINDS: Final = (*_CHANGES, "BEGIN", "COMMIT", "NOOP")


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far the stream has been written."""

    processed: int
    message_type: str
    last_commit: int | None
    xid: int | None
    us: int | None
    counts: Mapping[str, int] | None = None  # by table, where transactions are recorded, too

    def offset(self) -> Place:
        said: dict[str, Any] = {
            "transaction_id": None if self.counts is None else str(self.xid),
            "lsn_proc": self.processed,
            "messageType": self.message_type,
            "lsn_commit": self.last_commit,
            "lsn": self.processed,
            "txId": self.xid,
            **{f"{_ORDER}{table}": count for table, count in (self.counts or {}).items()},
            "ts_usec": self.us,
        }
        return {name: value for name, value in said.items() if value is not None}


def snapshot_offset(lsn: int, xid: int, us: int, *, completed: bool) -> Place:
    return {
        "last_snapshot_record": completed,
        "lsn": lsn,
        "txId": xid,
        "ts_usec": us,
        "snapshot": "INITIAL",
        "snapshot_completed": completed,
    }


@dataclass(frozen=True, slots=True)
class Resume:
    """Where the stream goes on."""

    lsn: int  # asked of the server; 0: wherever the slot stands
    skip_xid: int | None = None  # of this transaction,
    skip_through: int = 0  # changes up to this LSN are written
    last_commit: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)  # of that transaction


def unfinished_snapshot(stored: Place) -> bool:
    completed = stored.get("snapshot_completed") or stored.get("last_snapshot_record")
    return stored.get("snapshot") is not None and not completed


def resume(stored: Place) -> Resume:
    commit, lsn = stored.get("lsn_commit"), stored.get("lsn")
    processed, kind = stored.get("lsn_proc"), stored.get("messageType")
    if processed is None:  # a snapshot's end
        return Resume(int(lsn or 0))
    if kind in _CHANGES and processed != commit:
        counts = {
            name.removeprefix(_ORDER): int(count)
            for name, count in stored.items()
            if name.startswith(_ORDER)
        }
        return Resume(int(commit or 0), stored.get("txId"), int(processed), commit, counts)
    return Resume(int(commit or processed), last_commit=commit)


def check_offset(place: Place | None, offset: Place) -> None:
    """Of an offset that is set by hand: what Debezium's task, too, could go on from."""
    check_partition(place, ("server",))
    check_numbers(offset, "lsn", "lsn_proc", "lsn_commit", "txId", "ts_usec")
    if offset.get("lsn") is None:
        raise ConnectError("Offset objects should either be null or contain the key 'lsn'")
    kind = offset.get("messageType")
    if kind is not None and kind not in _KINDS:
        raise ConnectError(f"messageType is {kind}, which is none of {', '.join(_KINDS)}")
    for name in ("last_snapshot_record", "snapshot_completed"):
        if not isinstance(offset.get(name, False), bool):
            raise ConnectError(f"The value for the '{name}' key in the offset is no boolean")

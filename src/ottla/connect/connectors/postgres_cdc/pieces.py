"""Where the stream is cut: after transactions, and within one that outgrows a piece. Pure.

Within a transaction a cut lies between changes of different LSNs, since an offset cannot tell those
of one LSN apart (COPY writes many rows with one). Where transactions are recorded (their counts run
through all of their changes) none is cut.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ottla.connect.connectors.postgres_cdc import protocol
from ottla.connect.connectors.postgres_cdc.changes import Item, Options, Piece, Progressed
from ottla.connect.connectors.postgres_cdc.envelope import Naming
from ottla.connect.connectors.postgres_cdc.offsets import Position, Resume
from ottla.connect.connectors.postgres_cdc.tables import Table


@dataclass(frozen=True, slots=True)
class _Point:
    """A place between two items."""

    length: int  # items before it
    events: int  # changes among them
    progressed: Progressed
    tables: Mapping[int, Table]


@dataclass(slots=True)
class Pieces:
    naming: Naming
    options: Options
    size: int  # changes in a piece
    resume: Resume
    idle: Position | None = None  # the end of transactions without a captured change
    _items: list[Item] = field(default_factory=list)
    _events: int = 0
    _tables: Mapping[int, Table] = field(default_factory=dict)
    _now: Progressed = field(init=False)
    _begin: _Point = field(init=False)
    _whole: _Point = field(init=False)  # after the last transaction that is there as a whole
    _closed: deque[tuple[Piece, int]] = field(default_factory=deque)
    _last_lsn: int = -1

    def __post_init__(self) -> None:
        self._now = Progressed(
            last_commit=self.resume.last_commit,
            skip_xid=self.resume.skip_xid,
            skip_through=self.resume.skip_through,
            counts=tuple(self.resume.counts.items()),
        )
        self._begin = self._whole = self._point()

    @property
    def events(self) -> int:
        """Changes that wait, those of an open transaction among them."""
        return self._events + sum(events for _, events in self._closed)

    def table(self, table: Table) -> None:
        """As its rows are from here on."""
        self._tables = {**self._tables, table.oid: table}
        self._items.append((0, table))

    def message(self, lsn: int, data: bytes) -> None:
        match data[:1]:
            case b"B":
                begin = protocol.decode(data)
                assert isinstance(begin, protocol.Begin)
                self._now = replace(self._now, xid=begin.xid, us=begin.commit_us, origin=None)
                self._items.append((lsn, data))
            case b"C":
                self._commit(lsn, data)
            case b"O":
                origin = protocol.decode(data)
                assert isinstance(origin, protocol.Origin)
                self._now = replace(self._now, origin=origin)
                self._items.append((lsn, data))
            case b"I" | b"U" | b"D" if protocol.relation_of(data) not in self._tables:
                pass
            case b"T" if "t" in self.options.skipped:
                pass
            case b"I" | b"U" | b"D" | b"T" | b"M":
                self._change(lsn, data)

    def _change(self, lsn: int, data: bytes) -> None:
        full = self._events - self._begin.events >= self.size
        if full and lsn != self._last_lsn and not self.options.transactions:
            self._cut(self._point())
        self._items.append((lsn, data))
        self._events += 1
        self._last_lsn = lsn
        if data[:1] == b"M" and self._now.xid is None:  # of no transaction
            self._now = replace(self._now, last_commit=lsn)
            self._whole = self._point()

    def _commit(self, lsn: int, data: bytes) -> None:
        xid, us = self._now.xid, self._now.us
        self._now = replace(
            self._now, xid=None, last_commit=lsn, skip_xid=None, skip_through=0, counts=()
        )
        if self._events == self._whole.events and not self.options.transactions:
            kept = [
                item for item in self._items[self._whole.length :] if isinstance(item[1], Table)
            ]
            self._items[self._whole.length :] = kept
            self.idle = Position(
                processed=lsn, message_type="COMMIT", last_commit=lsn, xid=xid, us=us
            )
        else:
            self._items.append((lsn, data))
            self.idle = None
        self._whole = self._point()
        if self._events - self._begin.events >= self.size:
            self._cut(self._whole)

    def _point(self) -> _Point:
        return _Point(len(self._items), self._events, self._now, self._tables)

    def _cut(self, at: _Point) -> None:
        piece = Piece(
            naming=self.naming,
            options=self.options,
            begin=self._begin.progressed,
            tables=tuple(self._begin.tables.values()),
            items=tuple(self._items[: at.length]),
        )
        self._closed.append((piece, at.events))
        del self._items[: at.length]
        self._events -= at.events
        self._begin = replace(at, length=0, events=0)
        self._whole = self._begin

    def take(self) -> list[Piece]:
        """What can be written now, in its order."""
        if self._whole.events:
            self._cut(self._whole)
        pieces = [piece for piece, _ in self._closed]
        self._closed.clear()
        return pieces

    @property
    def ready(self) -> bool:
        return bool(self._closed) or self._whole.events > 0

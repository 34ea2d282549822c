"""The binlog in pieces: cut after transactions, and within one that outgrows a piece. Pure.

Told of events, it follows files, GTIDs and definitions of tables, and answers with the changes of
definitions that the schema history has to hold before anything behind them is written. Within a
transaction a cut lies between events. Where transactions are recorded (their counts run through all
of their changes) none is cut.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.mysql_cdc import binlog
from ottla.connect.connectors.mysql_cdc.binlog import Header
from ottla.connect.connectors.mysql_cdc.changes import (
    Begun,
    Defined,
    Ended,
    InFile,
    Item,
    Mapped,
    Options,
    Piece,
    Progressed,
    RowsChanged,
)
from ottla.connect.connectors.mysql_cdc.ddl import Change, Schema
from ottla.connect.connectors.mysql_cdc.envelope import Naming
from ottla.connect.connectors.mysql_cdc.gtids import MariaDbGtids, MySqlGtids, gtids
from ottla.connect.connectors.mysql_cdc.offsets import Position
from ottla.connect.connectors.mysql_cdc.statements import is_ddl
from ottla.connect.connectors.mysql_cdc.tables import TableId


@dataclass(frozen=True, slots=True)
class _Point:
    """A place between two items."""

    length: int  # items before it
    events: int  # changes among them
    progressed: Progressed
    position: Position


@dataclass(slots=True)
class Pieces:
    naming: Naming
    options: Options
    size: int  # changes in a piece
    schema: Schema
    resume: Position
    only_captured_tables: bool = False  # are told of in the schema history and its topic
    _items: list[Item] = field(default_factory=list)
    _events: int = 0
    _now: Progressed = field(init=False)
    _gtids: MariaDbGtids | MySqlGtids | None = field(init=False)
    _pending: str | None = None  # a GTID whose transaction has not ended
    _start: Position | None = None  # of the open transaction
    _index: int = 0  # of its next event
    _standalone: bool = False  # it is one statement, which nothing ends
    _skip: int = field(init=False)
    _skip_rows: int = field(init=False)
    _at: Position = field(init=False)  # behind the last transaction
    _begin: _Point = field(init=False)
    _whole: _Point = field(init=False)
    _maps: dict[int, Mapped | None] = field(default_factory=dict)  # None: not captured
    _closed: deque[tuple[Piece, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self._gtids = gtids(self.resume.gtids) if self.resume.gtids else None
        self._skip, self._skip_rows = self.resume.events, self.resume.rows
        self._at = replace(self.resume, events=0, rows=0)
        self._now = Progressed(file=self.resume.file)
        self._begin = self._whole = _Point(0, 0, self._now, self.resume)

    @property
    def events(self) -> int:
        """Changes that wait, those of an open transaction among them."""
        return self._events + sum(events for _, events in self._closed)

    @property
    def ready(self) -> bool:
        return bool(self._closed) or self._whole.events > 0

    @property
    def idle(self) -> Position:
        """Behind the last transaction that is there as a whole."""
        return self._at

    def take(self) -> list[Piece]:
        """What can be written now, in its order."""
        if self._whole.events:
            self._cut(self._whole)
        pieces = [piece for piece, _ in self._closed]
        self._closed.clear()
        return pieces

    def event(self, event: bytes) -> "Sequence[HistoryEntry]":
        """The next one, without its checksum."""
        header = binlog.header(event)
        kind = header.kind
        entries: Sequence[HistoryEntry] = ()
        if kind in binlog.ROWS:
            self._rows(event)
        elif kind == binlog.TABLE_MAP:
            self._map(event)
        elif kind == binlog.MARIADB_GTID:
            self._mariadb_gtid(header, event)
        elif kind in (binlog.GTID, binlog.ANONYMOUS_GTID):
            self._pending = binlog.mysql_gtid(event) if kind == binlog.GTID else None
        elif kind == binlog.XID:
            self._end(header)
        elif kind == binlog.QUERY:
            entries = self._query(header, event)
        elif kind == binlog.ROTATE:
            self._rotate(event)
        elif kind in binlog.UNSERVED:
            raise ConnectError(f"The binlog was written with {binlog.UNSERVED[kind]}, not served.")
        if self._start is not None and kind != binlog.HEARTBEAT:
            self._index += 1
        return entries

    def _rotate(self, event: bytes) -> None:
        position, file = binlog.rotation(event)
        if file != self._now.file:
            self._items.append(InFile(file))
            self._now = replace(self._now, file=file)
        self._maps.clear()
        if self._start is None:
            self._at = replace(self._at, file=file, position=position)
            if not self._events:
                self._whole = self._point(self._at)

    # Transactions

    def _mariadb_gtid(self, header: Header, event: bytes) -> None:
        found = binlog.mariadb_gtid(event)
        gtid = f"{found.domain}-{header.server_id}-{found.sequence}"
        self._pending = gtid
        self._standalone = bool(found.flags & binlog.STANDALONE)
        self._begin_transaction(header)

    def _begin_transaction(self, header: Header) -> None:
        file, gtid = self._now.file, self._pending
        self._start = replace(
            self._at,
            file=file,
            position=header.position,
            server_id=header.server_id,
            seconds=header.seconds,
        )
        self._index = 0
        transaction = gtid or f"file={file},pos={header.position}"
        self._now = replace(self._now, gtid=gtid, transaction=transaction, maps=())
        if not self._skip:
            self._items.append(Begun(transaction, gtid, header.seconds))
        else:  # it was begun before, and is gone on with
            self._begin = replace(self._begin, progressed=self._now)

    def _end(self, header: Header, *, told: bool = True) -> None:
        if told and self._start is not None:
            self._items.append(Ended(header.seconds))
        if self._pending is not None:
            known = self._gtids or (MySqlGtids() if ":" in self._pending else MariaDbGtids())
            self._gtids = known.with_one(self._pending)
        self._at = Position(
            file=self._now.file,
            position=header.next_position,
            gtids=None if self._gtids is None else self._gtids.text,
            server_id=header.server_id,
            seconds=header.seconds,
        )
        self._start, self._pending, self._standalone = None, None, False
        self._skip = self._skip_rows = 0
        self._now = replace(self._now, transaction=None, maps=())
        empty = self._events == self._whole.events and not self.options.transactions
        if empty:  # nothing was captured of it
            kept = [one for one in self._items[self._whole.length :] if isinstance(one, InFile)]
            self._items[self._whole.length :] = kept
        self._whole = self._point(self._at)
        if self._events - self._begin.events >= self.size:
            self._cut(self._whole)

    # Changes

    def _skips(self) -> bool:
        return self._index < self._skip

    def _map(self, event: bytes) -> None:
        number = binlog.table_number(event)
        known = self._maps.get(number)
        if known is not None and known.event[19:] == event[19:]:
            definition = self.schema.tables.get(known.table.id)
            if definition is known.table:
                self._use(known)
                return
        id = TableId(*binlog.table_name(event))
        if not self.naming.filters.captures(id):
            self._maps[number] = None
            return
        table = self.schema.tables.get(id)
        if table is None:
            raise ConnectError(
                f"The binlog has changes of {id}, whose definition is not in the schema history:"
                " delete the connector's offsets to begin anew."
            )
        mapped = Mapped(number, event, table)
        self._maps[number] = mapped
        self._use(mapped)

    def _use(self, mapped: Mapped) -> None:
        """A task that reads on from here knows no table yet."""
        self._items.append(mapped)
        others = tuple(one for one in self._now.maps if one.number != mapped.number)
        self._now = replace(self._now, maps=(*others, mapped))

    def _rows(self, event: bytes) -> None:
        if self._skips() or self._maps.get(binlog.table_number(event)) is None:
            return
        kind = binlog.header(event).kind
        op = "c" if kind in binlog.WRITES else "u" if kind in binlog.UPDATES else "d"
        first_row, self._skip_rows = self._skip_rows, 0
        if op in self.options.skipped:
            return
        if self._events - self._begin.events >= self.size and not self.options.transactions:
            assert self._start is not None
            self._cut(self._point(replace(self._start, events=self._index)))
        self._items.append(RowsChanged(event, first_row))
        self._events += 1

    # Statements

    def _query(self, header: Header, event: bytes) -> "Sequence[HistoryEntry]":
        query = binlog.query(event)
        sql = query.sql.strip()
        word = sql.upper()
        if word == "BEGIN":
            self._begin_transaction(header)
            return ()
        if word in ("COMMIT", "ROLLBACK"):
            self._end(header)
            return ()
        entries: list[HistoryEntry] = []
        if is_ddl(sql) and not self._skips():
            entries = self._ddl(header, sql, query.database)
        if self._standalone or self._start is None:
            self._end(header, told=False)
        return entries

    def _ddl(self, header: Header, sql: str, database: str) -> "list[HistoryEntry]":
        changes = self.schema.apply(sql, database) or [Change("OTHER", database, sql)]
        told = tuple(one for one in changes if self._tells(one))
        if not told:
            return []
        start = self._start or replace(self._at, position=header.position)
        position = replace(start, events=self._index)
        self._items.append(Defined(told, header.position, header.seconds, header.server_id))
        if self.options.schema_changes or any(one.kind == "TRUNCATE" for one in told):
            self._events += 1
        return [HistoryEntry(one, position) for one in told if one.kind != "TRUNCATE"]

    def _tells(self, change: Change) -> bool:
        filters = self.naming.filters
        if change.database and not filters.captures_database(change.database):
            return False
        if not self.only_captured_tables:
            return True
        return change.id is not None and filters.captures(change.id)

    # Cuts

    def _point(self, position: Position) -> _Point:
        return _Point(len(self._items), self._events, self._now, position)

    def _cut(self, at: _Point) -> None:
        piece = Piece(
            naming=self.naming,
            options=self.options,
            begin=self._begin.progressed,
            items=tuple(self._items[: at.length]),
            offset=at.position.offset(),
        )
        self._closed.append((piece, at.events))
        del self._items[: at.length]
        self._events -= at.events
        self._begin = replace(at, length=0, events=0)
        self._whole = self._begin


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A change that the schema history has to hold, and where it was made."""

    change: Change
    position: Position

"""A piece of the binlog as records: events in, records out. Pure.

`Piece` is what travels to a Spark task. It begins where the piece before it ended, so it carries
what that one knew: the tables, and how far an open transaction has come.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.connect.connector import ConnectError, Place
from ottla.connect.connectors.debezium.schemas import TRANSACTION
from ottla.connect.connectors.debezium.service_records import transaction_record
from ottla.connect.connectors.mysql_cdc import binlog
from ottla.connect.connectors.mysql_cdc.binlog import Read, Row
from ottla.connect.connectors.mysql_cdc.ddl import Change
from ottla.connect.connectors.mysql_cdc.envelope import (
    Naming,
    Source,
    TableRecords,
    table_records,
)
from ottla.connect.connectors.mysql_cdc.schema_changes import schema_change_record
from ottla.connect.connectors.mysql_cdc.tables import Table
from ottla.connect.data import Header, Record, Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    tombstones: bool = True
    skipped: frozenset[str] = frozenset("t")
    transactions: bool = False  # provide.transaction.metadata
    schema_changes: bool = True  # include.schema.changes


class InFile(NamedTuple):
    """Positions are this file's from here on."""

    file: str


class Begun(NamedTuple):
    transaction: str  # its id
    gtid: str | None
    seconds: int


class Ended(NamedTuple):
    seconds: int


class Mapped(NamedTuple):
    """A table map's event, and the table that it is for."""

    number: int
    event: bytes
    table: Table


class RowsChanged(NamedTuple):
    event: bytes
    first_row: int = 0  # those before it were written


class Defined(NamedTuple):
    """What one statement changed."""

    changes: tuple[Change, ...]
    position: int
    seconds: int
    server_id: int


Item = InFile | Begun | Ended | Mapped | RowsChanged | Defined


@dataclass(frozen=True, slots=True, kw_only=True)
class Progressed:
    """What a piece begins with."""

    file: str = ""
    gtid: str | None = None
    transaction: str | None = None  # that is open
    thread: int | None = None
    maps: tuple[Mapped, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    naming: Naming
    options: Options
    begin: Progressed
    items: tuple[Item, ...]
    offset: Place  # at its end


@dataclass(slots=True)
class Changes:
    """Reads one piece."""

    piece: Piece
    now_ns: Callable[[], int]
    _file: str = ""
    _gtid: str | None = None
    _transaction: str | None = None
    _counts: dict[str, int] = field(default_factory=dict)
    _tables: dict[int, tuple[TableRecords, tuple[Read, ...]]] = field(default_factory=dict)
    _row: int = 0  # of the last change

    def read(self) -> Iterator[Record]:
        begin = self.piece.begin
        self._file, self._gtid, self._transaction = begin.file, begin.gtid, begin.transaction
        for one in begin.maps:
            self._meet(one)
        for item in self.piece.items:
            yield from self._records(item)

    def _records(self, item: Item) -> Iterable[Record]:
        match item:
            case RowsChanged(event, first_row):
                return self._rows(event, first_row)
            case Mapped():
                self._meet(item)
            case Begun(transaction, gtid, seconds):
                self._transaction, self._gtid, self._counts = transaction, gtid, {}
                if self.piece.options.transactions:
                    return (self._transaction_record("BEGIN", None, seconds),)
            case Ended(seconds):
                ended = self._transaction
                if self.piece.options.transactions and ended is not None:
                    record = self._transaction_record("END", self._counts, seconds)
                    self._transaction = None
                    return (record,)
                self._transaction = None
            case Defined():
                return self._defined(item)
            case InFile(file):
                self._file = file
        return ()

    def _transaction_record(
        self, status: str, counts: dict[str, int] | None, seconds: int
    ) -> Record:
        prefix, ms = self.piece.naming.prefix, seconds * 1000
        return transaction_record(prefix, status, self._transaction or "", counts, ms)

    def _meet(self, mapped: Mapped) -> None:
        table = mapped.table
        stored = binlog.table_map(mapped.event).types
        if len(stored) != len(table.columns):
            raise ConnectError(
                f"The binlog has {len(stored)} columns of {table.id}, and the schema history"
                f" {len(table.columns)}: they do not fit. Delete the connector's offsets to begin"
                " anew."
            )
        readers = tuple(binlog.reader(one) for one in stored)
        self._tables[mapped.number] = table_records(table, self.piece.naming), readers

    def _rows(self, event: bytes, first_row: int) -> Iterator[Record]:
        header = binlog.header(event)
        table, readers = self._tables[binlog.table_number(event)]
        source = Source(
            header.seconds * 1000, self._file, header.position, header.server_id, self._gtid
        )
        found = binlog.rows(event, header.kind, readers)
        for at in range(first_row, len(found)):
            before, after = found[at]
            self._row = at
            yield from self._change(table, source, at, before, after)

    def _change(
        self, table: TableRecords, source: Source, row: int, before: Row | None, after: Row | None
    ) -> Sequence[Record]:
        if before is None:
            return (self._record(table, source, row, "c", None, after),)
        if after is not None:
            return self._update(table, source, row, before, after)
        deleted = self._record(table, source, row, "d", before, None)
        if not self.piece.options.tombstones:
            return (deleted,)
        return (deleted, table.tombstone(table.key(before)))

    def _update(
        self, table: TableRecords, source: Source, row: int, before: Row, after: Row
    ) -> Sequence[Record]:
        old, new = table.key(before), table.key(after)
        if old is None or new is None or old.values == new.values:
            return (self._record(table, source, row, "u", before, after),)
        moved = (Header("__debezium.newkey", table.key_schema, new),)
        deleted = self._record(table, source, row, "d", before, None, moved)
        tombstones = (table.tombstone(old, moved),) if self.piece.options.tombstones else ()
        came = (Header("__debezium.oldkey", table.key_schema, old),)
        created = self._record(table, source, row, "c", None, after, came)
        return (deleted, *tombstones, created)

    def _record(
        self,
        table: TableRecords,
        source: Source,
        row: int,
        op: str,
        before: Row | None,
        after: Row | None,
        headers: tuple[Header, ...] = (),
    ) -> Record:
        id = table.table.id
        return table.record(
            op,
            table.key(before if after is None else after),
            table.row(before),
            table.row(after),
            source.struct(self.piece.naming, id.database, id.name, row),
            now_ns=self.now_ns(),
            transaction=self._block(str(id)),
            headers=headers,
        )

    def _block(self, collection: str) -> Struct | None:
        if not self.piece.options.transactions:
            return None
        self._counts[collection] = self._counts.get(collection, 0) + 1
        values = {
            "id": self._transaction,
            "total_order": sum(self._counts.values()),
            "data_collection_order": self._counts[collection],
        }
        return Struct(TRANSACTION, values)

    def _defined(self, item: Defined) -> Iterator[Record]:
        ms = item.seconds * 1000
        source = Source(ms, self._file, item.position, item.server_id, self._gtid)
        for change in item.changes:
            if change.kind == "TRUNCATE":
                yield from self._truncated(change, source)
            elif self.piece.options.schema_changes:
                now_ms = self.now_ns() // 1_000_000
                yield schema_change_record(self.piece.naming, change, source, now_ms, self._row)

    def _truncated(self, change: Change, source: Source) -> Iterator[Record]:
        table = change.table
        if table is None or not self.piece.naming.filters.captures(table.id):
            return
        if "t" not in self.piece.options.skipped:
            records = table_records(table, self.piece.naming)
            yield self._record(records, source, self._row, "t", None, None)

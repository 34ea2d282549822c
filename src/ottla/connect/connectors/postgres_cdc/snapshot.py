"""The tables' rows at one moment, read in slices of pages by any number of connections.

A connection of the worker holds the moment: it keeps the snapshot that the slot was made with (or
one of a temporary slot, where the slot was there before), and every slice imports it. So the rows
are exactly those of the LSN from which the stream goes on.
"""

import contextlib
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Final

import psycopg2
from psycopg2 import sql
from psycopg2.extensions import connection as Connection

from ottla.connect.connector import Progress
from ottla.connect.connectors.debezium.progress import partition
from ottla.connect.connectors.postgres_cdc.catalog import Catalog
from ottla.connect.connectors.postgres_cdc.connections import (
    connect,
    connect_to_replicate,
    failed,
)
from ottla.connect.connectors.postgres_cdc.envelope import Naming, Source, TableRecords
from ottla.connect.connectors.postgres_cdc.offsets import snapshot_offset
from ottla.connect.connectors.postgres_cdc.rendering import (
    JsonChain,
    RenderedTable,
    rendered_source,
)
from ottla.connect.connectors.postgres_cdc.settings import Settings
from ottla.connect.connectors.postgres_cdc.slot import create_slot, lsn_number
from ottla.connect.connectors.postgres_cdc.tables import Table
from ottla.connect.data import Record
from ottla.connect.pipeline import Row, SourceChain

PAGES: Final = 4096  # of a slice: 32 MiB of rows, and what is stored beside them
IN_MEMORY: Final = 64 * 1024 * 1024
_RANGES_SINCE: Final = 140_000  # servers that find a range of pages without reading all
_ESCAPE: Final = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPES: Final = {
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What all rows of a snapshot say of their source."""

    snapshot: str  # its name in the server
    lsn: int
    xid: int
    us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSlice:
    """A table's rows from one page up to another."""

    database: Mapping[str, Any] = field(repr=False)
    naming: Naming
    moment: Moment
    table: Table
    pages: tuple[int, int] | None  # None: all
    first: str | None  # how the first row is marked, if it is one of note
    last: str | None
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        records = TableRecords(self.table, self.naming)
        for mark, values in self._marked():
            yield self._record(records, mark, values)
        yield self._progress()

    def read_json(self, chain: SourceChain) -> Iterator[Row | Record | Progress] | None:
        """The same, as JSON at once; what cannot be rendered is a record."""
        json = JsonChain.of(chain)
        if json is None:
            return None
        try:
            table = RenderedTable(TableRecords(self.table, self.naming), json)
        except Exception:  # whatever it is, each of its records will say it
            return None
        return self._rendered(table)

    def _rendered(self, table: RenderedTable) -> Iterator[Row | Record | Progress]:
        records = table.records
        sources = {mark: rendered_source(self._source(mark), table) for mark in self._marks()}
        for mark, values in self._marked():
            try:
                key, row = table.key(values), table.row(values)
            except Exception:  # a record fails where failures are dealt with
                yield self._record(records, mark, values)
            else:
                yield table.change("r", key, b"null", row, sources[mark], time.time_ns())
        yield self._progress()

    def _record(self, records: TableRecords, mark: str, values: Sequence[bytes | None]) -> Record:
        texts = tuple([None if one is None else one.decode() for one in values])
        of = self.table
        source = self._source(mark).struct(self.naming, of.schema, of.name)
        key, row = records.key(texts), records.row(texts)
        return records.record("r", key, None, row, source, now_ns=time.time_ns())

    def _source(self, mark: str) -> Source:
        moment = self.moment
        return Source(moment.us, moment.xid, moment.lsn, None, mark)

    def _marks(self) -> list[str]:
        return [mark for mark in ("true", self.first, self.last) if mark is not None]

    def _progress(self) -> Progress:
        moment = self.moment
        completed = self.last == "last"
        offset = snapshot_offset(moment.lsn, moment.xid, moment.us, completed=completed)
        return Progress(partition(self.naming.prefix), offset)

    def _marked(self) -> Iterator[tuple[str, Sequence[bytes | None]]]:
        """One row is held back, so that the last can be told."""
        held: Sequence[bytes | None] | None = None
        mark = self.first or "true"
        for values in self._rows():
            if held is not None:
                yield mark, held
                mark = "true"
            held = values
        if held is not None:
            alone = mark != "first" or self.last == "last"
            yield (self.last if self.last and alone else mark), held

    def _rows(self) -> Iterator[Sequence[bytes | None]]:
        names = sql.SQL(", ").join(sql.Identifier(one.name) for one in self.table.columns)
        query = sql.SQL("SELECT {} FROM ONLY {}{}").format(
            names, sql.Identifier(self.table.schema, self.table.name), _range(self.pages)
        )
        with tempfile.SpooledTemporaryFile(IN_MEMORY) as file:
            with contextlib.closing(imported(self.database, self.moment.snapshot)) as connection:
                _copy(connection, query, file)
            file.seek(0)
            for line in file:
                yield row(line)


def row(line: bytes) -> Sequence[bytes | None]:
    """A line of COPY's text format."""
    fields = line[:-1].split(b"\t")
    if b"\\" not in line:
        return fields
    return [None if one == b"\\N" else _unescaped(one) for one in fields]


def _unescaped(value: bytes) -> bytes:
    if b"\\" not in value:
        return value
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), value)


def _range(pages: tuple[int, int] | None) -> sql.Composable:
    if pages is None:
        return sql.SQL("")
    first, end = (sql.Literal(f"({page},0)") for page in pages)
    return sql.SQL(" WHERE ctid >= {} AND ctid < {}").format(first, end)


def _copy(connection: Connection, query: sql.Composed, file: IO[bytes]) -> None:
    with connection.cursor() as cursor:
        try:
            cursor.copy_expert(sql.SQL("COPY ({}) TO STDOUT").format(query), file)
        except psycopg2.Error as error:
            raise failed("A table cannot be read for the snapshot", error) from None


def imported(database: Mapping[str, Any], snapshot: str) -> Connection:
    """A connection that sees the database as the snapshot does."""
    connection = connect(database)
    connection.autocommit = False
    connection.set_session(isolation_level="REPEATABLE READ", readonly=True)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION SNAPSHOT %s", (snapshot,))
    except psycopg2.Error as error:
        connection.close()
        raise failed("The snapshot's moment has gone", error) from None
    return connection


@dataclass(slots=True)
class Snapshot:
    """Holds the moment until it is closed, and knows the slices."""

    keeper: Connection
    slices: Sequence[SnapshotSlice]
    moment: Moment

    def close(self) -> None:
        self.keeper.close()


def take_snapshot(settings: Settings, naming: Naming, *, slot_exists: bool) -> Snapshot:
    """Makes the slot if there is none."""
    name = f"ottla_{time.time_ns():x}" if slot_exists else settings.slot
    with contextlib.closing(connect_to_replicate(settings.database)) as replication:
        exported = create_slot(replication, name, temporary=slot_exists)
        keeper = imported(settings.database, exported.name)
        with keeper.cursor() as cursor:
            cursor.execute(
                "SELECT pg_catalog.pg_export_snapshot(),"
                " pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())"
            )
            handed_on, xid = cursor.fetchone() or ("", 0)
    moment = Moment(snapshot=handed_on, lsn=exported.lsn, xid=xid, us=time.time_ns() // 1000)
    try:
        return Snapshot(keeper, plan(keeper, settings, naming, moment), moment)
    except psycopg2.Error as error:
        keeper.close()
        raise failed("The tables of the snapshot cannot be found", error) from None


def look_at_rows(settings: Settings, naming: Naming) -> Snapshot:
    """The rows of now without a slot, for who only wants to see them."""
    keeper = connect(settings.database)
    try:
        keeper.autocommit = False
        keeper.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with keeper.cursor() as cursor:
            cursor.execute(
                "SELECT pg_catalog.pg_export_snapshot(), pg_catalog.pg_current_wal_lsn(),"
                " pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())"
            )
            name, lsn, xid = cursor.fetchone() or ("", "0/0", 0)
        us = time.time_ns() // 1000
        moment = Moment(snapshot=name, lsn=lsn_number(lsn), xid=xid, us=us)
        return Snapshot(keeper, plan(keeper, settings, naming, moment), moment)
    except psycopg2.Error as error:
        keeper.close()
        raise failed("The tables cannot be looked at", error) from None


def plan(
    keeper: Connection, settings: Settings, naming: Naming, moment: Moment
) -> list[SnapshotSlice]:
    """Slices of all tables that have rows; the marks say where each begins and ends."""
    catalog = Catalog(keeper)
    tables = [catalog.table(one) for one in catalog.tables(settings.filters)]
    found = [(table, ranges) for table in tables if (ranges := _ranges(keeper, table))]
    slices = []
    for n, (table, ranges) in enumerate(found):
        leads = table is tables[0]  # `first` goes unsaid if the first table has no rows
        for at, pages in enumerate(ranges):
            begins, ends = at == 0, at == len(ranges) - 1
            first = ("first" if leads else "first_in_data_collection") if begins else None
            last = ("last" if n == len(found) - 1 else "last_in_data_collection") if ends else None
            slices.append(
                SnapshotSlice(
                    database=settings.database,
                    naming=naming,
                    moment=moment,
                    table=table,
                    pages=pages,
                    first=first,
                    last=last,
                )
            )
    return slices


def _ranges(keeper: Connection, table: Table) -> list[tuple[int, int] | None]:
    """Of pages, the first and the last with rows in them; empty: the table is."""
    with keeper.cursor() as cursor:
        if not _any_row(cursor, table, None):
            return []
        cursor.execute("SELECT pg_catalog.pg_relation_size(%s, 'main') / 8192", (table.oid,))
        (pages,) = cursor.fetchone()
        if pages <= PAGES or keeper.server_version < _RANGES_SINCE:
            return [None]
        ranges = [(page, page + PAGES) for page in range(0, pages, PAGES)]
        while not _any_row(cursor, table, ranges[0]):
            ranges.pop(0)
        while not _any_row(cursor, table, ranges[-1]):
            ranges.pop()
    return list(ranges)


def _any_row(cursor: Any, table: Table, pages: tuple[int, int] | None) -> bool:
    query = sql.SQL("SELECT EXISTS (SELECT FROM ONLY {}{})")
    name = sql.Identifier(table.schema, table.name)
    cursor.execute(query.format(name, _range(pages)))
    (found,) = cursor.fetchone()
    return bool(found)

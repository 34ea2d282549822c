"""The tables at one moment: their definitions, and their rows in one transaction.

Writers wait (FLUSH TABLES WITH READ LOCK) until the transaction has begun and the position in the
binlog is known. Where the user may not lock, MariaDB tells the position that its consistent
snapshot was taken at. The connection that holds the moment cannot be shared, so the worker reads
the rows, as bytes, and Spark's tasks make records of them.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pymysql
from pymysql.cursors import SSCursor

from ottla.connect.connector import ConnectError, Place, Progress
from ottla.connect.connectors.debezium.progress import partition
from ottla.connect.connectors.mysql_cdc.connections import (
    ERRORS,
    Connection,
    connect,
    execute,
    failed,
    is_mariadb,
    raw,
    told,
    variable,
)
from ottla.connect.connectors.mysql_cdc.ddl import Change, Schema
from ottla.connect.connectors.mysql_cdc.envelope import Naming, Source, table_records
from ottla.connect.connectors.mysql_cdc.filters import BUILT_IN
from ottla.connect.connectors.mysql_cdc.offsets import Position
from ottla.connect.connectors.mysql_cdc.schema_changes import schema_change_record
from ottla.connect.connectors.mysql_cdc.settings import Settings
from ottla.connect.connectors.mysql_cdc.tables import Table, TableId, quoted
from ottla.connect.data import Record

BYTES: Final = 8 * 1024 * 1024  # of rows in one slice
_MAY_NOT_LOCK: Final = (1044, 1045, 1142, 1227)
Row = tuple[bytes | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsSlice:
    """Rows of one table, as bytes."""

    naming: Naming
    table: Table
    rows: tuple[Row, ...]
    marks: tuple[tuple[int, str], ...]  # of rows that are told apart, by number
    position: Position
    ms: int
    last: bool  # of the snapshot
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        records = table_records(self.table, self.naming)
        parsers, id, marks = records.parsers, self.table.id, dict(self.marks)
        at = self.position
        sources = {
            mark: Source(self.ms, at.file, at.position, snapshot=mark).struct(
                self.naming, id.database, id.name
            )
            for mark in {"true", *marks.values()}
        }
        for number, row in enumerate(self.rows):
            values = tuple(
                [
                    None if value is None else parse(value)
                    for parse, value in zip(parsers, row, strict=True)
                ]
            )
            yield records.record(
                "r",
                records.key(values),
                None,
                records.row(values),
                sources[marks.get(number, "true")],
                now_ns=time.time_ns(),
            )
        offset = at.offset(None if self.last else "INITIAL")
        yield Progress(partition(self.naming.prefix), offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionsSlice:
    """Records of the tables' definitions; and the end, if there are no rows."""

    naming: Naming
    changes: tuple[Change, ...]
    position: Position
    ms: int
    offset: Place
    last: bool  # no rows are wanted
    task: int = 0

    def read(self) -> Iterator[Record | Progress]:
        at = self.position
        for number, change in enumerate(self.changes, 1):
            mark = "last" if self.last and number == len(self.changes) else "true"
            source = Source(self.ms, at.file, at.position, snapshot=mark)
            yield schema_change_record(self.naming, change, source, time.time_ns() // 1_000_000)
        yield Progress(partition(self.naming.prefix), self.offset)


@dataclass(slots=True)
class Snapshot:
    """Holds the moment until it is closed; `slices` reads on, in order."""

    settings: Settings
    naming: Naming
    keeper: Connection
    position: Position
    changes: Sequence[Change]
    tables: Sequence[Table]  # that have rows
    leading: TableId | None  # the first of all, whether it has rows or not
    ms: int
    data: bool = True  # rows are wanted, whether there are any or not
    limit: int | None = None  # rows of each table, where not all are wanted
    _slices: Iterator[DefinitionsSlice | RowsSlice] | None = field(default=None)

    def next(self) -> "DefinitionsSlice | RowsSlice | None":
        """None: that was all."""
        if self._slices is None:
            self._slices = self._read()
        try:
            return next(self._slices, None)
        except ERRORS as error:
            raise failed("A table cannot be read for the snapshot", error) from None

    def close(self) -> None:
        result = self.keeper._result
        if result is not None:
            result.unbuffered_active = False  # else PyMySQL reads on when it forgets the cursor
        self.keeper._force_close()

    def _read(self) -> Iterator["DefinitionsSlice | RowsSlice"]:
        rows = bool(self.tables)
        yield DefinitionsSlice(
            naming=self.naming,
            changes=tuple(self.changes) if self.settings.options.schema_changes else (),
            position=self.position,
            ms=self.ms,
            offset=self.position.offset("INITIAL" if rows else None),
            last=not self.data,
        )
        if rows:
            raw(self.keeper)
        for table in self.tables:
            yield from self._rows(table, last=table is self.tables[-1])

    def _rows(self, table: Table, *, last: bool) -> Iterator[RowsSlice]:
        leads = table.id == self.leading  # `first` goes unsaid if the first table has no rows
        first = "first" if leads else "first_in_data_collection"
        for rows, begins, ends in self._batches(table):
            marks: dict[int, str] = {0: first} if begins else {}
            alone = len(rows) == 1 and begins
            if ends and not (alone and leads and not last):
                marks[len(rows) - 1] = "last" if last else "last_in_data_collection"
            yield RowsSlice(
                naming=self.naming,
                table=table,
                rows=tuple(rows),
                marks=tuple(marks.items()),
                position=self.position,
                ms=self.ms,
                last=last and ends,
            )

    def _batches(self, table: Table) -> Iterator[tuple[list[Row], bool, bool]]:
        """Rows, and whether they are the table's first and last; one batch is held back."""
        names = ", ".join(quoted(one.name) for one in table.columns)
        cursor = self.keeper.cursor(SSCursor)
        limit = "" if self.limit is None else f" LIMIT {self.limit}"
        cursor.execute(f"SELECT {names} FROM {table.id.quoted}{limit}")
        held: list[Row] | None = None
        begins = True
        while batch := self._batch(cursor):
            if held is not None:
                yield held, begins, False
                begins = False
            held = batch
        cursor.close()
        if held is not None:
            yield held, begins, True

    def _batch(self, cursor: Any) -> list[Row]:
        rows: list[Row] = []
        size = 0
        while len(rows) < self.settings.fetch_size and size < BYTES:
            row = cursor.fetchone()
            if row is None:
                break
            rows.append(row)
            size += sum(len(value) for value in row if value is not None)
        return rows


def take_snapshot(settings: Settings, naming: Naming, schema: Schema, *, data: bool) -> Snapshot:
    """Fills `schema` with the definitions; `data`: rows are wanted, too."""
    keeper = connect(settings)
    try:
        locked = settings.locking_mode != "none" and _lock(keeper)
        execute(keeper, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        execute(keeper, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        position = _position(keeper, locked=locked)
        ids = _tables(keeper, settings)
        changes = _definitions(keeper, settings, schema, ids)
        if locked and settings.locking_mode != "extended":
            execute(keeper, "UNLOCK TABLES")
        captured = sorted(
            (one for one in ids if settings.filters.captures(one)), key=settings.filters.order
        )
        found = [schema.tables[one] for one in captured] if data else []
        return Snapshot(
            settings=settings,
            naming=naming,
            keeper=keeper,
            position=position,
            changes=changes,
            tables=[one for one in found if _any_row(keeper, one.id)],
            leading=captured[0] if captured else None,
            ms=time.time_ns() // 1_000_000,
            data=data,
        )
    except ERRORS as error:
        keeper.close()
        raise failed("The snapshot cannot be taken", error) from None


def _lock(keeper: Connection) -> bool:
    try:
        execute(keeper, "SET SESSION lock_wait_timeout = 10")
        execute(keeper, "FLUSH TABLES WITH READ LOCK")
    except pymysql.err.MySQLError as error:
        if told(error)[0] not in _MAY_NOT_LOCK:
            raise
        if not is_mariadb(keeper):
            raise ConnectError(
                "The user may not lock tables for a snapshot: grant RELOAD, or set"
                " snapshot.locking.mode=none and let nobody write meanwhile."
            ) from None
        return False
    return True


def _position(keeper: Connection, *, locked: bool) -> Position:
    seconds = int(time.time())
    if not locked and is_mariadb(keeper):
        said = dict(execute(keeper, "SHOW STATUS LIKE 'binlog_snapshot_%'"))
        file, at = said.get("Binlog_snapshot_file"), said.get("Binlog_snapshot_position")
        if file and at:
            found = execute(keeper, "SELECT BINLOG_GTID_POS(%s, %s)", (file, int(at)))
            before = str(found[0][0] or "") or None
            return Position(file=file, position=int(at), gtids=before, seconds=seconds)
    status = current_status(keeper)
    if status is None:
        raise ConnectError("The server writes no binlog: set log_bin.")
    file, at, executed = status
    gtids = variable(keeper, "gtid_binlog_pos") if is_mariadb(keeper) else executed
    text = "".join((gtids or "").split())
    return Position(file=file, position=at, gtids=text or None, seconds=seconds)


def current_status(connection: Connection) -> tuple[str, int, str] | None:
    """The binlog's end: file, position, and MySQL's executed GTIDs."""
    try:
        rows = execute(connection, "SHOW MASTER STATUS")
    except pymysql.err.ProgrammingError:  # MySQL has renamed it
        rows = execute(connection, "SHOW BINARY LOG STATUS")
    if not rows:
        return None
    row = rows[0]
    return str(row[0]), int(row[1]), str(row[4]) if len(row) > 4 else ""


def all_tables(connection: Connection) -> list[TableId]:
    rows = execute(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
        " WHERE TABLE_TYPE = 'BASE TABLE' ORDER BY TABLE_SCHEMA, TABLE_NAME",
    )
    return [TableId(*row) for row in rows if row[0] not in BUILT_IN]


def _tables(keeper: Connection, settings: Settings) -> list[TableId]:
    """All of captured databases, or only those that are captured; as they are to be told."""
    ids = all_tables(keeper)
    filters = settings.filters
    if settings.history.only_captured_tables:
        return sorted((one for one in ids if filters.captures(one)), key=filters.order)
    return sorted((one for one in ids if filters.captures_database(one.database)), key=str)


def _definitions(
    keeper: Connection, settings: Settings, schema: Schema, ids: Sequence[TableId]
) -> list[Change]:
    """The statements that Debezium's snapshot begins with, and what they changed."""
    changes = [*schema.apply(_set_statement(keeper), "")]
    for id in ids:
        changes += schema.apply(f"DROP TABLE IF EXISTS {id.quoted}", id.database)
    locales = {
        row[0]: row[1:]
        for row in execute(
            keeper,
            "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME"
            " FROM information_schema.SCHEMATA",
        )
    }
    for database in dict.fromkeys(id.database for id in ids):
        name = quoted(database)
        charset, collation = locales[database]
        made = f"CREATE DATABASE {name} CHARSET {charset} COLLATE {collation}"
        for statement in (f"DROP DATABASE IF EXISTS {name}", made, f"USE {name}"):
            changes += schema.apply(statement, database)
        for id in ids:
            if id.database == database:
                changes += schema.apply(_create_statement(keeper, id), database)
    return changes


def _set_statement(keeper: Connection) -> str:
    names = ("character_set_server", "collation_server")
    return "SET " + ", ".join(f"{one}={variable(keeper, one)}" for one in names) + ";"


def _create_statement(keeper: Connection, id: TableId) -> str:
    return str(execute(keeper, f"SHOW CREATE TABLE {id.quoted}")[0][1])


def _any_row(keeper: Connection, id: TableId) -> bool:
    return bool(execute(keeper, f"SELECT 1 FROM {id.quoted} LIMIT 1"))

"""Rows of one table on their way into few statements, in an order that ends as theirs would.

Of rows with the same key only the last is written, where a later one replaces an earlier one
anyway; so no statement meets a key twice.
"""

from collections.abc import Callable, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import (
    Column,
    Connection,
    Read,
    TableId,
    Wanted,
    execute,
)
from ottla.connect.connectors.jdbc.mapping import Change, Row
from ottla.connect.data import Record

Refuse = Callable[[Record, Exception], None]
Fit = tuple[TableId, list[Column]]  # a row's table, and the columns of its shape
Pending = tuple[tuple[Any, ...], Record]


class TableBatch:
    def __init__(
        self,
        database: Database,
        connection: Connection,
        mode: str,
        rows_max: int,
        refuse: Refuse,
    ) -> None:
        self._database = database
        self._connection = connection
        self._replaces = mode in ("upsert", "update")
        self._mode = mode
        self._rows_max = rows_max
        self._refuse = refuse
        self._wanted: Sequence[Wanted] | None = None
        self._table: TableId | None = None
        self._columns: list[Column] = []
        self._writers: list[Read | None] = []
        self._keys = 0
        self._deletes: dict[tuple[Any, ...], Pending] = {}
        self._writes: dict[Any, Pending] = {}  # by key; or numbered, where none replaces another

    def add(self, row: Row, fit: Fit) -> None:
        if row.change is Change.TRUNCATE:
            self._truncate(fit)
            return
        assert row.shape is not None
        if row.shape.wanted is not self._wanted and not self._deletes_by_same_key(row):
            self.flush()
            self._shaped(row, fit)
        try:
            values = tuple(
                [
                    None if value is None else value if write is None else write(value)
                    for value, write in zip(row.values, self._writers, strict=False)
                ]
            )
        except (TypeError, ValueError, AttributeError, OverflowError, ArithmeticError) as error:
            said = f"A value of the record at offset {row.record.offset} is not of its schema"
            self._refuse(row.record, ConnectError(f"{said}: {error}"))
            return
        if row.change is Change.DELETE:
            self._delete(values, row.record)
        else:
            self._write(values, row.record)
        if len(self._writes) + len(self._deletes) >= self._rows_max:
            self.flush()

    def flush(self) -> None:
        """Deletes first: what was written to their keys before is not among the writes."""
        table, columns, keys = self._table, self._columns, self._keys
        if table is None:
            return
        dialect, connection = self._database.dialect, self._connection
        if self._deletes:
            gone, self._deletes = list(self._deletes.values()), {}
            self._perform(
                lambda rows: dialect.delete(connection, table, columns[:keys], rows), gone
            )
        if self._writes:
            written, self._writes = list(self._writes.values()), {}
            match self._mode:
                case "upsert":
                    self._perform(
                        lambda rows: dialect.upsert(connection, table, columns, keys, rows), written
                    )
                case "update" if len(columns) > keys:
                    self._perform(
                        lambda rows: dialect.update(connection, table, columns, keys, rows), written
                    )
                case "insert" | "multi":
                    self._perform(
                        lambda rows: dialect.insert(connection, table, columns, rows), written
                    )

    # Collecting

    def _shaped(self, row: Row, fit: Fit) -> None:
        assert row.shape is not None
        self._table, self._columns = fit
        self._wanted, self._keys = row.shape.wanted, row.shape.keys
        zone: ZoneInfo = self._database.zone
        pairs = zip(row.shape.wanted, self._columns, strict=True)
        self._writers = [
            self._database.dialect.writer(one.schema, column, zone) for one, column in pairs
        ]

    def _deletes_by_same_key(self, row: Row) -> bool:
        """A delete has no more than a key: rows of any shape may wait beside it."""
        if row.change is not Change.DELETE or self._wanted is None or row.shape is None:
            return False
        return row.shape.wanted == self._wanted[: self._keys]

    def _write(self, values: tuple[Any, ...], record: Record) -> None:
        if self._replaces:
            key = values[: self._keys]
            self._writes.pop(key, None)
            self._writes[key] = values, record
        else:
            self._writes[len(self._writes)] = values, record

    def _delete(self, key: tuple[Any, ...], record: Record) -> None:
        if self._replaces:
            self._writes.pop(key, None)
        elif self._writes:
            self.flush()
        self._deletes[key] = key, record

    # Performing

    def _perform(self, write: Callable[[list[Any]], None], rows: list[Pending]) -> None:
        """All at once; if a row is refused, one after the other."""
        dialect = self._database.dialect
        self._run("SAVEPOINT ottla")
        try:
            write([values for values, _ in rows])
        except dialect.errors as error:
            if not dialect.of_a_row(error):
                raise
            self._run("ROLLBACK TO SAVEPOINT ottla")
            if len(rows) == 1:
                refused = self._database.dialect.failure(error, self._database.target)
                self._refuse(rows[0][1], refused)
                return
        else:
            self._run("RELEASE SAVEPOINT ottla")
            return
        for one in rows:
            self._perform(write, [one])

    def _run(self, sql: str) -> None:
        cursor = self._connection.cursor()
        try:
            execute(self._database.dialect, cursor, sql)
        finally:
            cursor.close()

    def _truncate(self, fit: Fit) -> None:
        """By DELETE: a TRUNCATE would end the transaction in some databases."""
        self._writes.clear()
        self._deletes.clear()
        table, _ = fit
        self._run(f"DELETE FROM {self._database.name(table)}")

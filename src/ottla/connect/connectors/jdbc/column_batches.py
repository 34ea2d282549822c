"""Rows of one table on their way into few statements, a column at a time: as `batches`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.connect.connectors.jdbc.batches import Fit
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import (
    ByColumns,
    Column,
    Connection,
    TableId,
    execute,
)
from ottla.connect.data import DataError
from ottla.connect.runs.fields import FieldColumn

if TYPE_CHECKING:
    import pyarrow

# A value that is not of its schema: whose it is, is found one by one.
NOT_AS_COLUMNS = (DataError, TypeError, ValueError, AttributeError, OverflowError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class ColumnBatch:
    database: Database
    dialect: ByColumns
    connection: Connection
    mode: str
    rows_max: int
    copies: dict[TableId, bool]  # as far as it is known

    def write(self, fit: Fit, keys: int, fields: Sequence[FieldColumn]) -> None:
        """The first `keys` fields are the key."""
        table, columns = fit
        if self.mode == "update" and len(columns) == keys:
            return
        if self.mode in ("upsert", "update"):
            fields = _last_of_each(fields, keys)
        zone = self.database.zone
        for begin in range(0, len(fields[0].nodes), self.rows_max):
            pairs = zip(fields, columns, strict=True)
            texts = [
                self.dialect.texts(one.slice(begin, self.rows_max), column, zone)
                for one, column in pairs
            ]
            if not self._copied(table, columns, texts):
                write = self.dialect.write_columns
                write(self.connection, self.mode, table, columns, keys, texts)
                if self.mode != "update" and table not in self.copies:
                    self.copies[table] = self.dialect.may_copy(self.connection, table)

    def _copied(
        self, table: TableId, columns: Sequence[Column], texts: "Sequence[pyarrow.Array]"
    ) -> bool:
        """Whatever it is refused for, the statement that is meant will tell. A table's first rows
        go by that: whether the table knows of the key, COPY would not say."""
        if not self.copies.get(table):
            return False
        self._run("SAVEPOINT ottla")
        try:
            self.dialect.copy(self.connection, table, columns, texts)
        except self.database.dialect.errors:
            self._run("ROLLBACK TO SAVEPOINT ottla")
            self.copies[table] = False  # it has rows with these keys, and will have more of them
            return False
        self._run("RELEASE SAVEPOINT ottla")
        return True

    def _run(self, sql: str) -> None:
        cursor = self.connection.cursor()
        try:
            execute(self.database.dialect, cursor, sql)
        finally:
            cursor.close()


def _last_of_each(fields: Sequence[FieldColumn], keys: int) -> Sequence[FieldColumn]:
    """Of rows with the same key, in the order in which the last ones came."""
    import pyarrow.compute

    count = len(fields[0].nodes)
    if keys == 1 and pyarrow.compute.count_distinct(fields[0].nodes).as_py() == count:
        return fields
    names = [str(at) for at in range(keys)]
    table = pyarrow.Table.from_arrays(
        [*(one.nodes for one in fields[:keys]), pyarrow.array(range(count))], [*names, "at"]
    )
    last = table.group_by(names, use_threads=False).aggregate([("at", "max")])
    if last.num_rows == count:
        return fields
    places = last.column("at_max").combine_chunks().sort()
    return [one.take(places) for one in fields]

"""Rows of one table on their way into few statements, a column at a time: as `batches`."""

from collections.abc import Sequence
from dataclasses import dataclass

from ottla.connect.connectors.jdbc.batches import Fit
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import ByColumns, Connection
from ottla.connect.data import DataError
from ottla.connect.runs.fields import FieldColumn

# A value that is not of its schema: whose it is, is found one by one.
NOT_AS_COLUMNS = (DataError, TypeError, ValueError, AttributeError, OverflowError, ArithmeticError)


@dataclass(frozen=True, slots=True)
class ColumnBatch:
    database: Database
    dialect: ByColumns
    connection: Connection
    mode: str
    rows_max: int

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
            taken = [
                self.dialect.column(one.slice(begin, self.rows_max), column, zone)
                for one, column in pairs
            ]
            self.dialect.write_columns(self.connection, self.mode, table, columns, keys, taken)


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

"""A range of a table's rows, read in a Spark task."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ottla.connect.connector import Progress
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import Column
from ottla.connect.data import Record, Schema, Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSlice:
    """Read again, it gives the same rows: both ends of the range are fixed."""

    task: int
    database: Database
    sql: str
    parameters: tuple[Any, ...]
    columns: tuple[Column, ...]
    schema: Schema
    topic: str
    progress: Progress | None  # None: a table that is read as a whole, again and again
    fetch_rows: int

    def read(self) -> Iterator[Record | Progress]:
        dialect, zone = self.database.dialect, self.database.zone
        readers = [
            (column.name, dialect.reader(column, field.schema, zone))
            for column, field in zip(self.columns, self.schema.fields, strict=True)
        ]
        connection = self.database.connect()
        try:
            with self.database.speaking():
                rows = dialect.rows(connection, self.sql, self.parameters, self.fetch_rows)
                for row in rows:
                    values = {
                        name: None if value is None else read(value)
                        for (name, read), value in zip(readers, row, strict=True)
                    }
                    yield Record(
                        topic=self.topic,
                        value_schema=self.schema,
                        value=Struct(self.schema, values),
                    )
        finally:
            connection.close()
        if self.progress is not None:
            yield self.progress

"""What is read of a table at once: statements for a range of numbers, times or both. Pure.

Only rows whose place is settled are read: up to a bound that no row still to come lies below.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import MARK, Column, TableId
from ottla.connect.connectors.jdbc.offsets import Offset

Statement = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table, or a query in its place, and the columns that count its rows."""

    database: Database
    table: TableId | None
    query: str
    columns: tuple[Column, ...]
    incrementing: Column | None = None
    timestamps: tuple[Column, ...] = ()
    suffix: str = ""

    @property
    def source(self) -> str:
        if self.table is not None:
            return self.database.name(self.table)
        return f"({self.query}) ottla_query"

    @property
    def counts(self) -> bool:
        return self.incrementing is not None or bool(self.timestamps)

    # Statements

    def last(self, after: Offset, before: datetime | None, rows: int) -> Statement:
        """The place of the last of so many rows that come next, and how many there are."""
        names = [f"{one} AS k{at}" for at, one in enumerate(self._keys())]
        where, parameters = self._where(after, None, before)
        order = ", ".join(f"k{at}" for at in range(len(names)))
        inner = f"SELECT {', '.join(names)} FROM {self.source} WHERE {where} ORDER BY {order}"
        inner += f" LIMIT {rows}"
        down = ", ".join(f"k{at} DESC" for at in range(len(names)))
        counted = f"SELECT {order}, count(*) OVER () FROM ({inner}) ottla_rows"
        return f"{counted} ORDER BY {down} LIMIT 1", parameters

    def rows(self, after: Offset, upto: Offset | None) -> Statement:
        """All of a range in its order; without one, all there is."""
        quote = self.database.dialect.quote
        names = ", ".join(
            self.database.dialect.expression(one, quote(one.name)) for one in self.columns
        )
        if not self.counts:
            # A query that is read as a whole stands as it was written, if nothing is cast.
            return f"SELECT {names} FROM {self.source} {self.suffix}".rstrip(), ()
        where, parameters = self._where(after, upto, None)
        order = ", ".join(self._keys())
        sql = f"SELECT {names} FROM {self.source} WHERE {where} ORDER BY {order} {self.suffix}"
        return sql.rstrip(), parameters

    def place(self, keys: Sequence[Any]) -> Offset:
        """A row's, by what its counting columns hold."""
        found, at = Offset(), 0
        if self.timestamps:
            zone = self.database.zone
            when = self.database.dialect.read_instant(self.timestamps[0], keys[0], zone)
            found, at = Offset(when), 1
        if self.incrementing is not None:
            found = Offset(found.timestamp, int(keys[at]))
        return found

    def settled(self, before: datetime) -> datetime:
        """A column that counts in seconds may still be given the second that is running."""
        digits = self.timestamps[0].precision
        unit = timedelta(microseconds=10 ** (6 - min(6 if digits is None else digits, 6)))
        return before - (before - datetime.min.replace(tzinfo=before.tzinfo)) % unit

    # Their parts

    def _keys(self) -> list[str]:
        keys = [self._time()] if self.timestamps else []
        if self.incrementing is not None:
            keys.append(self.database.dialect.quote(self.incrementing.name))
        return keys

    def _time(self) -> str:
        dialect = self.database.dialect
        each = [dialect.instant(one, dialect.quote(one.name)) for one in self.timestamps]
        return each[0] if len(each) == 1 else f"COALESCE({', '.join(each)})"

    def _where(
        self, after: Offset, upto: Offset | None, before: datetime | None
    ) -> tuple[str, tuple[Any, ...]]:
        wanted = [f"{key} IS NOT NULL" for key in self._keys()]
        parameters: list[Any] = []
        if before is not None:
            wanted.append(f"{self._time()} < {MARK}")
            parameters.append(self._instant(before))
        for place, sign, closed in ((after, ">", ">"), (upto, "<", "<=")):
            if place is not None and place != Offset():
                condition, values = self._beyond(place, sign, closed)
                wanted.append(condition)
                parameters += values
        return " AND ".join(wanted), tuple(parameters)

    def _beyond(self, place: Offset, sign: str, closed: str) -> tuple[str, list[Any]]:
        if self.incrementing is None or place.incrementing is None:
            if place.timestamp is None:
                return "1 = 1", []
            return f"{self._time()} {closed} {MARK}", [self._instant(place.timestamp)]
        number = self.database.dialect.quote(self.incrementing.name)
        if not self.timestamps or place.timestamp is None:
            return f"{number} {closed} {MARK}", [place.incrementing]
        time, at = self._time(), self._instant(place.timestamp)
        condition = f"{time} {sign}= {MARK} AND ({time} {sign} {MARK} OR {number} {closed} {MARK})"
        return condition, [at, at, place.incrementing]

    def _instant(self, at: datetime) -> Any:
        return self.database.dialect.bind_instant(self.timestamps[0], at, self.database.zone)

"""Aggregates over the rows of a table that are subtracted when a row changes or goes.

What runs inside Python workers: totals by group, and what each row gave to them, so that a change
costs the same however many rows a group has. The digits are those that Spark's own aggregates give.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

EXACT = Context(prec=120, rounding=ROUND_HALF_UP)
SPARK_SCALE = 39  # of a quotient, before it is rounded to its type
LONG = 2**64


@dataclass(frozen=True, slots=True)
class Total:
    """One result: what it needs of each row, and how it is told from a sum and a count."""

    name: str
    function: str  # count_all, count, sum or avg
    argument: str  # the type of what a row gives, as Spark writes it
    result: str
    scale: int | None = None  # of a decimal result; None: a whole number, or a double

    def told(self, sum: Decimal, count: int, rows: int) -> Any:
        if self.function == "count_all":
            return rows
        if self.function == "count":
            return count
        if count == 0:
            return None
        if self.function == "sum":
            return sum if self.scale is not None else wrapped(int(sum))
        if self.scale is None:
            return int(sum) / count
        with localcontext(EXACT):
            exact = (sum / count).quantize(Decimal(1).scaleb(-SPARK_SCALE))
            return exact.quantize(Decimal(1).scaleb(-self.scale))


def wrapped(number: int) -> int:
    """A sum beyond 64 bits, as Spark has it."""
    return (number + LONG // 2) % LONG - LONG // 2


class Subtracting(StatefulProcessor):
    """Keyed by a group: the totals of its rows."""

    def __init__(self, totals: Sequence[Total]) -> None:
        self.totals = totals
        self.answer = Row("_g", "_count", "_time", *(total.name for total in totals))

    def init(self, handle: StatefulProcessorHandle) -> None:
        places = list(enumerate(self.totals))
        given = ", ".join(["_there boolean", *(f"a{at} {one.argument}" for at, one in places)])
        sums = [f"s{at} decimal(38, {scale_of(one.argument)}), n{at} bigint" for at, one in places]
        self.given = handle.getMapState("given", "pk string", given)
        self.sums = handle.getValueState("sums", ", ".join(["rows bigint", *sums]))

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Row]:
        stored = self.sums.get()
        nothing: list[Any] = [0, *([Decimal(0), 0] * len(self.totals))]
        sums = nothing if stored is None else list(stored)
        latest = 0
        for row in sorted(rows, key=lambda row: (row._partition or 0, row._offset or 0)):
            latest = max(latest, row._time)
            place = (row._pk,)
            if (before := self.given.getValue(place)) is not None:
                self._add(sums, before[1:], -1)
            if row._there:
                gives = tuple(row[f"a{at}"] for at in range(len(self.totals)))
                self._add(sums, gives, 1)
                self.given.updateValue(place, (True, *gives))
            else:
                self.given.removeKey(place)
        if sums[0]:
            self.sums.update(tuple(sums))
        else:
            self.sums.clear()
        told = (
            total.told(sums[1 + 2 * at], sums[2 + 2 * at], sums[0])
            for at, total in enumerate(self.totals)
        )
        yield self.answer(key[0], sums[0], latest, *told)

    def _add(self, sums: list[Any], gives: Sequence[Any], sign: int) -> None:
        sums[0] += sign
        for at, value in enumerate(gives):
            if value is None:
                continue
            sums[2 + 2 * at] += sign
            if self.totals[at].function in ("sum", "avg"):
                given = EXACT.multiply(
                    Decimal(sign), Decimal(value)
                )  # Python alone keeps 28 digits
                sums[1 + 2 * at] = EXACT.add(sums[1 + 2 * at], given)

    def close(self) -> None:
        pass


def scale_of(type: str) -> int:
    """The digits behind the point: `decimal(10,2)` has 2."""
    return int(type.removesuffix(")").split(",")[1]) if type.startswith("decimal") else 0

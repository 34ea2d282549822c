"""Rows that belong together, waiting for what folds them into a table."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ottla.pipelines import expressions as ex
from ottla.pipelines.definitions import (
    Aggregate,
    DefinitionError,
    Field,
    Node,
    TableAggregate,
    Window,
    here,
)
from ottla.pipelines.folds import parse_fold

if TYPE_CHECKING:
    from ottla.pipelines.app import App
    from ottla.pipelines.expressions import Expression
    from ottla.pipelines.tables import Table

WINDOW_FIELDS = (Field("window_start", "TIMESTAMP"), Field("window_end", "TIMESTAMP"))


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows that belong together, over all time or by window, waiting for an aggregate."""

    app: "App"
    node: Node
    keys: tuple[str, ...]
    window: Window | None = None
    of_table: bool = False  # the latest rows of a table, not every row that comes

    def windowed(self, window: Window) -> "Grouped":
        """Cut each group by event time: `tumbling`, `hopping`, `sliding` or `session`."""
        if self.of_table:
            raise DefinitionError(here(), "a table has no windows: changes() comes first.")
        if not isinstance(window, Window):
            raise DefinitionError(
                here(), f"{window!r} is no window: write it like tumbling('1 minute')."
            )
        return Grouped(self.app, self.node, self.keys, window)

    def count(self, name: str = "count") -> "Table":
        return self.agg(**{name: "count(*)"})

    def sum(self, column: str, name: str | None = None) -> "Table":
        return self.agg(**{name or f"sum_{column}": f"sum(`{column}`)"})

    def agg(self, **folds: "Expression") -> "Table":
        """Fold the rows of each group: `total="sum(amount)"`, any of Spark's aggregates."""
        from ottla.pipelines.tables import Table

        where = here()
        aggregates = {name: ex.text_of(fold, where) for name, fold in folds.items()}
        if not aggregates:
            raise DefinitionError(where, "agg() needs at least one name=expression.")
        fields = []
        for name, sql in aggregates.items():
            fields.append(ex.typed(name, sql, self.node.schema, where))
            if name in self.keys:
                raise DefinitionError(where, f"{name} is a column of the group already.")
            if not ex.is_aggregate(sql, where):
                raise DefinitionError(where, f"{sql!r} does not fold many rows into one.")
            if self.of_table or (self.window is not None and self.window.kind == "sliding"):
                parse_fold(sql, where)
        of_group = {field.name: field for field in self.node.schema}
        keys = tuple(of_group.get(name, Field(name, None)) for name in self.keys)
        schema = (*keys, *(WINDOW_FIELDS if self.window else ()), *fields)
        made = partial(TableAggregate, members=self.node.schema) if self.of_table else Aggregate
        node = made(
            where=where,
            schema=schema,
            is_table=True,
            input=self.node,
            keys=self.keys,
            aggregates=tuple(aggregates.items()),
            window=self.window,
            final=self.window is not None and self.window.kind == "session",
            name=None,
        )
        return Table(self.app, node)

"""Rows that belong together, waiting for what folds them into a table."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.pipelines.api import expressions as ex
from ottla.pipelines.api.definitions import Aggregate, Node, PythonAggregate, TableAggregate, Window
from ottla.pipelines.api.folds import parse_fold
from ottla.pipelines.formats.schema import Field, Schema, parse_schema
from ottla.pipelines.runtime.where import DefinitionError, Where, here

if TYPE_CHECKING:
    from collections.abc import Callable

    from ottla.pipelines.api.app import App
    from ottla.pipelines.api.expressions import Expression
    from ottla.pipelines.api.tables import Table

if TYPE_CHECKING:
    Fold = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]

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
        from ottla.pipelines.api.tables import Table

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
            final=self._ends(),
            name=None,
        )
        return Table(self.app, node)

    def reduce(self, function: "Fold") -> "Table":
        """Fold the rows of each group, two into one: `function(folded, row)` in Python.

        Rows are dictionaries, and what comes out has the columns that go in. The first row of a
        group is itself what is folded. Of sessions that grow together, the earlier comes first.
        """
        where = here()
        fields = tuple(field for field in self.node.schema if field.name not in self.keys)
        return self._python(None, function, function, fields, where)

    def aggregate(
        self, zero: Any, function: "Fold", schema: str, *, merge: "Fold | None" = None
    ) -> "Table":
        """Fold the rows of each group into something else: `function(folded, row)` in Python.

        `zero` is what a group begins with, a dictionary or a function that makes one; `schema` says
        its fields. Sessions that grow together need `merge(earlier, later)`, as in Kafka Streams.
        """
        where = here()
        if zero is None:
            raise DefinitionError(where, "aggregate() begins with a dictionary: reduce() without.")
        if merge is None and self.window is not None and self.window.kind == "session":
            raise DefinitionError(where, "sessions grow together: aggregate() needs merge=.")
        return self._python(zero, function, merge, parse_schema(schema), where)

    def _python(
        self, zero: Any, function: "Fold", merge: "Fold | None", fields: Schema, where: Where
    ) -> "Table":
        from ottla.pipelines.api.tables import Table

        if self.of_table:
            raise DefinitionError(
                where, "Python cannot take back what a row gave: agg(), or changes() first."
            )
        if self.window is not None and self.window.kind == "sliding":
            raise DefinitionError(where, "sliding windows fold with agg() only.")
        if both := sorted({field.name for field in fields} & set(self.keys)):
            raise DefinitionError(where, f"{', '.join(both)} is a column of the group already.")
        of_group = {field.name: field for field in self.node.schema}
        keys = tuple(of_group.get(name, Field(name, None)) for name in self.keys)
        node = PythonAggregate(
            where=where,
            schema=(*keys, *(WINDOW_FIELDS if self.window else ()), *fields),
            is_table=True,
            input=self.node,
            keys=self.keys,
            aggregates=tuple((field.name, field.type or "") for field in fields),
            window=self.window,
            final=self._ends(),
            name=None,
            zero=zero,
            function=function,
            merge=merge,
        )
        return Table(self.app, node)

    def _ends(self) -> bool:
        """Whether results are told when a window has ended, and not before."""
        window = self.window
        return window is not None and window.kind == "session" and not window.growing

"""The fluent API over tables: the latest row of each key, as updates come."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ottla.pipelines.api import expressions as ex
from ottla.pipelines.api.definitions import (
    Aggregate,
    Changes,
    Filter,
    ForeignKeyJoin,
    JoinKind,
    Node,
    TableJoin,
)
from ottla.pipelines.api.flows import Flow
from ottla.pipelines.api.grouping import Grouped
from ottla.pipelines.api.projections import extend, joined, project
from ottla.pipelines.api.streams import Stream
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from ottla.pipelines.api.expressions import Expression


class Table(Flow):
    """The latest row by key. A row that a filter rejects is deleted from the filtered table."""

    def filter(self, condition: "Expression") -> "Table":
        where = here()
        condition = ex.text_of(condition, where)
        ex.check_condition(condition, self.node.schema, where)
        return self._then(
            Filter(
                where=where,
                schema=self.node.schema,
                is_table=True,
                input=self.node,
                condition=condition,
            )
        )

    def select(self, *columns: "Expression", **named: "Expression") -> "Table":
        return self._then(project(self.node, columns, named, here()))

    def with_columns(self, **named: "Expression") -> "Table":
        return self._then(extend(self.node, named, here()))

    def drop(self, *names: str) -> "Table":
        where = here()
        ex.check_columns(names, self.node.schema, where)
        kept = [name for name in self.columns if name not in names]
        return self._then(project(self.node, kept, {}, where))

    def rename(self, **new_by_old: str) -> "Table":
        where = here()
        ex.check_columns(new_by_old, self.node.schema, where)
        columns = [f"`{name}` AS `{new_by_old.get(name, name)}`" for name in self.columns]
        return self._then(project(self.node, columns, {}, where))

    def suppress(self) -> "Table":
        """Only the last result of each window, once it can no longer change."""
        where = here()
        node = self.node
        if not isinstance(node, Aggregate) or node.window is None:
            raise DefinitionError(where, "suppress() follows a windowed aggregate directly.")
        if node.window.kind == "sliding":
            raise DefinitionError(where, "a sliding window ends with its record: it is final.")
        return self._then(replace(node, final=True))

    def named(self, name: str) -> "Table":
        """Keep the table in a compacted topic of this name, where `ottla table get` finds it."""
        where = here()
        if isinstance(self.node, Aggregate):
            node: Node = replace(self.node, name=name)
        else:
            node = Changes(
                where=where, schema=self.node.schema, is_table=True, input=self.node, name=name
            )
        table = self._then(node)
        self.app.keep(name, table.node, where)
        return table

    def join(self, other: "Table", *, on: str | None = None) -> "Table":
        """Rows of both tables with the same key; with `on`, the other's key is that expression."""
        return self._join(other, "inner", on)

    def left_join(self, other: "Table", *, on: str | None = None) -> "Table":
        return self._join(other, "left", on)

    def outer_join(self, other: "Table") -> "Table":
        return self._join(other, "outer", None)

    def group_by(self, *columns: str) -> Grouped:
        """The latest rows with the same values in these columns belong together.

        A row that changes its group, is changed or deleted takes back what it gave before.
        """
        where = here()
        if not columns:
            raise DefinitionError(where, "group_by needs a column.")
        ex.check_columns(columns, self.node.schema, where)
        return Grouped(self.app, self.node, columns, of_table=True)

    def changes(self) -> Stream:
        """The updates of the table as a stream; deletions are left out.

        Whoever counts them counts updates: `group_by` of the table itself counts its rows.
        """
        node = Changes(where=here(), schema=self.node.schema, input=self.node)
        return Stream(self.app, node)

    def _join(self, other: "Table", kind: JoinKind, on: str | None) -> "Table":
        where = here()
        if isinstance(other, GlobalTable):
            raise DefinitionError(where, "a global table is joined by streams: changes() first.")
        schema = joined(self.node, other.node, kind, where)
        if on is None:
            return self._then(
                TableJoin(
                    where=where,
                    schema=schema,
                    is_table=True,
                    left=self.node,
                    right=other.node,
                    kind=kind,
                )
            )
        ex.type_of(on, self.node.schema, where)
        return self._then(
            ForeignKeyJoin(
                where=where,
                schema=schema,
                is_table=True,
                left=self.node,
                right=other.node,
                kind=kind,
                on=on,
                left_schema=self.node.schema,
            )
        )

    def _then(self, node: Node) -> "Table":
        return Table(self.app, node)


class GlobalTable(Flow):
    """A small table that every task reads whole, so that it can be joined by any column."""

"""The joins of a stream: with another within a time, with a table, with a global table."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from ottla.pipelines.api import expressions as ex
from ottla.pipelines.api.definitions import GlobalJoin, JoinKind, Node, StreamJoin, TableJoin
from ottla.pipelines.api.flows import Flow
from ottla.pipelines.api.projections import joined
from ottla.pipelines.api.windows import Duration, milliseconds
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from ottla.pipelines.api.streams import Stream
    from ottla.pipelines.api.tables import GlobalTable, Table


class Joining(Flow, ABC):
    """What a stream can be joined with."""

    def join(
        self,
        other: "Stream | Table | GlobalTable",
        *,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration = "0 seconds",
        on: str | None = None,
    ) -> "Stream":
        """Each row with the rows of the other side that have its key.

        With a stream: those whose timestamps are `within` a time of each other (or, looking from
        this side, between `before` and `after` it). With a table: its latest row. With a global
        table: the row whose key is `on`.
        """
        return self._join(other, "inner", within, before, after, grace, on)

    def left_join(
        self,
        other: "Stream | Table | GlobalTable",
        *,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration = "0 seconds",
        on: str | None = None,
    ) -> "Stream":
        """As `join`, but a row without a partner passes with nulls."""
        return self._join(other, "left", within, before, after, grace, on)

    def outer_join(
        self,
        other: "Stream",
        *,
        within: Duration | None = None,
        before: Duration | None = None,
        after: Duration | None = None,
        grace: Duration = "0 seconds",
    ) -> "Stream":
        """As `join` of two streams, but rows of both sides pass without a partner."""
        return self._join(other, "outer", within, before, after, grace, None)

    def _join(
        self,
        other: "Stream | Table | GlobalTable",
        kind: JoinKind,
        within: Duration | None,
        before: Duration | None,
        after: Duration | None,
        grace: Duration,
        on: str | None,
    ) -> "Stream":
        from ottla.pipelines.api.tables import GlobalTable, Table

        where = here()
        schema = joined(self.node, other.node, kind, where)
        if isinstance(other, GlobalTable):
            expression = on or "_key"
            ex.type_of(expression, self.node.schema, where)
            if kind == "outer":
                raise DefinitionError(where, "a global table cannot be joined from its side too.")
            return self._then(
                GlobalJoin(
                    where=where,
                    schema=schema,
                    left=self.node,
                    right=other.node,
                    kind=kind,
                    on=expression,
                )
            )
        if on is not None:
            raise DefinitionError(where, "only a global table is joined on=; key_by() comes first.")
        if isinstance(other, Table):
            if kind == "outer" or within or before or after:
                raise DefinitionError(
                    where, "a stream joins a table's latest row: inner or left, without a time."
                )
            node: Node = TableJoin(
                where=where, schema=schema, left=self.node, right=other.node, kind=kind
            )
            return self._then(node)
        if within is None and before is None and after is None:
            raise DefinitionError(where, "two streams are joined within a time: within='1 minute'.")
        return self._then(
            StreamJoin(
                where=where,
                schema=schema,
                left=self.node,
                right=other.node,
                kind=kind,
                before_ms=milliseconds(before or within or "0 ms"),
                after_ms=milliseconds(after or within or "0 ms"),
                grace_ms=milliseconds(grace),
            )
        )

    @abstractmethod
    def _then(self, node: Node) -> "Stream":
        """The stream that this node makes of it."""

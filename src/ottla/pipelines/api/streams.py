"""The fluent API over streams: each call checks what it was given and answers with a new stream."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ottla.pipelines.api import expressions as ex
from ottla.pipelines.api.definitions import (
    STATEFUL,
    Changes,
    Deduplicate,
    Explode,
    Filter,
    Merge,
    Node,
    OnError,
    Process,
    PythonMap,
    Rekey,
    StatefulTransform,
    check_on_error,
)
from ottla.pipelines.api.grouping import Grouped
from ottla.pipelines.api.joining import Joining
from ottla.pipelines.api.processors import Processor
from ottla.pipelines.api.projections import extend, project, same_types
from ottla.pipelines.api.windows import Duration, milliseconds
from ottla.pipelines.formats.schema import Field, Schema, parse_schema
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ottla.pipelines.api.expressions import Expression
    from ottla.pipelines.api.tables import Table


class Stream(Joining):
    """Records as they come. Every method answers with a new stream and changes nothing."""

    def filter(self, condition: "Expression") -> "Stream":
        """Keep the rows for which the condition is true."""
        where = here()
        condition = ex.text_of(condition, where)
        ex.check_condition(condition, self.node.schema, where)
        return self._then(
            Filter(where=where, schema=self.node.schema, input=self.node, condition=condition)
        )

    def select(self, *columns: "Expression", **named: "Expression") -> "Stream":
        """Keep these columns: names, `*`, expressions with an alias, or `name=expression`."""
        return self._then(project(self.node, columns, named, here()))

    def with_columns(self, **named: "Expression") -> "Stream":
        """Add columns, or replace those of the same name."""
        return self._then(extend(self.node, named, here()))

    def drop(self, *names: str) -> "Stream":
        where = here()
        ex.check_columns(names, self.node.schema, where)
        kept = [name for name in self.columns if name not in names]
        return self._then(project(self.node, kept, {}, where))

    def rename(self, **new_by_old: str) -> "Stream":
        where = here()
        ex.check_columns(new_by_old, self.node.schema, where)
        columns = [f"`{name}` AS `{new_by_old.get(name, name)}`" for name in self.columns]
        return self._then(project(self.node, columns, {}, where))

    def explode(self, expression: "Expression", name: str, *, key: str | None = None) -> "Stream":
        """A row for each element of an array, in the column `name`; of a map with `key=` too."""
        return self._explode(expression, name, key, outer=False)

    def explode_outer(
        self, expression: "Expression", name: str, *, key: str | None = None
    ) -> "Stream":
        """As `explode`, but a row whose array or map is empty or null passes once, with nulls."""
        return self._explode(expression, name, key, outer=True)

    def _explode(self, given: "Expression", name: str, key: str | None, *, outer: bool) -> "Stream":
        where = here()
        expression = ex.text_of(given, where)
        found = ex.type_of(expression, self.node.schema, where)
        kind, wanted = ("ARRAY", "an array") if key is None else ("MAP", "a map")
        if found is not None and not found.startswith(kind):
            raise DefinitionError(where, f"{expression!r} is {found}, not {wanted} to explode.")
        *of_key, element = ex.element_types(found, 1 if key is None else 2)
        made = (*(Field(key, one) for one in of_key if key is not None), Field(name, element))
        others = tuple(field for field in self.node.schema if field.name not in (name, key))
        return self._then(
            Explode(
                where=where,
                key=key,
                outer=outer,
                schema=(*others, *made),
                input=self.node,
                expression=expression,
                name=name,
            )
        )

    def map(
        self,
        function: Callable[[dict[str, Any]], dict[str, Any] | None],
        returns: str,
        *,
        on_error: OnError | None = None,
    ) -> "Stream":
        """Turn each row into another with a Python function. `returns` is the new schema.

        `on_error`: a row that the function fails on ends the stage ("fail"), goes to the dead
        letters with the exception and your line, or is left out ("skip").
        """
        return self._python(function, "map", parse_schema(returns), on_error)

    def flat_map(
        self,
        function: Callable[[dict[str, Any]], Iterable[dict[str, Any]]],
        returns: str,
        *,
        on_error: OnError | None = None,
    ) -> "Stream":
        """Turn each row into none, one or many. `on_error` as in `map`."""
        return self._python(function, "flat_map", parse_schema(returns), on_error)

    def peek(self, function: Callable[[dict[str, Any]], Any]) -> "Stream":
        """Show each row to a Python function and pass it on as it was."""
        return self._python(function, "peek", self.node.schema, "fail")

    def transform(
        self,
        function: "Callable[[DataFrame], DataFrame]",
        returns: str | None = None,
        *,
        on_error: OnError | None = None,
    ) -> "Stream":
        """Any PySpark in the middle: a function from DataFrame to DataFrame.

        The frame has this stream's columns and those that begin with `_`: keep `_key` and
        `_timestamp` to pass them on. Spark tells the columns of the result, and starts to do so,
        unless `returns` does.

        `on_error` as in `map`, for a function that treats each row by itself: when a batch fails in
        it, the records it fails on are found by trying, in micro-batches.
        """
        from ottla.pipelines.engine.plain import analysed, guarded

        where = here()
        if on_error is not None:
            check_on_error(on_error, where)
        if returns is not None:
            if on_error not in (None, "fail"):
                raise DefinitionError(
                    where,
                    "on_error needs to know what transform() does with rows: leave out returns=.",
                )
            why = "a transform() whose columns were told may hold anything"
            return self._then(
                StatefulTransform(
                    where=where, schema=parse_schema(returns), input=self.node,
                    function=function, obstacle=why, output_mode="append",
                )
            )  # fmt: skip
        node = analysed(self.app.definition(), self.node, function, where)
        return self._then(guarded(node, on_error, self.app.on_error))

    def drop_duplicates(self, *on: str, within: Duration | None = None) -> "Stream":
        """The first of the rows with the same values in these columns.

        Two that are at most `within` apart by event time, in whatever order they come; without
        it, of all that ever came, and every value is remembered.
        """
        where = here()
        if not on:
            raise DefinitionError(where, "drop_duplicates needs a column, like 'id' or '_key'.")
        ex.check_columns(on, self.node.schema, where)
        return self._then(
            Deduplicate(
                where=where,
                schema=self.node.schema,
                input=self.node,
                on=on,
                within_ms=None if within is None else milliseconds(within),
            )
        )

    def branch(self, *conditions: "Expression") -> "tuple[Stream, ...]":
        """A stream per condition, each row in the first that fits, and one more for the rest."""
        where = here()
        texts = [ex.text_of(condition, where) for condition in conditions]
        for condition in texts:
            ex.check_condition(condition, self.node.schema, where)
        taken: list[str] = []
        parts = []
        for condition in (*texts, "true"):
            before = " OR ".join(f"coalesce({one}, false)" for one in taken)
            sql = f"({condition}) AND NOT ({before})" if taken else condition
            parts.append(
                self._then(
                    Filter(where=where, schema=self.node.schema, input=self.node, condition=sql)
                )
            )
            taken.append(condition)
        return tuple(parts)

    def merge(self, *others: "Stream") -> "Stream":
        """The rows of several streams with the same columns, in no order between them."""
        where = here()
        for other in others:
            if set(other.columns) != set(self.columns):
                odd = sorted(set(other.columns) ^ set(self.columns))
                raise DefinitionError(
                    where, f"streams to merge need the same columns; these differ: {odd}."
                )
            same_types(self.node.schema, other.node.schema, where)
        parts = (self.node, *(other.node for other in others))
        return self._then(Merge(where=where, schema=self.node.schema, parts=parts))

    def key_by(self, expression: "Expression") -> "Stream":
        """Give each row a new key (as text): what joins and partitions go by."""
        where = here()
        expression = ex.text_of(expression, where)
        ex.type_of(expression, self.node.schema, where)
        return self._then(
            Rekey(where=where, schema=self.node.schema, input=self.node, expression=expression)
        )

    def group_by(self, *columns: str) -> "Grouped":
        """Rows with the same values in these columns belong together."""
        where = here()
        if not columns:
            raise DefinitionError(where, "group_by needs a column; group_by_key() takes the key.")
        ex.check_columns(columns, self.node.schema, where)
        return Grouped(self.app, self.node, columns)

    def group_by_key(self) -> "Grouped":
        """Rows with the same key belong together; the key becomes the column `key`."""
        where = here()
        if "key" in self.columns:
            raise DefinitionError(where, "the stream has a column key: group_by('key') or rename.")
        return Grouped(self.app, extend(self.node, {"key": "_key"}, where), ("key",))

    def process(
        self,
        processor: Processor,
        *,
        grace: Duration = "0 seconds",
        on_error: OnError | None = None,
    ) -> "Stream":
        """Run a custom processor over the rows of each key, with state and timers.

        `on_error` as in `map`; a row that fails leaves the state of its key as it was.
        """
        where = here()
        schema = parse_schema(processor.returns)
        for ddl in processor.state.values():
            parse_schema(ddl)
        return self._then(
            Process(
                where=where,
                schema=schema,
                input=self.node,
                processor=processor,
                grace_ms=milliseconds(grace),
                on_error=check_on_error(on_error or self.app.on_error, where),
            )
        )

    def named(self, name: str) -> "Stream":
        """Fix the name of the operator's stage, so that its state is found whatever else changes.

        It follows a join or a process; a table's `named` keeps the table besides.
        """
        where = here()
        if not isinstance(self.node, STATEFUL):
            raise DefinitionError(where, "named() follows an operator with state: join, process.")
        if not re.fullmatch(r"[a-zA-Z0-9._-]{1,200}", name):
            raise DefinitionError(where, f"{name!r} cannot be part of a topic's name.")
        return self._then(replace(self.node, label=name))

    def to_table(self) -> "Table":
        """The latest row of each key."""
        from ottla.pipelines.api.tables import Table

        node = Changes(where=here(), schema=self.node.schema, input=self.node, is_table=True)
        return Table(self.app, node)

    def _python(
        self, function: Callable[..., Any], kind: Any, schema: Schema, on_error: OnError | None
    ) -> "Stream":
        where = here()
        return self._then(
            PythonMap(
                where=where,
                schema=schema,
                input=self.node,
                function=function,
                kind=kind,
                on_error=check_on_error(on_error or self.app.on_error, where),
            )
        )

    def _then(self, node: Node) -> "Stream":
        return Stream(self.app, node)

"""The fluent API over streams: each call checks what it was given and answers with a new stream."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ottla.pipelines import expressions as ex
from ottla.pipelines.definitions import (
    STATEFUL,
    Aggregate,
    Changes,
    Deduplicate,
    DefinitionError,
    Explode,
    Field,
    Filter,
    Format,
    GlobalJoin,
    JoinKind,
    Merge,
    Node,
    OnError,
    Process,
    Project,
    PythonMap,
    Rekey,
    Schema,
    Sink,
    StatefulTransform,
    StreamJoin,
    TableAggregate,
    TableJoin,
    Where,
    Window,
    check_on_error,
    here,
)
from ottla.pipelines.folds import parse_fold
from ottla.pipelines.formats import parse_schema
from ottla.pipelines.processors import Processor
from ottla.pipelines.windows import Duration, milliseconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ottla.pipelines.app import App
    from ottla.pipelines.expressions import Expression
    from ottla.pipelines.tables import GlobalTable, Table

WINDOW_FIELDS = (Field("window_start", "TIMESTAMP"), Field("window_end", "TIMESTAMP"))


@dataclass(frozen=True, eq=False)
class Flow:
    """What streams and tables share: the application they belong to, their node, and writing."""

    app: "App"
    node: Node

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.node.schema)

    @property
    def df(self) -> "DataFrame":
        """This point of the application as a plain streaming DataFrame (starts Spark)."""
        return self.app.frame(self.node)

    def to(
        self,
        topic: str,
        *,
        value: Format | None = None,
        key: str | None = None,
        headers: dict[str, str] | None = None,
        partition: str | None = None,
        timestamp: str | None = None,
        partitions: int | None = None,
        retention: Duration | None = None,
    ) -> None:
        """Write each row to a topic. `key`, `headers`, `partition`, `timestamp` are expressions.

        A topic that is not there is made with so many `partitions`; it keeps what is written, or
        for as long as `retention` says, counted from the time that each record bears.
        """
        where = here()
        schema = self.node.schema
        for expression in (key, *(headers or {}).values()):
            if expression is not None:
                ex.type_of(expression, schema, where)
        if partition is not None:
            ex.check_type(partition, ex.WHOLE_NUMBERS, "the number of a partition", schema, where)
        if timestamp is not None:
            ex.check_type(timestamp, ex.TIMES, "a TIMESTAMP", schema, where)
        if value is not None and value.name != "json":
            ex.check_columns([value.column], schema, where)
        if value is not None and value.name == "json":
            ex.check_columns([field.name for field in value.schema], schema, where)
        self.app.add(
            Sink(
                where=where,
                input=self.node,
                topic=topic,
                value=value,
                key=key,
                headers=tuple((headers or {}).items()),
                partition=partition,
                timestamp=timestamp,
                compacted=self.node.is_table,
                partitions=partitions,
                retention_ms=None if retention is None else milliseconds(retention),
            )
        )


class Stream(Flow):
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
        element = found[6:-1] if found and key is None else None
        made = (*(() if key is None else (Field(key, None),)), Field(name, element))
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
        self, function: "Callable[[DataFrame], DataFrame]", returns: str | None = None
    ) -> "Stream":
        """Any PySpark in the middle: a function from DataFrame to DataFrame.

        The frame has this stream's columns and those that begin with `_`: keep `_key` and
        `_timestamp` to pass them on. Spark tells the columns of the result, and starts to do so,
        unless `returns` does.
        """
        from ottla.pipelines.plain import analysed

        where = here()
        if returns is not None:
            why = "a transform() whose columns were told may hold anything"
            return self._then(
                StatefulTransform(
                    where=where, schema=parse_schema(returns), input=self.node,
                    function=function, obstacle=why, output_mode="append",
                )
            )  # fmt: skip
        return self._then(analysed(self.app.definition(), self.node, function, where))

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
            _same_types(self.node.schema, other.node.schema, where)
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
        from ottla.pipelines.tables import Table

        node = Changes(where=here(), schema=self.node.schema, input=self.node, is_table=True)
        return Table(self.app, node)

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
        from ottla.pipelines.tables import GlobalTable, Table

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
        made = TableAggregate if self.of_table else Aggregate
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


def project(
    node: Node,
    columns: "Iterable[Expression]",
    given: "Mapping[str, Expression]",
    where: Where,
) -> Project:
    pairs: list[tuple[str, str]] = []
    named = {name: ex.text_of(one, where) for name, one in given.items()}
    texts = (ex.text_of(one, where) for one in columns)
    for sql in (one for text in texts for one in ex.star(text, node.schema, where) or [text]):
        name = ex.name_of(sql, where)
        if name is None:
            raise DefinitionError(where, f"{sql!r} needs a name: write '{sql} AS name'.")
        pairs.append((name, ex.without_alias(sql, where)))
    pairs += named.items()
    if len({name for name, _ in pairs}) < len(pairs):
        raise DefinitionError(where, "two of the selected columns have the same name.")
    schema = tuple(ex.typed(name, sql, node.schema, where) for name, sql in pairs)
    return Project(
        where=where, schema=schema, is_table=node.is_table, input=node, columns=tuple(pairs)
    )


def extend(node: Node, given: "Mapping[str, Expression]", where: Where) -> Project:
    named = {name: ex.text_of(one, where) for name, one in given.items()}
    kept = [(field.name, f"`{field.name}`") for field in node.schema if field.name not in named]
    added = [ex.typed(name, sql, node.schema, where) for name, sql in named.items()]
    schema = (*(field for field in node.schema if field.name not in named), *added)
    return Project(
        where=where,
        schema=schema,
        is_table=node.is_table,
        input=node,
        columns=(*kept, *named.items()),
    )


def joined(left: Node, right: Node, kind: JoinKind, where: Where) -> Schema:
    both = {field.name for field in left.schema} & {field.name for field in right.schema}
    if both:
        raise DefinitionError(
            where, f"both sides of the join have {', '.join(sorted(both))}: rename or drop one."
        )
    return (*left.schema, *right.schema)


def _same_types(left: Schema, right: Schema, where: Where) -> None:
    types = {field.name: field.type for field in left}
    for field in right:
        if None not in (field.type, types[field.name]) and field.type != types[field.name]:
            raise DefinitionError(
                where,
                f"streams to merge need the same types; {field.name} is {types[field.name]} in "
                f"one and {field.type} in another.",
            )

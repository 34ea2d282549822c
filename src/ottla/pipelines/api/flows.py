"""What streams and tables share: the application they belong to, their node, and writing."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.pipelines.api import expressions as ex
from ottla.pipelines.api.connectors import Connector, connector_config, connector_topic
from ottla.pipelines.api.definitions import Node, Sink
from ottla.pipelines.api.routing import routed_name
from ottla.pipelines.api.windows import Duration, milliseconds
from ottla.pipelines.formats.format import Format, bound, bound_key
from ottla.pipelines.runtime.where import DefinitionError, Where, here

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ottla.pipelines.api.app import App
    from ottla.pipelines.api.expressions import Expression


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
        topic: "Expression",
        *,
        name: str | None = None,
        value: Format | None = None,
        key: str | None = None,
        key_format: Format | None = None,
        headers: dict[str, str] | None = None,
        partition: str | None = None,
        timestamp: str | None = None,
        partitions: int | None = None,
        retention: Duration | None = None,
    ) -> None:
        """Write each row to a topic. `key`, `headers`, `partition`, `timestamp` are expressions.

        `key_format` says what keys are written in: `avro()` with a schema of `TOPIC-key`, `long()`
        and so on; text if nothing is said, JSON where a key has parts.

        With `expr(…)` instead of a name each row says its topic itself; `name` fixes what the
        stage is called then, so that the expression may change.

        A topic that is not there is made with so many `partitions`; it keeps what is written, or
        for as long as `retention` says, counted from the time that each record bears.
        """
        where = here()
        schema = self.node.schema
        route = None if isinstance(topic, str) else self._route(topic, where)
        for expression in (key, *(headers or {}).values()):
            if expression is not None:
                ex.type_of(expression, schema, where)
        if partition is not None:
            ex.check_type(partition, ex.WHOLE_NUMBERS, "the number of a partition", schema, where)
        if timestamp is not None:
            ex.check_type(timestamp, ex.TIMES, "a TIMESTAMP", schema, where)
        if value is not None:
            value = bound(value, str(topic), self.app.registry, where, reads=False)
            ex.check_columns([field.name for field in value.schema], schema, where)
        if key_format is not None:
            key_format = bound_key(key_format, str(topic), self.app.registry, where, reads=False)
        self.app.add(
            Sink(
                where=where,
                input=self.node,
                topic=str(topic) if route is None else routed_name(self.app.name, route, name),
                route=route,
                value=value,
                key=key,
                key_format=key_format,
                headers=tuple((headers or {}).items()),
                partition=partition,
                timestamp=timestamp,
                compacted=self.node.is_table,
                partitions=partitions,
                retention_ms=None if retention is None else milliseconds(retention),
            )
        )

    def sink(
        self,
        connector: str,
        config: Mapping[str, Any] | None = None,
        *,
        name: str | None = None,
        key: str | None = None,
        partitions: int | None = None,
        tasks: int = 1,
        **keys: Any,
    ) -> None:
        """Hand each row to a sink connector: a search index, a table, a bucket.

        `connector` is its name (`elasticsearch-sink`, or Java's class), its keys stand in `config`
        or as keywords with underscores for dots. Rows go through a topic of the application's that
        is called after `name`; records have a column for each field, and the key (or the
        expression `key`) as text. A row that a table deletes is a record without a value.
        """
        from ottla.pipelines.lifecycle.connectors import check_sink

        where = here()
        said = connector_config(config, keys)
        check_sink(connector, said, where)
        topic = connector_topic(self.app.name, name or connector)
        if key is not None:
            ex.type_of(key, self.node.schema, where)
        self.app.attach(
            Connector(
                where=where, kind="sink", name=name or connector, connector=connector,
                topic=topic, config=said, tasks=tasks, partitions=partitions,
            )
        )  # fmt: skip
        self.app.add(
            Sink(
                where=where, input=self.node, topic=topic, key=key, partitions=partitions,
                compacted=self.node.is_table,
            )
        )  # fmt: skip

    def _route(self, topic: "Expression", where: Where) -> str:
        if self.node.is_table:
            raise DefinitionError(where, "a table has one topic: changes() comes first.")
        route = ex.text_of(topic, where)
        ex.check_type(route, ("STRING",), "the name of a topic", self.node.schema, where)
        return route

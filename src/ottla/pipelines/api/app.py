"""An application: what the user's file makes, and `ottla run` runs."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ottla.client.connection import ClientProperties, given_connection
from ottla.pipelines.api.connectors import Connector, connector_config, connector_topic
from ottla.pipelines.api.definitions import (
    Application,
    Delivery,
    Latency,
    Node,
    OnError,
    OutputMode,
    Plain,
    Sink,
    Source,
    changelog_topic,
    check_on_error,
    walk,
)
from ottla.pipelines.api.expressions import check_type
from ottla.pipelines.api.streams import Stream
from ottla.pipelines.api.tables import GlobalTable, Table
from ottla.pipelines.api.windows import Duration, milliseconds
from ottla.pipelines.formats import json, string
from ottla.pipelines.formats.format import Format, bound, bound_key
from ottla.pipelines.formats.schema import Field
from ottla.pipelines.runtime.extra import need_extra
from ottla.pipelines.runtime.where import DefinitionError, Where, here

if TYPE_CHECKING:
    from typing import Any, Literal

    from pyspark.sql import DataFrame

    from ottla.pipelines.lifecycle.handle import Running
    from ottla.pipelines.lifecycle.pictures import Explained

TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")


class App:
    """A named set of streams and tables. The name prefixes its topics, group and checkpoints.

    `latency`: "auto" takes real-time mode where Spark allows it, "low" insists on it,
    "throughput" takes micro-batches. `delivery`: "exactly_once" takes micro-batches throughout;
    unset, micro-batches are exactly once and real-time queries at least once. `checkpoints` is
    where they lie (a path, file:, hdfs://, s3a://), `conf` Spark's own settings, `memory` its
    driver's. `client`: properties of Kafka's clients, or a file of them, in Java's names or
    librdkafka's. `on_error`: what becomes of a row that a function of yours fails on, unless the
    operator says otherwise. `registry`: the URL of the schema registry, else `$OTTLA_REGISTRY`.
    """

    def __init__(
        self,
        name: str,
        *,
        bootstrap: str | None = None,
        latency: Latency = "auto",
        delivery: Delivery | None = None,
        parallelism: int = 2,
        start: "Literal['earliest', 'latest']" = "earliest",
        client: ClientProperties | None = None,
        checkpoints: str | None = None,
        conf: Mapping[str, str] | None = None,
        memory: str = "1g",
        on_error: OnError = "fail",
        registry: str | None = None,
    ) -> None:
        need_extra()
        self.where = here()
        self.name = name
        self._bootstrap = bootstrap
        self._latency: Latency = latency
        self._delivery: Delivery | None = delivery
        self._parallelism = parallelism
        self._start: Literal["earliest", "latest"] = start
        self._client = client or {}
        self._checkpoints = checkpoints
        self._conf = dict(conf or {})
        self._memory = memory
        self.registry = registry
        self.on_error: OnError = check_on_error(on_error, self.where)
        self._sinks: list[Sink] = []
        self._opened: list[Source] = []
        self._connectors: list[Connector] = []
        if not TOPIC.fullmatch(name):
            raise DefinitionError(self.where, f"{name!r} cannot name an application's topics.")
        if latency not in ("auto", "low", "throughput"):
            raise DefinitionError(self.where, "latency is 'auto', 'low' or 'throughput'.")
        if delivery not in (None, "exactly_once", "at_least_once"):
            raise DefinitionError(self.where, "delivery is 'exactly_once' or 'at_least_once'.")
        if latency == "low" and delivery == "exactly_once":
            raise DefinitionError(
                self.where,
                "latency='low' is real-time mode, which delivers at least once: drop one of both.",
            )

    def stream(
        self,
        topic: "str | Sequence[str] | None" = None,
        *,
        pattern: str | None = None,
        value: Format | None = None,
        key: Format | None = None,
        timestamp: str | None = None,
        dead_letters: str | None = None,
    ) -> Stream:
        """The records of a topic, or of several that have the same schema.

        `pattern` is a regular expression over whole names: every topic of such a name, also those
        that are made while the application runs. `timestamp` is the records' event time, else
        their own.
        """
        if (topic is None) == (pattern is None):
            raise DefinitionError(here(), "a stream reads a topic, a list of them or a pattern=.")
        if pattern is not None:
            check_pattern(pattern, here())
            node = self._source(pattern, value, key, timestamp, dead_letters, is_pattern=True)
            return Stream(self, node)
        topics = [topic] if isinstance(topic, str) else list(topic or ())
        if not topics:
            raise DefinitionError(here(), "a stream reads at least one topic.")
        first, *others = (
            Stream(self, self._source(one, value, key, timestamp, dead_letters)) for one in topics
        )
        return first.merge(*others) if others else first

    def table(
        self,
        topic: str,
        *,
        value: Format | None = None,
        key: Format | None = None,
        timestamp: str | None = None,
        dead_letters: str | None = None,
    ) -> Table:
        """The latest value by key of a topic; a record without a value deletes its key."""
        node = self._source(topic, value, key, timestamp, dead_letters, is_table=True)
        return Table(self, node)

    def global_table(
        self, topic: str, *, value: Format | None = None, key: Format | None = None
    ) -> GlobalTable:
        """A small table that every task reads whole, joined by any column of a stream."""
        node = self._source(topic, value, key, None, None, is_table=True, is_global=True)
        return GlobalTable(self, node)

    def source(
        self,
        connector: str,
        config: "Mapping[str, Any] | None" = None,
        *,
        name: str | None = None,
        schema: str | None = None,
        timestamp: str | None = None,
        partitions: int | None = None,
        tasks: int = 1,
        dead_letters: str | None = None,
        **keys: "Any",
    ) -> Stream:
        """What a source connector brings: rows of a table, changes, lines of a file.

        `connector` is its name (`jdbc-source`, or Java's class), its keys stand in `config` or as
        keywords with underscores for dots. It runs with the application, into a topic of the
        application's that is called after `name`. Columns are the connector's where it knows them,
        else what `schema` says.
        """
        where = here()
        said = connector_config(config, keys)
        topic = connector_topic(self.name, name or connector)
        value = self._brought(connector, said, schema, where)
        self.attach(
            Connector(
                where=where, kind="source", name=name or connector, connector=connector,
                topic=topic, config=said, tasks=tasks, partitions=partitions,
            )
        )  # fmt: skip
        return Stream(self, self._source(topic, value, None, timestamp, dead_letters))

    def attach(self, connector: Connector) -> None:
        check_topic(connector.topic, connector.where)
        for other in self._connectors:
            if other.topic == connector.topic:
                raise DefinitionError(
                    connector.where,
                    f"{other.name} is the connector at {other.where} already: say name=.",
                )
        self._connectors.append(connector)

    def _brought(
        self, connector: str, config: "Mapping[str, str]", schema: str | None, where: Where
    ) -> Format:
        """The format of what a source writes to its topic; it is asked for its columns."""
        from ottla.pipelines.lifecycle.connectors import declared_source

        columns = declared_source(connector, config, where)
        if schema is not None:
            return json(schema)
        if columns == ():
            return string()
        if columns is None:
            raise DefinitionError(
                where, f"the columns of {connector} are not known before it runs: say schema='…'."
            )
        return json(", ".join(f"`{one.name}` {one.type}" for one in columns))

    def from_df(self, frame: "DataFrame") -> Stream:
        """A DataFrame of your own, made of any `.df` of the application, as a stream again.

        Rows keep the frame's `_key` and `_timestamp`, if it has them. What Spark can fold no
        further (a second aggregate) goes through a topic, as everywhere.
        """
        from ottla.pipelines.engine.plain import plain_node

        where = here()
        if not frame.isStreaming:
            raise DefinitionError(
                where, "this DataFrame is no stream: begin with the .df of one of the application."
            )
        return Stream(self, plain_node(frame, self._opened, where))

    def sink(
        self,
        frame: "DataFrame",
        topic: str,
        *,
        key: str = "_key",
        key_format: Format | None = None,
        value: Format | None = None,
        headers: dict[str, str] | None = None,
        partition: str | None = None,
        timestamp: str | None = None,
        partitions: int | None = None,
        retention: Duration | None = None,
        output_mode: OutputMode | None = None,
    ) -> None:
        """Write a DataFrame of your own: its columns as JSON, and what each row says besides.

        `key`, `headers`, `partition` and `timestamp` are expressions, as in `to()`; a key that is
        a struct, an array or a map is written as JSON, unless `key_format` says how. `output_mode`
        is Spark's; unset, frames that aggregate emit updates and others append.
        """
        from ottla.pipelines.engine.plain import check_expressions, output_mode_of

        where = here()
        names = [name for name in frame.columns if not name.startswith("_")]
        node = Plain(
            where=where,
            schema=tuple(Field(name, None) for name in names),
            frame=frame,
            reads=tuple(self._opened),
            output_mode=output_mode or output_mode_of(frame),
        )
        chosen = key if key != "_key" or "_key" in frame.columns else None
        if value is not None:
            value = bound(value, topic, self.registry, where, reads=False)
        if key_format is not None:
            key_format = bound_key(key_format, topic, self.registry, where, reads=False)
        told = (chosen, partition, timestamp, *(headers or {}).values())
        check_expressions(frame, [sql for sql in told if sql is not None], where)
        self.add(
            Sink(
                where=where, input=node, topic=topic, key=chosen, key_format=key_format,
                value=value, headers=tuple((headers or {}).items()), partition=partition,
                timestamp=timestamp, partitions=partitions,
                retention_ms=None if retention is None else milliseconds(retention),
            )
        )  # fmt: skip

    def definition(self) -> Application:
        """Everything said so far, frozen."""
        return Application(
            name=self.name,
            where=self.where,
            sinks=tuple(self._sinks),
            latency=self._latency,
            delivery=self._delivery,
            parallelism=self._parallelism,
            start=self._start,
            connection=given_connection(self._bootstrap, self._client, str(self.where)),
            checkpoints=self._checkpoints,
            conf=self._conf,
            memory=self._memory,
            connectors=tuple(self._connectors),
        )

    def run(
        self,
        *,
        master: str | None = None,
        until_done: bool = False,
        replay: bool = False,
        upgrade: bool = False,
        standby: bool = False,
        ui: bool = False,
        quiet: bool = False,
    ) -> "Running":
        """Run the application in this process; the handle says how it is and stops it.

        `app.run().wait()` at the end of a script, `with app.run(until_done=True) as running:` in a
        notebook. `ottla run` has the same options.
        """
        from ottla.pipelines.lifecycle.handle import start

        return start(
            self.definition(), master=master, until_done=until_done, replay=replay,
            upgrade=upgrade, standby=standby, ui=ui, quiet=quiet,
        )  # fmt: skip

    def explain(self) -> "Explained":
        """The stages, their engines and what each promises; a notebook shows it as a table."""
        from ottla.pipelines.lifecycle.pictures import Explained
        from ottla.pipelines.planning.plan import make_plan

        return Explained(make_plan(self.definition()))

    def add(self, sink: Sink) -> None:
        check_topic(sink.topic, sink.where)
        for other in self._sinks:
            if other.topic == sink.topic:
                raise DefinitionError(
                    sink.where,
                    f"{sink.topic} is written at {other.where} already: merge() the streams.",
                )
        self._sinks.append(sink)

    def frame(self, node: Node) -> "DataFrame":
        """The node as a DataFrame; what it reads counts as read by frames that come back."""
        from ottla.pipelines.engine.plain import frame_of

        known = {source.topic for source in self._opened}
        self._opened += [
            at for at in walk(node) if isinstance(at, Source) and at.topic not in known
        ]
        return frame_of(self.definition(), node)

    def keep(self, name: str, node: Node, where: Where) -> None:
        """Remember a named table; its topic is the application's."""
        self.add(
            Sink(where=where, input=node, topic=changelog_topic(self.name, name), compacted=True)
        )

    def _source(
        self,
        topic: str,
        value: Format | None,
        key: Format | None,
        timestamp: str | None,
        dead_letters: str | None,
        *,
        is_table: bool = False,
        is_global: bool = False,
        is_pattern: bool = False,
    ) -> Source:
        where = here()
        if not is_pattern:
            check_topic(topic, where)
        chosen = bound(value or string(), topic, self.registry, where, reads=True)
        if why := chosen.why_not_read():
            raise DefinitionError(where, why)
        chosen_key = bound_key(key or string(), topic, self.registry, where, reads=True)
        if timestamp is not None:
            check_type(timestamp, ("TIMESTAMP",), "a TIMESTAMP", chosen.schema, where)
        return Source(
            where=where,
            schema=chosen.schema,
            is_table=is_table,
            topic=topic,
            key=chosen_key,
            value=chosen,
            timestamp=timestamp,
            dead_letters=dead_letters or f"{self.name}-dead-letters",
            is_global=is_global,
            is_pattern=is_pattern,
        )


def check_topic(topic: str, where: Where) -> None:
    if not TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise DefinitionError(where, f"{topic!r} is no name for a topic.")


def check_pattern(pattern: str, where: Where) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise DefinitionError(where, f"{pattern!r} is no regular expression: {error}.") from error

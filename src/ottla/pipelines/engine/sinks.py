"""From rows to records, and the three ways they are written.

Exactly once: a transaction per task (`runtime/jvm/ExactlyOnceSink.java`). At least once: Spark's
own Kafka sink, in micro-batches or in real time; it sets no timestamps, so event time travels in a
header.
"""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.java_gateway import ensure_callback_server_started

from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import Application, ForeignKeyJoin, Sink, Source, walk
from ottla.pipelines.api.routing import maker, topic_of_row, why_not
from ottla.pipelines.engine.decoding import (
    COORDINATES,
    TIMESTAMP_HEADER,
    header,
    with_letter,
)
from ottla.pipelines.formats import default_format, values
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.long_format import Long
from ottla.pipelines.formats.row_format import ROW_HEADER
from ottla.pipelines.planning.stages import Stage
from ottla.pipelines.planning.topics import topic_config
from ottla.pipelines.runtime.where import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

REASON_HEADER = "ottla.reason"


def records(stage: Stage, frame: "DataFrame", topics: Mapping[str, str]) -> "DataFrame":
    """The stage's rows as topic, key, value, headers, partition and time (in milliseconds)."""
    sink = stage.sink
    if stage.letters:
        frame = with_letter(frame)
    if sink.route is not None:
        frame = _routed(sink, frame, topics)
    columns = [name for name in frame.columns if not name.startswith("_")]
    types = dict(frame.dtypes)
    format = sink.value or default_format(columns, types)
    key, key_header = _key(sink, frame)
    written, id_header = _written(sink, format, columns, frame)
    value = f"if(_deleted, NULL, {written})"
    topic = f"'{topics[sink.topic]}'" if not stage.only_dead else "cast(NULL AS string)"
    if sink.route is not None:
        topic = f"{maker(sink)}(_route)"
    ids = [one for one in (key_header, id_header) if one is not None]
    headers = _headers(stage, format.beside(columns, frame.schema), ids)
    partition = sink.partition or "NULL"
    time = sink.timestamp or "_timestamp"
    if stage.letters:
        if stage.only_dead:
            frame = frame.where("_reason IS NOT NULL")
        topic = f"CASE {_dead_topics(stage, topics)} ELSE {topic} END"
        value = f"if(_reason IS NOT NULL, _raw, {value})"
        headers = f"if(_reason IS NOT NULL, {_dead_headers(stage)}, {headers})"
        key = f"if(_reason IS NOT NULL, _raw_key, cast({key} AS binary))"
        time = f"if(_reason IS NOT NULL, _raw_time, {time})"
        # It speaks of the sink's topic: the dead letters' one may have fewer partitions.
        partition = f"if(_reason IS NOT NULL, NULL, {partition})"
    return frame.selectExpr(
        f"{topic} AS topic",
        f"cast({key} AS binary) AS key",
        f"{value} AS value",
        f"{headers} AS headers",
        f"cast({partition} AS int) AS partition",
        f"unix_millis({time}) AS time",
        *(["_offset AS _version"] if _moves_rows(stage) else []),
    )


def _key(sink: Sink, frame: "DataFrame") -> tuple[str, tuple[str, str] | None]:
    """The key, and the header that says what schema it has, if one does."""
    if sink.key_format is None:
        is_number = dict(frame.dtypes)["_key"] == "bigint"
        own = Long.encoded("_key") if is_number else "_key"
        return key_text(sink.key, frame) if sink.key else own, None
    format, sql = sink.key_format, sink.key or "_key"
    type = frame.selectExpr(sql).schema[0].dataType
    format.prepare(frame.sparkSession)
    try:
        return format.written_key(sql, type), format.key_header(type)
    except OttlaError as error:
        raise DefinitionError(sink.where, str(error)) from None


def _written(
    sink: Sink, format: Format, columns: list[str], frame: "DataFrame"
) -> tuple[str, tuple[str, str] | None]:
    """The value, and the header that says what schema it has, if one does."""
    format.prepare(frame.sparkSession)
    try:
        return format.written(columns, frame.schema), format.id_header(columns, frame.schema)
    except OttlaError as error:  # a registry's, of the schema
        raise DefinitionError(sink.where, str(error)) from None


def letter_records(stage: Stage, raw: "DataFrame", topics: Mapping[str, str]) -> "DataFrame":
    """Records as they came, with a `_reason`, as dead letters; and the partition each came from."""
    [source] = stage.letters
    frame = raw.selectExpr(
        "*", "headers AS _headers", "topic AS _topic", "partition AS _partition",
        "offset AS _offset", "timestamp AS _raw_time",
    )  # fmt: skip
    return frame.selectExpr(
        f"{values.quoted(topics[source.dead_letters or ''])} AS topic",
        "key",
        "value",
        f"{_dead_headers(stage)} AS headers",
        "cast(NULL AS int) AS partition",
        "unix_millis(timestamp) AS time",
        "concat(_topic, '-', _partition) AS origin",
    )


def key_text(sql: str, frame: "DataFrame") -> str:
    """A key as text: what has parts is JSON."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    type = frame.selectExpr(sql).schema[0].dataType
    if isinstance(type, StructType | ArrayType | MapType):
        return f"to_json({values.json_value(sql, type)})"
    return f"cast({sql} AS string)"


def _routed(sink: Sink, frame: "DataFrame", topics: Mapping[str, str]) -> "DataFrame":
    """The frame with each row's topic; a row that has none is a dead letter."""
    frame = frame.selectExpr("*", f"{topic_of_row(sink, topics)} AS _route")
    others = [values.name(name) for name in frame.columns if name != "_reason"]
    return frame.selectExpr(*others, f"coalesce(_reason, {why_not(sink, '_route')}) AS _reason")


def make_topics(
    spark: "SparkSession", sink: Sink, application: Application, partitions: int
) -> None:
    """Let the session know the function that makes a routed sink's topics."""
    settings = application.connection.java()
    jvm: Any = spark._jvm
    session: Any = spark._jsparkSession
    jvm.ottla.TopicMaker.register(session, maker(sink), settings, partitions, topic_config(sink))


def exactly_once(
    query: "DataStreamWriter", application: Application, marker: str, separator: object | None
) -> "DataStreamWriter":
    """Rows and the batch's number in one transaction; `marker` is a topic that is there.

    `separator` (see `separating`) takes a batch apart that the user's code has failed in.
    """
    settings = application.connection.java()
    jvm: Any = query._spark._jvm
    if separator is not None:
        ensure_callback_server_started(query._spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    query._jwrite.foreachBatch(jvm.ottla.ExactlyOnceSink(settings, marker, separator))
    return query


def wait_until_committed(
    spark: "SparkSession", application: Application, query: str, timeout_s: float = 30.0
) -> bool:
    """Wait until all that a query has committed can be read, in whatever topics that is.

    A commit returns when it is decided, and the coordinator tells the partitions afterwards. The
    query's transactional ids begin with its own. False when that took too long.
    """
    jvm: Any = spark._jvm
    admins = jvm.org.apache.kafka.clients.admin
    options = admins.ListTransactionsOptions()
    options.filterStates([admins.TransactionState.PREPARE_COMMIT])
    admin = admins.Admin.create(application.connection.java())
    until = time.monotonic() + timeout_s
    try:
        while any(
            one.transactionalId().startswith(f"{query}.")
            for one in admin.listTransactions(options).all().get()
        ):
            if time.monotonic() > until:
                return False
            time.sleep(0.005)
    finally:
        admin.close()
    return True


def at_least_once(query: "DataStreamWriter", application: Application) -> "DataStreamWriter":
    settings = application.connection.java({"compression.type": "lz4"})
    return query.format("kafka").options(**{f"kafka.{n}": v for n, v in settings.items()})


def _moves_rows(stage: Stage) -> bool:
    return any(isinstance(node, ForeignKeyJoin) for node in walk(stage.node))


def _headers(stage: Stage, row: str | None, ids: Sequence[tuple[str, str]]) -> str:
    added = [header(name, sql) for name, sql in stage.sink.headers]
    added += ["struct('{}' AS key, {} AS value)".format(*one) for one in ids]
    if row is not None:
        added.append(f"struct('{ROW_HEADER}' AS key, if(_deleted, NULL, {row}) AS value)")
    if stage.delivery == "at_least_once":
        added.append(header(TIMESTAMP_HEADER, "unix_millis(_timestamp)"))
        if stage.stateful is None:
            places = zip(COORDINATES, ("_topic", "_partition", "_offset"), strict=True)
            added += [header(name, column) for name, column in places]
    # What says which schema a key or value had says nothing of those that are written now.
    own = (
        f"filter(_headers, h -> (NOT h.key LIKE 'ottla.%' OR h.key = '{REASON_HEADER}') "
        "AND h.key NOT IN ('__key_schema_id', '__value_schema_id'))"
    )
    if not added:
        return own
    return f"concat(coalesce({own}, array()), array({', '.join(added)}))"


def _dead_headers(stage: Stage) -> str:
    places = zip(COORDINATES, ("_topic", "_partition", "_offset"), strict=True)
    added = [header(REASON_HEADER, "_reason"), *(header(n, column) for n, column in places)]
    if stage.delivery == "at_least_once":
        added.append(header(TIMESTAMP_HEADER, "unix_millis(_raw_time)"))
    return f"concat(coalesce(_headers, array()), array({', '.join(added)}))"


def _is_of(source: Source, topics: Mapping[str, str]) -> str:
    name = topics.get(source.topic, source.topic)
    if source.is_pattern:
        return f"_topic RLIKE {values.quoted(f'^(?:{name})$')}"
    return f"_topic = '{name}'"


def _dead_topics(stage: Stage, topics: Mapping[str, str]) -> str:
    cases = " ".join(
        f"WHEN _reason IS NOT NULL AND {_is_of(source, topics)} "
        f"THEN '{topics[source.dead_letters or '']}'"
        for source in stage.letters
    )
    rest = topics[stage.letters[0].dead_letters or ""]  # of rows made from many records
    return f"{cases} WHEN _reason IS NOT NULL THEN '{rest}'"

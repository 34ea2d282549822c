"""From rows to records, and the three ways they are written.

Exactly once: a transaction per task (`jvm/ExactlyOnceSink.java`). At least once: Spark's own Kafka
sink, in micro-batches or in real time; it sets no timestamps, so event time travels in a header.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ottla.pipelines.decoding import (
    COORDINATES,
    TIMESTAMP_HEADER,
    default_format,
    encoded_value,
    header,
)
from ottla.pipelines.definitions import Application, ForeignKeyJoin, walk
from ottla.pipelines.plan import Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

REASON_HEADER = "ottla.reason"


def records(stage: Stage, frame: "DataFrame", topics: Mapping[str, str]) -> "DataFrame":
    """The stage's rows as topic, key, value, headers, partition and time (in milliseconds)."""
    sink = stage.sink
    columns = [name for name in frame.columns if not name.startswith("_")]
    types = dict(frame.dtypes)
    format = sink.value or default_format(columns, types)
    key = f"cast({sink.key} AS string)" if sink.key else "_key"
    if (dict(frame.dtypes)["_key"] == "bigint") and not sink.key:
        key = "unhex(lpad(hex(_key), 16, '0'))"
    value = f"if(_deleted, NULL, {encoded_value(format, columns)})"
    topic = f"'{topics[sink.topic]}'" if not stage.only_dead else "cast(NULL AS string)"
    headers = _headers(stage)
    partition = sink.partition or "NULL"
    if stage.dead:
        if stage.only_dead:
            frame = frame.where("_reason IS NOT NULL")
        topic = f"CASE {_dead_topics(stage, topics)} ELSE {topic} END"
        value = f"if(_reason IS NOT NULL, _raw, {value})"
        headers = f"if(_reason IS NOT NULL, {_dead_headers()}, {headers})"
        # It speaks of the sink's topic: the dead letters' one may have fewer partitions.
        partition = f"if(_reason IS NOT NULL, NULL, {partition})"
    return frame.selectExpr(
        f"{topic} AS topic",
        f"cast({key} AS binary) AS key",
        f"{value} AS value",
        f"{headers} AS headers",
        f"cast({partition} AS int) AS partition",
        f"unix_millis({sink.timestamp or '_timestamp'}) AS time",
        *(["_offset AS _version"] if _moves_rows(stage) else []),
    )


def exactly_once(
    query: "DataStreamWriter", application: Application, marker: str
) -> "DataStreamWriter":
    """Rows and the batch's number in one transaction; `marker` is a topic that is there."""
    settings = {"bootstrap.servers": application.bootstrap, **application.client}
    jvm: Any = query._spark._jvm
    query._jwrite.foreachBatch(jvm.ottla.ExactlyOnceSink(settings, marker))
    return query


def at_least_once(query: "DataStreamWriter", application: Application) -> "DataStreamWriter":
    settings = {
        "bootstrap.servers": application.bootstrap,
        "compression.type": "lz4",
        **application.client,
    }
    return query.format("kafka").options(**{f"kafka.{n}": v for n, v in settings.items()})


def _moves_rows(stage: Stage) -> bool:
    return any(isinstance(node, ForeignKeyJoin) for node in walk(stage.node))


def _headers(stage: Stage) -> str:
    added = [header(name, sql) for name, sql in stage.sink.headers]
    if stage.delivery == "at_least_once":
        added.append(header(TIMESTAMP_HEADER, "unix_millis(_timestamp)"))
        if stage.stateful is None:
            places = zip(COORDINATES, ("_topic", "_partition", "_offset"), strict=True)
            added += [header(name, column) for name, column in places]
    own = f"filter(_headers, h -> NOT h.key LIKE 'ottla.%' OR h.key = '{REASON_HEADER}')"
    if not added:
        return own
    return f"concat(coalesce({own}, array()), array({', '.join(added)}))"


def _dead_headers() -> str:
    places = zip(COORDINATES, ("_topic", "_partition", "_offset"), strict=True)
    added = [header(REASON_HEADER, "_reason"), *(header(n, column) for n, column in places)]
    return f"concat(coalesce(_headers, array()), array({', '.join(added)}))"


def _dead_topics(stage: Stage, topics: Mapping[str, str]) -> str:
    return " ".join(
        f"WHEN _reason IS NOT NULL AND _topic = '{topics.get(source.topic, source.topic)}' "
        f"THEN '{topics[source.dead_letters or '']}'"
        for source in stage.dead
    )

"""`ottla.read`: a topic as it is now, as a batch DataFrame for notebooks and reports."""

import json as plain_json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ottla.client.connection import ClientProperties
from ottla.pipelines.api.app import App
from ottla.pipelines.api.definitions import Source
from ottla.pipelines.formats.format import Format

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Place = datetime | Mapping[int, int]  # a time, or an offset for each partition


def read(
    topic: str,
    *,
    value: Format | None = None,
    key: Format | None = None,
    start: Place | None = None,
    end: Place | None = None,
    bootstrap: str | None = None,
    client: ClientProperties | None = None,
) -> "DataFrame":
    """The records of a topic with the columns that an application would see (starts Spark).

    `start` (included) and `end` (not included) are times or offsets by partition; without them it
    is all there is. Records that do not decode are left out.
    """
    from ottla.pipelines.engine.build import Builder
    from ottla.pipelines.runtime.sessions import session
    from ottla.pipelines.runtime.settings import LOCAL_MASTER, SparkSettings

    app = App("ottla-read", bootstrap=bootstrap, client=client)
    source = app.stream(topic, value=value, key=key).node
    assert isinstance(source, Source)
    definition = app.definition()
    spark = session(SparkSettings(master=os.environ.get("OTTLA_MASTER", LOCAL_MASTER)))
    options = {
        "subscribe": topic,
        "includeHeaders": "true",
        "kafka.isolation.level": "read_committed",
        **{f"kafka.{name}": text for name, text in definition.connection.java().items()},
        **_place("starting", topic, start),
        **_place("ending", topic, end),
    }
    frame = spark.read.format("kafka").options(**options).load()
    return Builder(spark, lambda _: frame, lambda _: frame).source(source)


def _place(which: str, topic: str, place: Place | None) -> dict[str, str]:
    if place is None:
        return {}
    if isinstance(place, datetime):
        when = place if place.tzinfo is not None else place.replace(tzinfo=UTC)
        names = {"starting": "startingTimestamp", "ending": "endingTimestamp"}
        after = {"startingOffsetsByTimestampStrategy": "latest"}  # nothing is that young: no rows
        found = {names[which]: str(round(when.timestamp() * 1000))}
        return found | (after if which == "starting" else {})
    offsets = {str(partition): offset for partition, offset in place.items()}
    return {f"{which}Offsets": plain_json.dumps({topic: offsets})}

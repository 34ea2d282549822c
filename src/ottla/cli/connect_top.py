"""`ottla connect top`: how fast connectors are, how far behind, and what is wrong; again and again.

Asks the Connect for states, offsets and topics, and its Kafka for the ends of these topics. What
either does not tell is shown as unknown.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ottla.cli.connect_rates import Line, Offsets, Place, Sample, Seen, lines, topics_of
from ottla.cli.output import err, out, print_json, print_table
from ottla.client.connect import ConnectClient, ConnectRefusal
from ottla.client.connection import Connection

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient, OffsetSpec

ASK_WITHIN_S = 10.0
FIND_WITHIN_S = 5.0
COLUMNS = ("connector", "type", "state", "tasks", "records/s", "lag", "failed", "dead letters")
_UNKNOWN = "?"
_NOT_TOLD = "rates of sources, lag and dead letters are unknown. Name its brokers by --bootstrap."


def watch(
    connect: ConnectClient, connection: Connection, *, every_s: float, looks: int | None, json: bool
) -> None:
    """Until Ctrl-C, or so many looks."""
    kafka = Kafka(connection, connect.about().get("kafka_cluster_id"))
    if kafka.note:
        err.print(kafka.note)
    views = _views(connect, kafka, every_s, looks)
    if json:
        for view in views:
            print_json({"connect": connect.url, "connectors": [one.as_json() for one in view]})
            sys.stdout.flush()
    elif sys.stdout.isatty():
        with Live(Text(f"Asking {connect.url} …"), console=out, auto_refresh=False) as live:
            for view in views:
                live.update(draw(connect.url, view), refresh=True)
    else:
        for view in views:
            print_table(COLUMNS, map(cells, view), empty=f"No connectors at {connect.url}.")
            sys.stdout.flush()


def _views(
    connect: ConnectClient, kafka: "Kafka", every_s: float, looks: int | None
) -> Iterator[list[Line]]:
    before = look(connect, kafka)
    while looks is None or looks > 0:
        time.sleep(every_s)
        now = look(connect, kafka)
        yield lines(before, now)
        before = now
        looks = None if looks is None else looks - 1


def look(connect: ConnectClient, kafka: "Kafka") -> Sample:
    found = {
        name: _seen(connect, name, one["status"], one["info"]["config"])
        for name, one in connect.statuses().items()
    }
    at_s = time.monotonic()
    begins, ends = kafka.bounds({topic for one in found.values() for topic in topics_of(one)})
    return Sample(at_s=at_s, connectors=found, begins=begins, ends=ends)


def _seen(
    connect: ConnectClient, name: str, status: dict[str, Any], config: dict[str, str]
) -> Seen:
    """Connect before 3.6 tells no offsets; topics may be kept untold, too."""
    stands_at: Offsets | None = None
    topics: list[str] | None = None
    try:
        if status["type"] == "sink":
            stands_at = dict(_committed(connect.offsets(name)))
        topics = connect.topics(name)
    except ConnectRefusal:
        pass
    return Seen(status=status, config=config, stands_at=stands_at, topics=topics)


def _committed(offsets: Iterable[dict[str, Any]]) -> Iterator[tuple[Place, int]]:
    for one in offsets:
        place, offset = one["partition"], one["offset"] or {}
        if "kafka_offset" in offset:
            yield (place["kafka_topic"], int(place["kafka_partition"])), int(offset["kafka_offset"])


class Kafka:
    """The cluster below a Connect; one of another id, or none, tells nothing."""

    def __init__(self, connection: Connection, cluster_id: str | None) -> None:
        from confluent_kafka import KafkaException

        self._admin: AdminClient | None = None
        self.note: str | None = None
        admin = connection.admin({"log_level": 0})
        try:
            found = admin.list_topics(timeout=FIND_WITHIN_S).cluster_id
        except KafkaException:
            self.note = f"No broker answers at {connection.bootstrap}: {_NOT_TOLD}"
            return
        if cluster_id is not None and found != cluster_id:
            self.note = f"{connection.bootstrap} is not the Kafka of this Connect: {_NOT_TOLD}"
            return
        self._admin = admin

    def bounds(self, topics: set[str]) -> tuple[Offsets | None, Offsets | None]:
        """The first offsets, and those behind the last; None where nobody answers."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import OffsetSpec

        if self._admin is None:
            return None, None
        try:
            there = self._admin.list_topics(timeout=ASK_WITHIN_S).topics
            places = [
                (topic, partition)
                for topic in sorted(topics & there.keys())
                for partition in there[topic].partitions
            ]
            begins = _offsets(self._admin, places, OffsetSpec.earliest())
            return begins, _offsets(self._admin, places, OffsetSpec.latest())
        except KafkaException:
            return None, None


def _offsets(admin: "AdminClient", places: list[Place], spec: "OffsetSpec") -> Offsets:
    from confluent_kafka import TopicPartition

    if not places:
        return {}
    asked = {TopicPartition(*place): spec for place in places}
    told = admin.list_offsets(asked, request_timeout=ASK_WITHIN_S)
    return {(one.topic, one.partition): made.result().offset for one, made in told.items()}


def cells(line: Line) -> tuple[object, ...]:
    letters = line.dead_letters
    return (
        line.name,
        line.kind,
        line.state,
        f"{line.running}/{line.tasks}",
        _UNKNOWN if line.rate is None else f"{line.rate:,.1f}",
        (_UNKNOWN if line.kind == "sink" else None) if line.lag is None else f"{line.lag:,}",
        line.failed,
        None if letters is None else f"{letters:,}",
    )


def draw(url: str, view: list[Line]) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold", title=url, title_justify="left")
    for at, column in enumerate(COLUMNS):
        table.add_column(column, justify="left" if at < 3 else "right")
    for line in view:
        style = "red" if line.failed else "" if line.state == "RUNNING" else "yellow"
        shown = ["-" if one is None else str(one) for one in cells(line)]
        table.add_row(*(Text(one, style) for one in shown))
    wrong = [Text(f"{line.name}: {one}", "red") for line in view for one in line.traces]
    return Group(table, *wrong)

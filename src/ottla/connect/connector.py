"""What every connector is written against: sources are read by slices, sinks are given records.

A connector lives in the worker's process, once for each run, and is called by one thread at a time.
What it hands out (slices, sink tasks) is pickled and works in Spark's tasks, on any machine. It
knows neither Spark nor Kafka: the run (`runs`) reads its slices, applies transforms and converters,
and writes records and progress in one transaction.

Progress is Connect's: a source partition and an offset, JSON objects whose order of fields counts
(other workers look them up by their bytes). A sink's progress is an offset of Kafka's, never the
number of a batch.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from ottla.connect.data import Record

Place = Mapping[str, Any]  # a source partition, or an offset within one
Config = Mapping[str, str]


class ConnectError(Exception):
    """The connector has failed: its trace begins with this sentence, until it is restarted."""


class RetriableError(ConnectError):
    """The same may succeed later: it is tried again, with back-off, within errors.retry.timeout."""


class ServiceError(ConnectError):
    """What every record needs (a schema registry, a file's lock) is away, or refuses who asks.

    No record is at fault, so none is tolerated; what is away is waited for without end.
    """

    def __init__(self, sentence: str, *, away: bool) -> None:
        super().__init__(sentence)
        self.away = away


@dataclass(frozen=True, slots=True)
class Progress:
    """All of this source partition up to the offset has been read. None: forget the partition."""

    partition: Place
    offset: Place | None


class Slice(Protocol):
    """What one Spark task reads in one job; picklable.

    Its records and the last progress of each partition become one transaction. A slice that is read
    again gives the same records, as long as its progress was not committed.
    """

    @property
    def task(self) -> int:
        """One of the connector's tasks, from 0; a task's slices keep their order."""

    def read(self) -> Iterator[Record | Progress]:
        """Called in a Spark task."""


class SourceConnector(Protocol):
    """With `record_schemas() -> Mapping[str, Schema]` too, what its records look like is known
    before it starts, by topic: applications have typed columns then."""

    def task_configs(self, maximum: int) -> Sequence[Config]:
        """As many as Kafka Connect would list, each with what Connect's own task would be told."""

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        """`stored` tells the committed offset of a source partition."""

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        """What there is to read next; waits that long for it, and may return nothing."""

    def committed(self, progress: Sequence[Progress]) -> None:
        """Records and progress of all slices of the last poll are committed in Kafka."""

    def stop(self) -> None:
        """Also called after a failure, and wakes a `poll` that waits in another thread."""


class TopicPartition(NamedTuple):
    topic: str
    partition: int


Report = Callable[[Record, Exception], None]  # to the dead-letter queue, where errors are tolerated


class SinkTask(Protocol):
    """Picklable; works in a Spark task on one partition's records at a time."""

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        """Deliver the records, in their order.

        Returns the offset below which everything is safe in the target (the group moves there, and
        the rest is given again with what comes after it); None: all of it is. A target that holds
        the offset itself holds `end_of(records, …)` then, not the last record's.
        """


def end_of(records: Iterator[Record], otherwise: int) -> int:
    """The offset behind all that `put` was given: filtered records, ends of transactions too."""
    end: int = getattr(records, "end", otherwise)
    return end


class SinkConnector(Protocol):
    def task_configs(self, maximum: int) -> Sequence[Config]: ...

    def start(self) -> None: ...

    def positions(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Where the target itself holds the offset to go on from; these win over the group's."""

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """Offsets were altered by hand while the connector was stopped; None: reset."""

    def task(self) -> SinkTask: ...

    def stop(self) -> None: ...


# --- what a connector may have besides


@runtime_checkable
class AdoptingSink(Protocol):
    """One whose target other workers write, too, without telling it how far they came."""

    def adopt(self, positions: Mapping[TopicPartition, int]) -> None:
        """Another worker has come so far: what it left in the target stays there."""


def adopt_group(connector: SinkConnector, group: Mapping[TopicPartition, int]) -> None:
    """Runs here tell the target first, and the group then: who is ahead of it was no run of ours.

    Or its offsets were moved by a tool: both look alike, and lines twice are better than none.
    """
    if isinstance(connector, AdoptingSink):
        held = connector.positions(group.keys())
        if ahead := {one: at for one, at in group.items() if at > held.get(one, 0)}:
            connector.adopt(ahead)


@runtime_checkable
class TriedOut(Protocol):
    """Of either kind: before it is created, what its keys name can be looked at."""

    def try_out(self) -> Mapping[str, Sequence[str]]:
        """Connects, and changes nothing. Values that keys might have, by key: tables, above all.

        InvalidConfig names the key that is to blame.
        """


@runtime_checkable
class PreviewedSource(Protocol):
    """One whose `start` would leave something behind, as a replication slot is."""

    def preview(self) -> Iterator[Slice]:
        """Of what a first run would read, the beginning of each table; leaves nothing behind."""


class Written(NamedTuple):
    """What a sink would write, as texts."""

    place: str  # a table, an index, a file
    key: str | None
    value: str | None  # None: what has this key is deleted


@runtime_checkable
class PreviewedSink(Protocol):
    """One that knows without its target what it would write there."""

    def preview(self, records: Iterable[Record]) -> Iterator[Written]:
        """ConnectError or DataError for what cannot be written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A row of `plugins`: a connector under all its names."""

    kind: Literal["source", "sink"]
    name: str  # short: `jdbc-source`
    classes: tuple[str, ...]  # Java's names, aliases; the first is shown by GET /connector-plugins
    version: str
    module: str  # `ottla.connect.connectors.file_source`, imported when it is first needed
    # Whether `PATCH` and `DELETE` of offsets say that these are all there are, as Java's says.
    knows_its_offsets: bool = True
    # The module has `DEFINITIONS: definitions.Definitions` (its keys; the common ones are added by
    # `plugins`) and `make(config: Config, alias: str) -> SourceConnector | SinkConnector`, which
    # raises `definitions.InvalidConfig` for what only all keys together show.

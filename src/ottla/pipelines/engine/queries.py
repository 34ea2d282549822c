"""Starting one stage as a Spark query: its sources' options, its sink and its trigger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from ottla.pipelines.api.definitions import Aggregate, Application, Source, TableJoin, walk
from ottla.pipelines.engine.build import Builder, refusal
from ottla.pipelines.engine.rowtypes import row_types
from ottla.pipelines.engine.separating import Separator
from ottla.pipelines.engine.sinks import at_least_once, exactly_once, make_topics, records
from ottla.pipelines.planning.plan import Plan
from ottla.pipelines.planning.stages import Stage, separating
from ottla.pipelines.runtime.shipping import ship_modules
from ottla.pipelines.runtime.storage import HadoopPath
from ottla.pipelines.runtime.where import DefinitionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# Live: as planned. Catch up: all there is, then end. Load: tables only, streams held back.
# Planned: the batch that the checkpoint names already, and none after it.
Phase = Literal["live", "catch-up", "load", "planned"]
CATCH_UP_ROWS = 1_000_000  # batches small enough that progress can be seen
REAL_TIME_INTERVAL = "5 seconds"
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
FILE_THREADS = "spark.sql.streaming.stateStore.fileChecksumThreadPoolSize"
# What a batch reads is there before it begins. But a consumer that has it asks for more at once,
# and Spark's next question, for the partition's ends, waits behind that poll.
BATCH_POLL_MS = "1"
REAL_TIME_POLL_MS = "10"  # here it is records to come that are waited for
NEVER = {"minOffsetsPerTrigger": str(2**62), "maxTriggerDelay": "100000d"}


@dataclass(frozen=True)
class Reading:
    """Opens topics for Spark. `names` maps the topics of the plan to those of this generation."""

    spark: "SparkSession"
    application: Application
    names: Mapping[str, str] = field(default_factory=dict)
    held: frozenset[str] = frozenset()  # topics that must not move in this phase
    most: int | None = None  # records per batch
    longest_poll_ms: str = BATCH_POLL_MS

    def stream(self, source: Source) -> DataFrame:
        reader = self.spark.readStream.format("kafka").options(**self._options(source))
        reader = reader.option("kafka.fetch.max.wait.ms", self.longest_poll_ms)
        if source.topic in self.held:
            reader = reader.options(**NEVER)
        elif self.most is not None:
            reader = reader.option("maxOffsetsPerTrigger", str(self.most))
        return reader.load()

    def now(self, source: Source) -> DataFrame:
        """Everything the topic holds at this moment, read anew by every batch."""
        options = self._options(source) | {"startingOffsets": "earliest"}
        return self.spark.read.format("kafka").options(**options).load()

    def _options(self, source: Source) -> dict[str, str]:
        return self.connection() | {
            "subscribePattern" if source.is_pattern else "subscribe": self.names.get(
                source.topic, source.topic
            ),
            "startingOffsets": "earliest" if is_read_whole(source) else self.application.start,
        }

    def connection(self) -> dict[str, str]:
        """What a reader needs besides its topics."""
        options = {
            "includeHeaders": "true",
            "kafka.isolation.level": "read_committed",
            # Spark asks for the partition's both ends after each poll, so polls should be few.
            "kafka.max.poll.records": "50000",
        }
        reaching = self.application.connection.java()
        return options | {f"kafka.{name}": value for name, value in reaching.items()}


@dataclass
class Starter:
    """Starts the stages of a plan, in order: a later stage needs the schemas of the earlier."""

    spark: "SparkSession"
    plan: Plan
    names: Mapping[str, str]
    folder: "Path | HadoopPath"
    checkpoints: Mapping[str, str] = field(default_factory=dict)  # by stage; unset: its name
    resolved: "dict[str, Sequence[StructType]]" = field(default_factory=dict)
    partitions: Mapping[str, int] = field(default_factory=dict)  # of topics that are there

    def __post_init__(self) -> None:
        ship_modules(self.spark, Path(self.plan.application.where.file).resolve().parent)

    def checkpoint(self, stage: Stage) -> "Path | HadoopPath":
        return self.folder / self.checkpoints.get(stage.name, stage.name)

    def start(self, stage: Stage, phase: Phase = "live") -> "StreamingQuery":
        frame = self.frame(stage, phase)
        self._choose_files()
        name = f"{self.plan.application.name}/{stage.name}"
        real_time = _runs_in_real_time(stage, phase)
        mode = "append" if stage.output_mode == "append" and not real_time else "update"
        query = (
            frame.writeStream.queryName(name)
            .outputMode(mode)
            .option("checkpointLocation", str(self.checkpoint(stage)))
        )
        application = self.plan.application
        if stage.delivery == "exactly_once":
            marker = self.names[marker_topic(stage)]
            query = exactly_once(query, application, marker, self._separator(stage))
        else:
            query = at_least_once(query, application)
        if real_time:
            # PySpark's types do not list the trigger that its code has.
            triggered = query.trigger(realTime=REAL_TIME_INTERVAL)  # type: ignore[call-overload]
        elif phase == "catch-up":
            triggered = query.trigger(availableNow=True)
        else:
            every = "1 second" if stage.only_dead and phase == "live" else "0 seconds"
            triggered = query.trigger(processingTime=every)
        try:
            started: StreamingQuery = triggered.start()
        except AnalysisException as error:  # what Spark refuses only in a stream
            node = stage.stateful or stage.node
            raise DefinitionError(node.where, refusal(error)) from error
        return started

    def frame(self, stage: Stage, phase: Phase) -> DataFrame:
        """The stage's records; remembers the schema of what an intermediate topic will carry."""
        self.spark.conf.set("spark.sql.shuffle.partitions", str(self.plan.application.parallelism))
        idle_batches = "spark.sql.streaming.noDataMicroBatches.enabled"
        self.spark.conf.set(idle_batches, str(phase != "live" or waits_for_time(stage)).lower())
        held = held_topics(stage) if phase == "load" else frozenset()
        if phase == "planned":
            held = frozenset(source.topic for source in stage.sources)
        most = CATCH_UP_ROWS if phase == "catch-up" else None
        waits = REAL_TIME_POLL_MS if _runs_in_real_time(stage, phase) else BATCH_POLL_MS
        reading = Reading(self.spark, self.plan.application, self.names, held, most, waits)
        builder = Builder(
            self.spark,
            reading.stream,
            reading.now,
            dead=frozenset(source.topic for source in stage.dead),
            letters=bool(stage.letters),
            resolved=self.resolved,
        )
        if stage.only_dead:
            letters = [records(stage, builder.frame(one), self.names) for one in stage.sources]
            return reduce(DataFrame.union, letters)
        frame = builder.frame(stage.node)
        columns = [field for field in frame.schema if not field.name.startswith("_")]
        self.resolved[stage.sink.topic] = row_types(
            self.folder / f"{stage.name}~types", StructType(columns)
        )
        if stage.sink.route is not None:
            make_topics(self.spark, stage.sink, self.plan.application, self._width(stage))
        return records(stage, frame, self.names)

    def _choose_files(self) -> None:
        """How checkpoints are written. A folder's are written by the task that has them.

        Spark hands a file and its checksum to threads: each way takes longer than a disk does. And
        it would write beside and rename, which a store of objects cannot do as one. What the user
        has set stays.
        """
        elsewhere = isinstance(self.folder, HadoopPath)
        in_objects = isinstance(self.folder, HadoopPath) and self.folder.is_object
        for name, value, wanted in (
            (FILE_MANAGER, "ottla.ObjectCheckpoints", in_objects),
            (FILE_THREADS, "0", not elsewhere),
        ):
            held = self.spark.conf.get(name, None)
            if wanted and held is None:
                self.spark.conf.set(name, value)
            elif not wanted and held == value:  # of another application in this session
                self.spark.conf.unset(name)

    def _separator(self, stage: Stage) -> Separator | None:
        """Who takes a failed batch apart, where a transform() has said what becomes of it."""
        if separating(stage.node) is None:
            return None
        reading = Reading(self.spark, self.plan.application, self.names)

        def builder(read: Callable[[Source], DataFrame]) -> Builder:
            return Builder(
                self.spark, read, reading.now, letters=bool(stage.letters), resolved=self.resolved
            )

        return Separator(self.spark, stage, self.names, reading.connection(), builder)

    def _width(self, stage: Stage) -> int:
        """How many partitions a topic gets that a row asks for: as many as the widest it reads."""
        names = (self.names.get(source.topic, source.topic) for source in stage.sources)
        widest = max((self.partitions.get(name, 0) for name in names), default=0)
        return stage.sink.partitions or widest or self.plan.application.parallelism


def _runs_in_real_time(stage: Stage, phase: Phase) -> bool:
    return stage.mode == "real-time" and phase == "live"


def marker_topic(stage: Stage) -> str:
    """A topic that is there, for the number of a batch: see `runtime/jvm/ExactlyOnceSink.java`."""
    if stage.sink.route is None:
        return stage.sink.topic
    return stage.letters[0].dead_letters or ""


def is_read_whole(source: Source) -> bool:
    """Whether it is read from its beginning, wherever the application's streams begin."""
    return source.internal is not None or source.is_table


def held_topics(stage: Stage) -> frozenset[str]:
    """The streams that wait while the tables they are joined with are loaded."""
    node = stage.stateful
    if not isinstance(node, TableJoin) or node.is_table:
        return frozenset()
    return frozenset(at.topic for at in walk(node.left) if isinstance(at, Source))


def waits_for_time(stage: Stage) -> bool:
    """Whether the passing of time alone makes rows: then a batch without records has its use.

    An aggregate that is written whenever it changes would only forget old windows in it, which the
    next batch with records does as well, and the next record would have to wait for it. (What is
    late is told one batch later then: live, a window takes a few tenths of a second more.)
    """
    return not isinstance(stage.stateful, Aggregate) or stage.output_mode == "append"


def loads_tables(stage: Stage) -> bool:
    return bool(held_topics(stage))

"""How far an application is: what Spark's listener tells, and the group offsets made from it.

A group named after the application carries its progress, so that every tool that shows the lag of
a consumer group shows that of the application. Of several stages on a topic, the slowest counts.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from ottla.pipelines.engine.decoding import DROPPED, LATE
from ottla.pipelines.planning.stages import Stage

if TYPE_CHECKING:
    from confluent_kafka import Consumer

Offsets = dict[str, dict[int, int]]


@dataclass(slots=True)
class StageProgress:
    """The latest that is known about one stage."""

    batches: int = 0
    rows: int = 0  # taken since the start of this run
    rows_per_s: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0
    keyless_rows: int = 0  # dropped, because rows without a key belong to no group
    offsets: Offsets = field(default_factory=dict)
    at: float = 0.0


class Recorder:
    """Progress by stage. Told by Spark's thread, asked by the main one."""

    def __init__(self) -> None:
        self._stages: dict[str, StageProgress] = {}
        self._moved = threading.Condition()

    def note(self, stage: str, progress: Mapping[str, Any]) -> None:
        """Take in one progress report, as Spark writes it in JSON."""
        with self._moved:
            known = self._stages.setdefault(stage, StageProgress())
            rows = max(0, int(progress.get("numInputRows", 0)))
            now = time.monotonic()
            known.batches += 1
            known.rows += rows
            known.rows_per_s = rows / (now - known.at) if known.at and now > known.at else 0.0
            known.at = now
            states = progress.get("stateOperators", [])
            known.state_rows = sum(int(s.get("numRowsTotal", 0)) for s in states)
            known.state_bytes = sum(int(s.get("memoryUsedBytes", 0)) for s in states)
            known.late_rows += sum(int(s.get("numRowsDroppedByWatermark", 0)) for s in states)
            observed = progress.get("observedMetrics", {}).values()
            known.keyless_rows += sum(int(o.get(DROPPED) or 0) for o in observed)
            known.late_rows += sum(int(o.get(LATE) or 0) for o in observed)
            for source in progress.get("sources", []):
                for topic, partitions in end_offsets(source).items():
                    known.offsets.setdefault(topic, {}).update(partitions)
            self._moved.notify_all()

    def of(self, stage: str) -> StageProgress:
        with self._moved:
            return self._stages.get(stage, StageProgress())

    def wait_for_batch(self, stage: str, after: int, timeout_s: float) -> bool:
        """Wait until the stage has ended a batch more than `after`."""
        with self._moved:
            return self._moved.wait_for(
                lambda: self._stages.get(stage, StageProgress()).batches > after, timeout_s
            )

    def slowest(self, stages: Iterable[Stage]) -> Offsets:
        """For each partition the offset that every stage reading it has passed."""
        result: Offsets = {}
        with self._moved:
            for stage in stages:
                progress = self._stages.get(stage.name)
                for topic, partitions in (progress.offsets if progress else {}).items():
                    into = result.setdefault(topic, {})
                    for partition, offset in partitions.items():
                        into[partition] = min(offset, into.get(partition, offset))
        return result


class Listener(StreamingQueryListener):
    """Hands Spark's reports to the recorder; a query is named application/stage.

    The JVM calls this object itself: PySpark's own way reads a report field by field, in hundreds
    of calls, which took a third of a small batch's processor time. Here a report is one, in JSON.
    """

    class Java:  # what Py4J looks for
        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)

    def __init__(self, application: str, recorder: Recorder) -> None:
        self._prefix = f"{application}/"
        self._recorder = recorder
        self._wrapped: Any = None

    @property
    def _jlistener(self) -> Any:
        if self._wrapped is None:
            from pyspark import SparkContext

            jvm: Any = SparkContext._jvm
            self._wrapped = jvm.PythonStreamingQueryListenerWrapper(self)
        return self._wrapped

    def take(self, progress: Mapping[str, Any]) -> None:
        name = progress.get("name") or ""
        if name.startswith(self._prefix):
            self._recorder.note(name.removeprefix(self._prefix), progress)

    def onQueryStarted(self, event: Any) -> None:
        pass

    def onQueryProgress(self, event: Any) -> None:
        self.take(json.loads(event.progress().json()))

    def onQueryIdle(self, event: Any) -> None:
        pass

    def onQueryTerminated(self, event: Any) -> None:
        pass


def end_offsets(source: Mapping[str, Any]) -> Offsets:
    """Where a source stands after the batch. Spark writes it as an object or as text."""
    end = source.get("endOffset")
    if isinstance(end, str):
        try:
            end = json.loads(end)
        except ValueError:
            return {}
    if not isinstance(end, dict):
        return {}
    return {
        topic: {int(partition): int(offset) for partition, offset in partitions.items()}
        for topic, partitions in end.items()
        if isinstance(partitions, dict)
    }


class Group:
    """The offsets of the application's consumer group, committed by its member.

    `consumer` answers with the member's present one: a closed one raises RuntimeError."""

    def __init__(self, consumer: "Callable[[], Consumer]") -> None:
        self._consumer = consumer
        self._committed: Offsets = {}

    def publish(self, offsets: Offsets) -> None:
        """Commit what has moved. A broker that is away is told at the next turn."""
        from confluent_kafka import KafkaException, TopicPartition

        moved = [
            TopicPartition(topic, partition, offset)
            for topic, partitions in offsets.items()
            for partition, offset in partitions.items()
            if self._committed.get(topic, {}).get(partition) != offset
        ]
        if not moved:
            return
        try:
            self._consumer().commit(offsets=moved, asynchronous=False)
        except (KafkaException, RuntimeError):
            return
        for place in moved:
            self._committed.setdefault(place.topic, {})[place.partition] = place.offset

    def ends(self, topics: Mapping[str, int], timeout_s: float = 5.0) -> Offsets:
        """The end of each partition: what a reader of committed records can reach.

        At the first that is not told the rest is not asked for: the broker is away.
        """
        from confluent_kafka import KafkaException, TopicPartition

        result: Offsets = {}
        for topic, count in topics.items():
            for partition in range(count):
                try:
                    _, high = self._consumer().get_watermark_offsets(
                        TopicPartition(topic, partition), timeout=timeout_s
                    )
                except (KafkaException, TypeError, RuntimeError):
                    return result
                result.setdefault(topic, {})[partition] = high
        return result

    def begins(self, topic: str, partition: int, timeout_s: float = 10.0) -> int:
        """The first offset that a partition still holds."""
        from confluent_kafka import TopicPartition

        low, _ = self._consumer().get_watermark_offsets(
            TopicPartition(topic, partition), timeout=timeout_s
        )
        return low


def lag(ends: Offsets, reached: Offsets) -> dict[str, int]:
    """Records between where the application is and the end, by topic."""
    return {
        topic: sum(
            max(0, end - reached.get(topic, {}).get(partition, 0))
            for partition, end in partitions.items()
        )
        for topic, partitions in ends.items()
    }

"""Finding the records that a transform() fails on, when a batch has failed in it.

A transform is any PySpark over many rows at once, so nothing in it tells which row it fails on.
Here the batch is read again and tried in parts, first large ones, then record by record; what fails
alone is a dead letter or left out, and the rest of the batch is written. The parts are tasks of one
job that tell of their failure instead of failing, so that none is tried again (`FailedBatch` in
`runtime/jvm/ExactlyOnceSink.java`). A batch that does not fail costs nothing of this.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from ottla.pipelines.api.definitions import Source, Transform
from ottla.pipelines.engine.build import Builder
from ottla.pipelines.engine.sinks import letter_records, records
from ottla.pipelines.formats.values import quoted
from ottla.pipelines.planning.stages import Stage, separating
from ottla.pipelines.runtime.failures import UserCodeError, cause, told_by_worker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

AT_ONCE = 1000  # records that the driver holds while it tries them
ROUNDS = 3  # of trying; what fails only beside others may show itself when those are gone

Place = tuple[str, int, int]  # topic, partition, offset
Read = Callable[[Source], DataFrame]


@dataclass(frozen=True)
class Range:
    """Offsets of one partition, `until` excluded."""

    topic: str
    partition: int
    first: int
    until: int

    def __len__(self) -> int:
        return self.until - self.first


@dataclass(eq=False)
class Separator:
    """What the JVM calls with a batch that has failed in the user's code."""

    class Java:  # what Py4J looks for
        implements = ("java.util.function.Function",)

    spark: "SparkSession"
    stage: Stage
    names: Mapping[str, str]
    options: Mapping[str, str]  # of a reader of Kafka
    builder: Callable[[Read], Builder]

    def apply(self, failed: Any) -> str | None:
        """None when the batch is written; else why it cannot be."""
        try:
            Separation(self, failed, _only(self.stage)).run()
        except UserCodeError as error:
            return f"UserCodeError: {error}"
        except Py4JJavaError as error:
            return str(error.java_exception.toString()).splitlines()[0]
        except Exception as error:
            return f"{type(error).__name__}: {cause(error)}"
        return None


@dataclass
class Separation:
    """One failed batch."""

    by: Separator
    failed: Any
    node: Transform
    bad: dict[Place, str] = field(default_factory=dict)
    letters: list[DataFrame] = field(default_factory=list)

    def run(self) -> None:
        failure = str(self.failed.failure())
        ranges = [Range(*place) for place in self.failed.ranges()]
        for _ in range(ROUNDS):
            if not self._find(ranges):
                break
            frame = self._frame(self._raw(ranges), self.by.stage.node)
            rest = records(self.by.stage, frame, self.by.names)
            still = list(self.failed.write(rest._jdf, self._letters()))
            if not still:
                return
            failure = str(still[0])
        said = told_by_worker(failure, self.node.where)
        raise UserCodeError(f"transform() fails, but on no record by itself: {said}")

    def _find(self, ranges: Sequence[Range]) -> int:
        """Add what fails among the records that are not known to be bad; how many that are."""
        parts = [list(ranges)]
        if sum(map(len, ranges)) > AT_ONCE:
            tried = self._frame(self._raw(ranges, AT_ONCE), self.node)
            failing = self.failed.failingRanges(tried._jdf)
            parts = [[Range(*place)] for place in failing]
        return sum(map(self._find_in, parts))

    def _find_in(self, ranges: Sequence[Range]) -> int:
        raw = self._raw(ranges).orderBy("topic", "partition", "offset")
        rows = raw._jdf.collectAsList()
        schema = raw._jdf.schema()
        alone = self._failing_alone(rows, schema)
        if not alone:
            return 0
        picked = self.failed.pick(rows, list(alone))
        for _, failure in self._failing(picked, schema, 1, self.node.input):
            # It is not transform() that fails, and what does has not said that it may.
            raise UserCodeError(told_by_worker(failure, self.node.where))
        reasons = [told_by_worker(failure, self.node.where) for failure in alone.values()]
        for row, reason in zip(picked, reasons, strict=True):
            place = (row.getAs("topic"), row.getAs("partition"), row.getAs("offset"))
            self.bad[place] = reason
        session = self.by.spark._jsparkSession
        made = self.failed.explained(session, picked, schema, reasons)
        self.letters.append(DataFrame(made, self.by.spark))
        return len(alone)

    def _failing_alone(self, rows: Any, schema: Any) -> dict[int, str]:
        """The places of the rows that fail by themselves: many together first, then each."""
        count = len(rows)
        if not count:
            return {}
        slices = isqrt(count - 1) + 1
        suspects = [
            place
            for index, _ in self._failing(rows, schema, slices, self.node)
            for place in range(index * count // slices, (index + 1) * count // slices)
        ]
        if not suspects:
            return {}
        picked = self.failed.pick(rows, suspects)
        found = self._failing(picked, schema, len(suspects), self.node)
        return {suspects[index]: failure for index, failure in found}

    def _failing(self, rows: Any, schema: Any, slices: int, node: Any) -> list[tuple[int, str]]:
        """The slices that fail when their rows pass through the node, each with the exception."""
        session = self.by.spark._jsparkSession
        sliced = self.failed.sliced(session, rows, schema, slices)
        frame = self._frame(DataFrame(sliced, self.by.spark), node)
        return [(index, failure) for index, failure in self.failed.failing(frame._jdf)]

    def _frame(self, raw: DataFrame, node: Any) -> DataFrame:
        return self.by.builder(lambda source: raw).frame(node)

    def _raw(self, ranges: Sequence[Range], most: int | None = None) -> DataFrame:
        """The records of these ranges as they came, without those that are known to be bad."""
        firsts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for one in ranges:
            firsts.setdefault(one.topic, {})[str(one.partition)] = one.first
            ends.setdefault(one.topic, {})[str(one.partition)] = one.until
        assigned = {topic: [int(number) for number in parts] for topic, parts in firsts.items()}
        reader = self.by.spark.read.format("kafka").options(**self.by.options)
        reader = reader.option("assign", json.dumps(assigned))
        reader = reader.option("startingOffsets", json.dumps(firsts))
        reader = reader.option("endingOffsets", json.dumps(ends))
        if most is not None:
            reader = reader.option("maxRecordsPerPartition", str(most))
        frame = reader.load()
        if self.bad:
            places = ", ".join(quoted("-".join(map(str, place))) for place in self.bad)
            frame = frame.where(f"concat_ws('-', topic, partition, offset) NOT IN ({places})")
        return frame

    def _letters(self) -> Any:
        if self.node.on_error == "skip":
            return None
        whole = self.letters[0]
        for more in self.letters[1:]:
            whole = whole.union(more)
        return letter_records(self.by.stage, whole, self.by.names)._jdf


def _only(stage: Stage) -> Transform:
    found = separating(stage.node)
    assert found is not None
    return found

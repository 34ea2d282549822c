"""Texts as whole columns, where nothing looks at a single record.

With StringConverter and without transforms a text's bytes are the record's value: a source's slice
that has `read_texts` and a sink's task that has `put_texts` (both optional) hand over Arrow's
arrays, and no Python object is made for a record.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from ottla.connect.connector import Progress, TopicPartition
from ottla.connect.converters.plain import StringConverter
from ottla.connect.pipeline import SinkChain, SourceChain

if TYPE_CHECKING:
    import pyarrow

ROWS_MAX = 50_000


class SourceTexts(NamedTuple):
    topic: str
    values: "pyarrow.Array"  # binary, UTF-8
    time: int


class SinkTexts(NamedTuple):
    offsets: "pyarrow.Array"
    values: "pyarrow.Array"  # binary


@runtime_checkable
class TextSlice(Protocol):
    def read_texts(self) -> Iterator[SourceTexts | Progress] | None:
        """As `read`. None: not this time, some of it is no UTF-8."""


@runtime_checkable
class TextTask(Protocol):
    def put_texts(
        self, partition: TopicPartition, texts: Iterator[SinkTexts], end: int
    ) -> int | None:
        """As `put`; `end` is behind all that is given."""


def is_text(chain: SourceChain | SinkChain) -> bool:
    """Whether keys and values pass as they are."""
    return not chain.stages and _is_plain(chain.value) and _is_plain(chain.key)


def _is_plain(converter: object) -> bool:
    return isinstance(converter, StringConverter) and converter.is_utf8


def record_batches(texts: SourceTexts) -> "Iterator[pyarrow.RecordBatch]":
    import pyarrow

    headers = pyarrow.list_(
        pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
    )
    for begin in range(0, len(texts.values), ROWS_MAX):
        values = texts.values.slice(begin, ROWS_MAX)
        count = len(values)
        yield pyarrow.RecordBatch.from_arrays(
            [
                pyarrow.repeat(pyarrow.scalar(texts.topic, pyarrow.string()), count),
                pyarrow.nulls(count, pyarrow.binary()),
                values,
                pyarrow.nulls(count, headers),
                pyarrow.nulls(count, pyarrow.int32()),
                pyarrow.repeat(pyarrow.scalar(texts.time, pyarrow.int64()), count),
            ],
            names=["topic", "key", "value", "headers", "partition", "time"],
        )

"""Texts as whole columns, where nothing looks at a single record.

With StringConverter and without transforms a text's bytes are the record's value; with
JsonConverter they are put into quotes, and its schema before them. A source's slice that has
`read_texts` and a sink's task that has `put_texts` (both optional) hand over Arrow's arrays, and no
Python object is made for a record.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from ottla.connect.connector import Progress, TopicPartition
from ottla.connect.converters.converter import Converter
from ottla.connect.converters.json import JsonConverter
from ottla.connect.converters.plain import StringConverter
from ottla.connect.data import STRING_SCHEMA
from ottla.connect.pipeline import SinkChain, SourceChain

if TYPE_CHECKING:
    import pyarrow

ROWS_MAX = 50_000


class SourceTexts(NamedTuple):
    """Of records without a key."""

    topic: str
    values: "pyarrow.Array"  # binary, UTF-8
    time: int


class SinkTexts(NamedTuple):
    offsets: "pyarrow.Array"
    values: Sequence[bytes | None]


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
    """Whether texts can pass as columns."""
    return not chain.stages and _is_plain(chain.value) and _is_plain(chain.key)


def _is_plain(converter: object) -> bool:
    if isinstance(converter, StringConverter):
        return converter.is_utf8
    return type(converter) is JsonConverter


def written(texts: "pyarrow.Array", converter: Converter) -> "pyarrow.Array":
    """What a converter writes of these, which are UTF-8."""
    if not isinstance(converter, JsonConverter):
        return texts
    import pyarrow

    before, behind = converter.around(STRING_SCHEMA)
    if _are_odd(texts):
        text = converter.payload(STRING_SCHEMA)
        pieces = [before + text(one.decode()) + behind for one in texts.to_pylist()]
        return pyarrow.array(pieces, pyarrow.binary())
    return _joined(before + b'"', texts, b'"' + behind)


def read_texts(
    keys: "pyarrow.Array", values: "pyarrow.Array", chain: SinkChain
) -> Sequence[bytes | None] | None:
    """The texts that are read from these; None: they have to be read one by one."""
    if isinstance(chain.key, JsonConverter) and keys.null_count < len(keys):
        return None  # a key may be none that can be read
    if not isinstance(chain.value, JsonConverter):
        every: list[bytes | None] = values.to_pylist()
        return every
    return None if values.null_count else _unwrapped(values, chain.value)


def _unwrapped(values: "pyarrow.Array", converter: JsonConverter) -> list[bytes] | None:
    import pyarrow.compute

    around = converter.around_text(values[0].as_py())
    if around is None:
        return None
    before, behind = around[0] + b'"', b'"' + around[1]
    compute = pyarrow.compute
    if not compute.all(compute.starts_with(values, pattern=before)).as_py():
        return None
    if not compute.all(compute.ends_with(values, pattern=behind)).as_py():
        return None
    if compute.min(compute.binary_length(values)).as_py() < len(before) + len(behind):
        return None
    begin, end = len(before), -len(behind)
    # By Python: Arrow's own slices of bytes take twice as long.
    texts = [one[begin:end] for one in values.to_pylist()]
    return texts if _stand_for_themselves(texts) else None


_NEVER = bytes(one for one in range(32) if one != ord("\n"))


def _stand_for_themselves(texts: Sequence[bytes]) -> bool:
    """Whether JSON would write each of them, which is UTF-8, as it is."""
    joined = b"\n".join(texts)
    if b'"' in joined or b"\\" in joined or joined.count(b"\n") != len(texts) - 1:
        return False
    if len(joined.translate(None, _NEVER)) < len(joined):
        return False
    try:
        joined.decode()
    except UnicodeDecodeError:
        return False
    return True


def _are_odd(texts: "pyarrow.Array") -> bool:
    """Whether JSON would write any of them otherwise than it is."""
    import pyarrow.compute

    odd = pyarrow.compute.match_substring_regex(texts, pattern=r'["\\\x00-\x1f]')
    return bool(pyarrow.compute.any(odd).as_py())


def _joined(before: bytes, texts: "pyarrow.Array", behind: bytes) -> "pyarrow.Array":
    import pyarrow
    import pyarrow.compute

    parts = (pyarrow.scalar(before), texts, pyarrow.scalar(behind))
    return pyarrow.compute.binary_join_element_wise(*parts, pyarrow.scalar(b""))


def record_batches(texts: SourceTexts, converter: Converter) -> "Iterator[pyarrow.RecordBatch]":
    import pyarrow

    headers = pyarrow.list_(
        pyarrow.struct([("key", pyarrow.string()), ("value", pyarrow.binary())])
    )
    for begin in range(0, len(texts.values), ROWS_MAX):
        values = written(texts.values.slice(begin, ROWS_MAX), converter)
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

"""Running the user's functions in Python workers: map, flat_map and peek over rows of Arrow.

A row that a function fails on ends the stage, becomes a dead letter or is left out; so does one
whose result is not what the schema says.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.pipelines.api.definitions import OnError
from ottla.pipelines.runtime.failures import UserCodeError, told_in_a_line

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]


@dataclass(frozen=True)
class Calls:
    """One function and what it takes and gives. `kept` are columns that pass by as they are."""

    function: Callable[[Row], Any]
    kind: str
    takes: list[str]
    gives: list[str]
    kept: list[str]
    on_error: OnError

    def over(
        self, schema: "pa.Schema"
    ) -> "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
        def run(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
            for batch in batches:
                made = [one for row in batch.to_pylist() for one in self.rows(row)]
                yield self.converted(made, schema)

        return run

    def rows(self, row: Row) -> Iterable[Row]:
        """What the function makes of a row, with the columns that pass by."""
        kept = {name: row[name] for name in self.kept}
        if kept.get("_reason") is not None:  # a dead letter passes by
            return (kept,)
        try:
            return [made | kept for made in self.made(row)]
        except Exception as error:
            return self.failed(error, kept)

    def made(self, row: Row) -> Iterable[Row]:
        fields = {name: row[name] for name in self.takes}
        if self.kind == "peek":
            self.function(fields | {"_key": row["_key"]})
            return (fields,)
        made = self.function(fields | {"_key": row["_key"]})
        if made is None:
            return ()
        rows = list(made) if self.kind == "flat_map" else [made]
        for one in rows:
            self.check(one, row["_key"])
        return rows

    def check(self, made: Any, key: Any) -> None:
        if not isinstance(made, Mapping):
            raise TypeError(f"{self.kind}() gives {type(made).__name__}, not a dictionary")
        if made.get("_key", key) != key:
            raise ValueError(f"{self.kind}() cannot change _key: key_by() does")
        if unknown := sorted(set(made) - {*self.gives, "_key"}):
            raise ValueError(f"{self.kind}() gives {', '.join(unknown)}, which its schema lacks")

    def failed(self, error: Exception, kept: Row) -> Iterable[Row]:
        said = told_in_a_line(error)
        if self.on_error == "skip":
            return ()
        if self.on_error == "dead_letter":
            return (kept | {"_reason": said},)
        raise UserCodeError(said) from error

    def converted(self, rows: list[Row], schema: "pa.Schema") -> "pa.RecordBatch":
        """The rows as Arrow; when that fails, whichever of them is not of the schema has failed."""
        import pyarrow as pa

        try:
            return pa.RecordBatch.from_pylist(rows, schema=schema)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            sound = [one for row in rows for one in self.sound(row, schema)]
            return pa.RecordBatch.from_pylist(sound, schema=schema)

    def sound(self, row: Row, schema: "pa.Schema") -> Iterable[Row]:
        import pyarrow as pa

        for name in self.gives:
            try:
                pa.array([row.get(name)], schema.field(name).type)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                wanted = schema.field(name).type
                said = TypeError(f"{name}, which {self.kind}() gives, is no {wanted}: {error}")
                return self.failed(said, {name: row[name] for name in self.kept})
        return (row,)

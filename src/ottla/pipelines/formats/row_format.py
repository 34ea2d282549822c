"""What stages of an application write for each other: Spark's own rows, whose types Spark tells.

`Row` is for topics that nobody else reads. A kept table is read by others too: `Kept` writes JSON,
and the row itself in a header where JSON cannot hold it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.pipelines.formats import values
from ottla.pipelines.formats.format import Format, parsed_once
from ottla.pipelines.formats.json_format import Json
from ottla.pipelines.formats.schema import Field, Schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

ROW_HEADER = "ottla.row"
SUBSCRIPTION = (
    Field("pk", "STRING"),
    Field("row", None),  # a struct: the left row
    Field("silent", "BOOLEAN"),
    Field("version", "BIGINT"),
)


@dataclass(frozen=True)
class Row(Format):
    name = "row"

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        row = values.struct_from_bytes("value", types[0], types[1:])
        if not values.is_common(types[0]):
            return parsed_once(row)
        # Intermediate topics were JSON once, and what was under way then is still to be read.
        return parsed_once(f"if(startswith(value, X'7B'), {self._from_json(types[0])}, {row})")

    def read(self, field: str, at: str) -> str:
        return f"_parsed.`{field}`"

    def written(self, columns: list[str], types: "StructType") -> str:
        return values.row_bytes(values.struct_of(columns))

    def _from_json(self, type: "StructType") -> str:
        return values.struct_from_json("cast(value AS string)", type)


@dataclass(frozen=True)
class Subscription(Row):
    """What the first half of a foreign-key join tells the second."""

    schema: Schema = SUBSCRIPTION

    def _from_json(self, type: "StructType") -> str:
        """The left row was text inside it."""
        said = (
            "from_json(cast(value AS string), "
            "'pk string, row string, silent boolean, version bigint')"
        )
        row = f"from_json({said}.row, {values.quoted(values.ddl(type['row'].dataType))})"  # type: ignore[arg-type]
        return (
            f"named_struct('pk', {said}.pk, 'row', {row}, "
            f"'silent', {said}.silent, 'version', {said}.version)"
        )


@dataclass(frozen=True)
class Kept(Json):
    """JSON that the application has written itself, so that it always decodes."""

    may_fail = False

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        if values.is_common(types[0]):
            return parsed_once(values.struct_from_json("cast(value AS string)", types[0]))
        sent = f"filter(headers, h -> h.key = '{ROW_HEADER}')[0].value"
        return parsed_once(values.struct_from_bytes(sent, types[0], types[1:]))

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        return []

    def beside(self, columns: list[str], types: "StructType") -> str | None:
        if all(values.is_common(types[name].dataType) for name in columns):
            return None
        return values.row_bytes(values.struct_of(columns))

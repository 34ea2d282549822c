"""JSON: an object per record, with a schema to read it by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ottla.pipelines.formats import values
from ottla.pipelines.formats.format import Format, parsed_once
from ottla.pipelines.formats.schema import Field, ddl, parse_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def json(schema: str = "") -> Format:
    """An object per record. The schema is Spark's DDL: `"customer STRING NOT NULL, amount DOUBLE"`.

    A record that is no such object, or lacks a field marked NOT NULL, goes to the dead letters.
    For writing, the schema may be left out: all columns are written.
    """
    return Json(parse_schema(schema) if schema else ())


@dataclass(frozen=True)
class Json(Format):
    name = "json"
    may_fail = True

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        schema = ddl(self.schema).replace("'", "\\'")
        return parsed_once(
            f"from_json(cast(value AS string), '{schema}, `_bad` string', "
            "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_bad'))"
        )

    def read(self, field: str, at: str) -> str:
        return f"_parsed.`{field}`"

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        required = [field.name for field in self.schema if field.required]
        cases = []
        if is_table:
            cases.append("WHEN value IS NULL THEN NULL")
        elif required:
            cases.append("WHEN value IS NULL THEN 'the record has no value'")
        bad = "value IS NOT NULL AND (_parsed IS NULL OR _parsed._bad IS NOT NULL)"
        cases += [
            f"WHEN {bad} AND {_is_wrong(field)} THEN 'the field {field.name} is no {field.type}'"
            for field in self.schema
            if "'" not in field.name
        ]
        cases.append(f"WHEN {bad} THEN 'the value is not JSON of the schema'")
        cases.append("WHEN NOT ottla_is_all_json(value) THEN 'there is more behind the JSON'")
        cases += [
            f"WHEN _parsed.`{name}` IS NULL THEN 'the field {name} is missing'" for name in required
        ]
        return cases

    def written(self, columns: list[str], types: "StructType") -> str:
        names = [field.name for field in self.schema] or columns
        return f"cast({values.json_of(types, names)} AS binary)"

    def why_not_read(self) -> str | None:
        return None if self.schema else "reading JSON needs a schema: json('name STRING, …')."

    def why_no_key(self) -> str | None:
        return "a key is text, bytes or a number: string() reads JSON."


def _is_wrong(field: Field) -> str:
    """Whether a record that is JSON, but not of the schema, has something else in this field."""
    found = f"get_json_object(cast(value AS string), '$[\\'{field.name}\\']')"
    return f"_parsed.`{field.name}` IS NULL AND {found} IS NOT NULL"

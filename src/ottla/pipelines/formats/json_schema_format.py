"""JSON behind the id of a JSON Schema, as Confluent's serializers write it.

Records are read into the columns of the subject's latest schema, as `json_format` reads them; that
is all of the schema that is looked at. Which schema a record was written with makes no difference.
"""

import json as json_
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ottla.client.schema_registry import RegistryRefusal, SchemaRegistry, draft, url_of
from ottla.errors import OttlaError
from ottla.pipelines.formats import values
from ottla.pipelines.formats.avro_types import NotReadable, NotWritable
from ottla.pipelines.formats.format import Format, parsed_once
from ottla.pipelines.formats.json_format import Json
from ottla.pipelines.formats.json_schema_types import columns, schema_of
from ottla.pipelines.formats.schema import ddl

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

JSON = "JSON"
ID_HEADER = "__value_schema_id"
_BODY = (  # behind the frame, or all of it where a header bears the id; else nothing
    f"CASE WHEN exists(headers, h -> h.key = '{ID_HEADER}') THEN value "
    "WHEN length(value) > 5 AND startswith(value, X'00') THEN substring(value, 6) "
    "WHEN length(value) > 17 AND startswith(value, X'01') THEN substring(value, 18) END"
)


def json_schema(
    subject: str | None = None, *, version: int | None = None, name: str | None = None
) -> Format:
    """JSON behind a schema's id. The subject is `TOPIC-value` unless it is named.

    It is read with the columns of the subject's latest schema, or of a `version`'s. Written rows
    get a schema made of their columns, with `name` as its title, which is registered when the
    application starts.
    """
    return JsonSchema(subject=subject, version=version, title=name)


@dataclass(frozen=True)
class JsonSchema(Json):
    subject: str | None = None
    version: int | None = None
    title: str | None = None
    registry: str = ""

    name = "json_schema"

    def of_topic(self, topic: str, registry: str | None, *, reads: bool) -> "JsonSchema":
        bound = replace(self, subject=self.subject or f"{topic}-value", registry=url_of(registry))
        return bound._reading() if reads else bound

    def _reading(self) -> "JsonSchema":
        there = SchemaRegistry(self.registry)
        held = there.version(self.subject or "", self.version or "latest")
        if held.kind != JSON:
            raise OttlaError(f"The schema of {self.subject} is {held.kind}, not {JSON}.")
        try:
            return replace(self, schema=columns(json_.loads(held.text)))
        except NotReadable as error:
            raise OttlaError(f"The schema of {self.subject} cannot be read: {error}.") from None

    # --- reading

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        schema = ddl(self.schema).replace("'", "\\'")
        return parsed_once(
            f"from_json(cast({_BODY} AS string), '{schema}, `_bad` string', "
            "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_bad'))"
        )

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        without = "NULL" if is_table else "'the record has no value'"
        bad = "_parsed IS NULL OR _parsed._bad IS NOT NULL"
        return [
            f"WHEN value IS NULL THEN {without}",
            f"WHEN ({_BODY}) IS NULL THEN 'the value has no frame of a schema registry'",
            f"WHEN {bad} THEN 'the value is not JSON of the schema'",
            *(
                f"WHEN _parsed.{values.name(field.name)} IS NULL "
                f"THEN {values.quoted(f'the field {field.name} is missing')}"
                for field in self.schema
                if field.required
            ),
        ]

    def why_not_read(self) -> str | None:
        return None

    # --- writing

    def written(self, columns: list[str], types: "StructType") -> str:
        """OttlaError where the registry does not take the schema."""
        title = self.title or re.sub(r"\W", "_", (self.subject or "").removesuffix("-value"))
        try:
            text = json_.dumps(schema_of(types, columns, title))
        except NotWritable as error:
            raise OttlaError(f"These rows have no JSON Schema: {error}.") from None
        try:
            id = SchemaRegistry(self.registry).register(self.subject or "", draft(text, JSON))
        except RegistryRefusal as refusal:
            raise OttlaError(f"{self.subject} does not take this schema: {refusal}") from None
        body = f"cast({values.json_of(types, columns)} AS binary)"
        return f"concat(X'00{id:08X}', {body})"

    # --- sameness

    def in_words(self) -> str:
        return f"json_schema({self._said()})"

    def described(self) -> dict[str, Any]:
        """A newer version of the same subject is no other format: columns that are used stay."""
        return {"name": self.name, "schema": [], "column": self.column, "of": self._said()}

    def _said(self) -> str:
        return self.subject or "" if self.version is None else f"{self.subject} {self.version}"

"""JSON behind the id of a JSON Schema, as Confluent's serializers write it.

Records are read into the columns of the subject's latest schema, as `json_format` reads them,
whichever schema they were written with. With `validate=True` they must also fit that schema by all
its rules (`runtime/jvm/JsonSchemaFrames.java`).
"""

import json as json_
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ottla.client.schema_registry import SchemaRegistry, draft
from ottla.errors import OttlaError
from ottla.pipelines.formats import values
from ottla.pipelines.formats.avro_types import NotReadable, NotWritable
from ottla.pipelines.formats.format import Format, parsed_once
from ottla.pipelines.formats.json_schema_types import (
    columns,
    schema_of,
    schema_of_one,
    type_of,
    why_not_judged,
)
from ottla.pipelines.formats.registered import IdIn, Registered, read_file
from ottla.pipelines.formats.schema import ddl
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

JSON = "JSON"
_PERMISSIVE = "map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '_bad')"


def json_schema(
    subject: str | None = None,
    *,
    version: int | None = None,
    schema: str | None = None,
    name: str | None = None,
    validate: bool = False,
    id_column: str | None = None,
    id_in: IdIn = "value",
) -> Format:
    """JSON behind a schema's id. The subject is `TOPIC-value` unless it is named.

    It is read with the columns of the subject's latest schema, of a `version`'s, or of a file's
    (`schema="orders.json"`). With `validate` each record must fit the schema that it was written
    with, by all its rules; else only types and required properties of the columns are looked at.
    Written rows get a schema made of their columns, with `name` as its title, or that of the file,
    which is registered when the application starts. `id_column` adds a column with the id that
    each record bears; `id_in="header"` writes it, as a GUID, in a header and not before the value.
    """
    if version is not None and schema is not None:
        raise DefinitionError(here(), "version= or schema=: each says which schema it is.")
    fixed = () if schema is None else (read_file(schema),)
    return JsonSchema(
        subject=subject,
        version=version,
        fixed=fixed,
        record=name,
        id_column=id_column,
        id_in=id_in,
        validate=validate,
    )


@dataclass(frozen=True)
class JsonSchema(Registered):
    validate: bool = False
    type: str = ""  # of a key

    name = "json_schema"
    java = "JsonSchemaFrames"

    # --- reading

    def reading(self) -> "JsonSchema":
        there = SchemaRegistry(self.url)
        read, text, documents = self, self.fixed[0] if self.fixed else "", dict[str, Any]()
        if not self.fixed:
            held = there.version(self.subject or "", self.version or "latest")
            if held.kind != JSON:
                raise OttlaError(f"The schema of {self.subject} is {held.kind}, not {JSON}.")
            read, text = self.read_with(there, held), held.text
            texts = there.texts(held.references)
            documents = {name: json_.loads(one) for name, one in texts.items()}
        try:
            return read._of(json_.loads(text), documents)
        except (NotReadable, ValueError) as error:
            raise OttlaError(f"The schema of {self.subject} cannot be read: {error}.") from None

    def _of(self, schema: Any, documents: Mapping[str, Any]) -> "JsonSchema":
        if self.validate:
            for one in (schema, *documents.values()):
                if why := why_not_judged(one):
                    raise NotReadable(f"{why}, so that nothing can be validated by it")
        if self.at == "key":
            return replace(self, type=type_of(schema, documents))
        return replace(self, schema=self.with_id(columns(schema, documents)))

    def arguments(self) -> Sequence[str]:
        return [str(self.validate).lower()]

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        fields = self.schema if self.id_column is None else self.schema[:-1]
        made = values.quoted(f"{ddl(fields)}, `_bad` string")
        return self._parsed(f"from_json(cast(x.row AS string), {made}, {_PERMISSIVE})")

    def parsed_key(self) -> str | None:
        made = values.quoted(f"v {self.type}")
        text = "concat('{\"v\":', cast(x.row AS string), '}')"
        return self._parsed(f"from_json({text}, {made}).v")

    def _parsed(self, row: str) -> str:
        """The lambda sees to it that the frame is looked at once."""
        found = f"named_struct('row', {row}, 'reason', x.reason, 'id', x.id)"
        return parsed_once(f"transform(array({self.decoded()}), x -> {found})[0]")

    def key_text(self, row: str) -> str:
        if self.type.startswith(("STRUCT", "MAP", "ARRAY")):
            return super().key_text(row)
        return f"cast({row} AS {'bigint' if self.type == 'BIGINT' else 'string'})"

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        said = super().reasons(at, is_table=is_table)
        if at == "key":
            bad = "key IS NOT NULL AND _parsed_key.row IS NULL"
            return [*said, f"WHEN {bad} THEN 'the key is not JSON of the schema'"]
        bad = "_parsed.row IS NULL OR _parsed.row._bad IS NOT NULL"
        return [
            *said,
            f"WHEN {bad} THEN 'the value is not JSON of the schema'",
            *(
                f"WHEN _parsed.row.{values.name(field.name)} IS NULL "
                f"THEN {values.quoted(f'the field {field.name} is missing')}"
                for field in self.schema
                if field.required
            ),
        ]

    # --- writing

    def written(self, columns: list[str], types: "StructType") -> str:
        """OttlaError where the registry does not take the schema."""
        id = self.registered(self.text(columns, types))
        return self._framed(id, values.json_of(types, self.names(columns)))

    def written_key(self, sql: str, type: "DataType") -> str:
        id = self.registered(self.key_body(type))
        return self._framed(id, values.json_of_one(sql, type))

    def _framed(self, id: int, json: str) -> str:
        body = f"cast({json} AS binary)"
        return body if self.id_in == "header" else f"concat(X'00{id:08X}', {body})"

    def text(self, columns: list[str], types: "StructType") -> Mapping[str, Any]:
        return self._draft(lambda: schema_of(types, self.names(columns), self._title()))

    def key_body(self, type: "DataType") -> Mapping[str, Any]:
        return self._draft(lambda: schema_of_one(type, self._title()))

    def _draft(self, made: Callable[[], Any]) -> Mapping[str, Any]:
        if self.fixed:
            return draft(self.fixed[0], JSON)
        try:
            return draft(json_.dumps(made()), JSON)
        except NotWritable as error:
            raise OttlaError(f"These rows have no JSON Schema: {error}.") from None

    def _title(self) -> str:
        return self.record or re.sub(r"\W", "_", (self.subject or "").removesuffix("-value"))

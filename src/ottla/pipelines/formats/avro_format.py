"""Avro with the schemas of a registry: each record says by an id which one it was written with.

The reader's schema is fixed when the application is defined, so its columns are known before Spark
starts; writers may go on to newer ones meanwhile (`runtime/jvm/AvroFrames.java`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ottla.client.schema_registry import AVRO, SchemaRegistry, draft
from ottla.errors import OttlaError
from ottla.pipelines.formats import values
from ottla.pipelines.formats.avro_types import (
    NotReadable,
    NotWritable,
    columns,
    for_spark,
    primitive,
    schema_of,
    schema_of_one,
)
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.registered import IdIn, Registered, read_file
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


def avro(
    subject: str | None = None,
    *,
    version: int | None = None,
    schema: str | None = None,
    name: str | None = None,
    id_column: str | None = None,
    id_in: IdIn = "value",
) -> Format:
    """Records in Avro behind a schema's id, as Confluent's serializers write them.

    The subject is `TOPIC-value` unless it is named. It is read with the subject's latest schema,
    with that of a `version`, or of a file (`schema="orders.avsc"`). Written rows get a schema made
    of their columns, a record that is called `name`, or that of the file; it is registered when
    the application starts. `id_column` adds a column with the id that each record bears;
    `id_in="header"` writes it, as a GUID, in a header and not before the value.
    """
    if version is not None and schema is not None:
        raise DefinitionError(here(), "version= or schema=: each says which schema it is.")
    fixed = () if schema is None else (read_file(schema),)
    return Avro(
        subject=subject,
        version=version,
        fixed=fixed,
        record=name,
        id_column=id_column,
        id_in=id_in,
    )


@dataclass(frozen=True)
class Avro(Registered):
    texts: tuple[str, ...] = ()  # what it reads with, after what that refers to

    name = "avro"
    java = "AvroFrames"

    # --- reading

    def reading(self) -> "Avro":
        read = replace(self, texts=self.fixed) if self.fixed else self._fetched()
        if self.at == "key" and primitive(read.texts[-1]) is not None:
            return read
        try:
            fields = columns(read.texts)
        except NotReadable as error:
            raise OttlaError(f"The schema of {self.subject} cannot be read: {error}.") from None
        return replace(read, schema=self.with_id(fields))

    def _fetched(self) -> "Avro":
        there = SchemaRegistry(self.url)
        held = there.version(self.subject or "", self.version or "latest")
        if held.kind != AVRO:
            raise OttlaError(f"The schema of {self.subject} is {held.kind}, not {AVRO}.")
        texts = (*there.texts(held.references).values(), held.text)
        return replace(self.read_with(there, held), texts=texts)

    def arguments(self) -> Sequence[str]:
        return [json.dumps([for_spark(one) for one in self.texts])]

    def key_text(self, row: str) -> str:
        match primitive(self.texts[-1]):
            case "int" | "long":
                return f"cast({row} AS bigint)"
            case None:
                return super().key_text(row)
        return f"cast({row} AS string)"

    # --- writing

    def written(self, columns: list[str], types: "StructType") -> str:
        """OttlaError where the registry does not take the schema."""
        body = self.text(columns, types)
        id = self.registered(body)
        schema = values.quoted(json.dumps([for_spark(body["schema"])]))
        return self._framed(values.struct_of(self.names(columns)), schema, id)

    def written_key(self, sql: str, type: "DataType") -> str:
        """A record, or a single value; Java takes either in a row."""
        from pyspark.sql.types import StructType

        body = self.key_body(type)
        schema = values.quoted(json.dumps([for_spark(body["schema"])]))
        row = sql if isinstance(type, StructType) else f"named_struct('key', {sql})"
        framed = self._framed(row, schema, self.registered(body))
        return f"if({sql} IS NULL, NULL, {framed})"

    def _framed(self, row: str, schema: str, id: int) -> str:
        framed = f"{self.function}_as({row}, {schema}, '{id}')"
        return framed if self.id_in == "value" else f"substring({framed}, 6)"

    def text(self, columns: list[str], types: "StructType") -> Mapping[str, Any]:
        return self._draft(lambda: schema_of(types, self.names(columns), self._record()))

    def key_body(self, type: "DataType") -> Mapping[str, Any]:
        return self._draft(lambda: schema_of_one(type, self._record()))

    def _record(self) -> str:
        return self.record or re.sub(r"\W", "_", (self.subject or "").removesuffix("-value"))

    def _draft(self, made: Callable[[], Any]) -> Mapping[str, Any]:
        if self.fixed:
            return draft(self.fixed[0])
        try:
            return draft(json.dumps(made()))
        except NotWritable as error:
            raise OttlaError(f"These rows cannot be written in Avro: {error}.") from None

"""Avro with the schemas of a registry: each record says by an id which one it was written with.

The reader's schema is fixed when the application is defined, so its columns are known before Spark
starts; writers may go on to newer ones meanwhile (`runtime/jvm/AvroFrames.java`).
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ottla.client.schema_registry import AVRO, SchemaRegistry, draft
from ottla.errors import OttlaError
from ottla.pipelines.formats import values
from ottla.pipelines.formats.avro_types import (
    NotReadable,
    NotWritable,
    columns,
    primitive,
    schema_of,
)
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.registered import Registered, read_file
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def avro(
    subject: str | None = None,
    *,
    version: int | None = None,
    schema: str | None = None,
    name: str | None = None,
    id_column: str | None = None,
) -> Format:
    """Records in Avro behind a schema's id, as Confluent's serializers write them.

    The subject is `TOPIC-value` unless it is named. It is read with the subject's latest schema,
    with that of a `version`, or of a file (`schema="orders.avsc"`). Written rows get a schema made
    of their columns, a record that is called `name`, or that of the file; it is registered when
    the application starts. `id_column` adds a column with the id that each record bears.
    """
    if version is not None and schema is not None:
        raise DefinitionError(here(), "version= or schema=: each says which schema it is.")
    fixed = () if schema is None else (read_file(schema),)
    return Avro(subject=subject, version=version, fixed=fixed, record=name, id_column=id_column)


@dataclass(frozen=True)
class Avro(Registered):
    texts: tuple[str, ...] = ()  # what it reads with, after what that refers to

    name = "avro"
    java = "AvroFrames"

    # --- reading

    def reading(self) -> "Avro":
        texts = self.fixed or self._fetched()
        if self.at == "key" and primitive(texts[-1]) is not None:
            return replace(self, texts=texts)
        try:
            fields = columns(texts)
        except NotReadable as error:
            raise OttlaError(f"The schema of {self.subject} cannot be read: {error}.") from None
        return replace(self, texts=texts, schema=self.with_id(fields))

    def _fetched(self) -> tuple[str, ...]:
        there = SchemaRegistry(self.registry)
        held = there.version(self.subject or "", self.version or "latest")
        if held.kind != AVRO:
            raise OttlaError(f"The schema of {self.subject} is {held.kind}, not {AVRO}.")
        return (*there.texts(held.references).values(), held.text)

    def arguments(self) -> Sequence[str]:
        return [json.dumps(self.texts)]

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
        names = [one for one in columns if one != self.id_column]
        text = self.fixed[0] if self.fixed else self._schema(names, types)
        id = self.registered(draft(text))
        schema = values.quoted(json.dumps([text]))
        return f"{self.function}_as({values.struct_of(names)}, {schema}, '{id}')"

    def _schema(self, names: list[str], types: "StructType") -> str:
        record = self.record or re.sub(r"\W", "_", (self.subject or "").removesuffix("-value"))
        try:
            return json.dumps(schema_of(types, names, record))
        except NotWritable as error:
            raise OttlaError(f"These rows cannot be written in Avro: {error}.") from None

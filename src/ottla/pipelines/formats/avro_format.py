"""Avro with the schemas of a registry: each record says by an id which one it was written with.

The reader's schema is fixed when the application is defined, so its columns are known before Spark
starts; writers may go on to newer ones meanwhile (`runtime/jvm/AvroFrames.java`).
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ottla.client.schema_registry import AVRO, RegistryRefusal, SchemaRegistry, draft, url_of
from ottla.errors import OttlaError
from ottla.pipelines.formats import values
from ottla.pipelines.formats.avro_types import NotReadable, NotWritable, columns, schema_of
from ottla.pipelines.formats.format import Format, parsed_once
from ottla.pipelines.formats.schema import Field
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

ID_HEADER = "__value_schema_id"


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
    fixed = () if schema is None else (_read(schema),)
    return Avro(subject=subject, version=version, fixed=fixed, record=name, id_column=id_column)


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        raise DefinitionError(here(), f"{path} cannot be read: {error.strerror}.") from None


@dataclass(frozen=True)
class Avro(Format):
    subject: str | None = None
    version: int | None = None
    fixed: tuple[str, ...] = ()  # the text of a file
    record: str | None = None
    id_column: str | None = None
    texts: tuple[str, ...] = ()  # what it reads with, after what that refers to
    registry: str = ""

    name = "avro"
    may_fail = True

    # --- bound to a topic

    def of_topic(self, topic: str, registry: str | None, *, reads: bool) -> "Avro":
        bound = replace(self, subject=self.subject or f"{topic}-value", registry=url_of(registry))
        return bound._reading() if reads else bound

    def _reading(self) -> "Avro":
        texts = self.fixed or self._fetched()
        try:
            fields = columns(texts)
        except NotReadable as error:
            raise OttlaError(f"The schema of {self.subject} cannot be read: {error}.") from None
        if self.id_column is not None:
            fields = (*fields, Field(self.id_column, "INT"))
        return replace(self, texts=texts, schema=fields)

    def _fetched(self) -> tuple[str, ...]:
        there = SchemaRegistry(self.registry)
        held = there.version(self.subject or "", self.version or "latest")
        if held.kind != AVRO:
            raise OttlaError(f"The schema of {self.subject} is {held.kind}, not {AVRO}.")
        return (*there.texts(held.references).values(), held.text)

    def prepare(self, spark: "SparkSession") -> None:
        jvm: Any = spark._jvm
        jvm.ottla.AvroFrames.register(spark._jsparkSession, self._function, self.registry)

    @property
    def _function(self) -> str:
        return f"ottla_avro_{hashlib.sha256(self.registry.encode()).hexdigest()[:8]}"

    # --- reading

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        texts = values.quoted(json.dumps(self.texts))
        sent = f"filter(headers, h -> h.key = '{ID_HEADER}')[0].value"
        return parsed_once(f"{self._function}_of(value, {sent}, {texts})")

    def read(self, field: str, at: str) -> str:
        return "_parsed.id" if field == self.id_column else f"_parsed.row.{values.name(field)}"

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        without = "NULL" if is_table else "'the record has no value'"
        return [
            f"WHEN value IS NULL THEN {without}",
            "WHEN _parsed.reason IS NOT NULL THEN _parsed.reason",
        ]

    def why_no_key(self) -> str | None:
        return "a key is text, bytes or a number."

    # --- writing

    def written(self, columns: list[str], types: "StructType") -> str:
        """OttlaError where the registry does not take the schema."""
        names = [one for one in columns if one != self.id_column]
        text = self.fixed[0] if self.fixed else self._schema(names, types)
        try:
            id = SchemaRegistry(self.registry).register(self.subject or "", draft(text))
        except RegistryRefusal as refusal:
            raise OttlaError(f"{self.subject} does not take this schema: {refusal}") from None
        schema = values.quoted(json.dumps([text]))
        return f"{self._function}_as({values.struct_of(names)}, {schema}, '{id}')"

    def _schema(self, names: list[str], types: "StructType") -> str:
        record = self.record or re.sub(r"\W", "_", (self.subject or "").removesuffix("-value"))
        try:
            return json.dumps(schema_of(types, names, record))
        except NotWritable as error:
            raise OttlaError(f"These rows cannot be written in Avro: {error}.") from None

    # --- sameness

    def in_words(self) -> str:
        return f"avro({self._said()})"

    def described(self) -> dict[str, Any]:
        """A newer version of the same subject is no other format: columns that are used stay."""
        return {"name": self.name, "schema": [], "column": self.column, "of": self._said()}

    def _said(self) -> str:
        if self.fixed:
            digest = hashlib.sha256(self.fixed[0].encode()).hexdigest()[:12]
            return f"{self.subject} {digest}"
        return self.subject or "" if self.version is None else f"{self.subject} {self.version}"

"""Protobuf with the schemas of a registry: a record says which schema and which message it is.

The message that is read is fixed when the application is defined. Bytes of every version are read
with it, as Protobuf has it (`runtime/jvm/ProtobufFrames.java`).
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ottla.client.protobuf_files import (
    NoSuchMessage,
    described,
    frame_indexes,
    indexes_of,
    message_of,
    version_path,
)
from ottla.client.schema_registry import RegistryRefusal, SchemaRegistry, Stored, draft, stored
from ottla.errors import OttlaError
from ottla.pipelines.formats import values
from ottla.pipelines.formats.avro_types import NotReadable, NotWritable
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.protobuf_schemas import numbers_of, text_of
from ottla.pipelines.formats.protobuf_types import columns, plan
from ottla.pipelines.formats.registered import IdIn, Registered, read_file
from ottla.pipelines.formats.schema import Schema
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from pyspark.sql.types import DataType, StructType

PROTOBUF = "PROTOBUF"
DEEPEST = 10


def protobuf(
    subject: str | None = None,
    *,
    message: str | None = None,
    version: int | None = None,
    schema: str | None = None,
    name: str | None = None,
    id_column: str | None = None,
    id_in: IdIn = "value",
    recursion: int | None = None,
) -> Format:
    """Protobuf behind a schema's id and the place of the message in it, as Confluent writes it.

    The subject is `TOPIC-value` unless it is named. What is read is a `message` of the subject's
    latest schema, or of a `version`'s, or of a file's that the subject holds
    (`schema="orders.proto"`): the first one, unless it is named. Written rows get a schema made of
    their columns, a message that is called `name`, or that of the file; it is registered when the
    application starts. `id_column` adds a column with the id that each record bears;
    `id_in="header"` writes it, as a GUID, in a header and not before the value.

    A message that contains itself is refused unless `recursion` says how often it may stand on the
    way to a column, as `recursive.fields.max.depth` of Spark's own `from_protobuf`: with 1 such
    fields are left out, with 2 they are there once, and so on up to 10.
    """
    if recursion is not None and recursion not in range(1, DEEPEST + 1):
        raise DefinitionError(here(), f"recursion is a number from 1 to {DEEPEST}.")
    if version is not None and schema is not None:
        raise DefinitionError(here(), "version= or schema=: each says which schema it is.")
    fixed = () if schema is None else (read_file(schema),)
    return Protobuf(
        subject=subject,
        version=version,
        fixed=fixed,
        record=name,
        id_column=id_column,
        id_in=id_in,
        message=message,
        recursion=recursion or 0,
    )


@dataclass(frozen=True)
class Protobuf(Registered):
    message: str | None = None  # of the schema; its full name where it is read
    plan: str = ""
    recursion: int = 0  # how often a message may stand within itself; 0: not at all

    name = "protobuf"
    java = "ProtobufFrames"

    # --- reading

    def reading(self) -> "Protobuf":
        there = SchemaRegistry(self.url)
        held = self._held(there)
        if held.kind != PROTOBUF:
            raise OttlaError(f"The schema of {self.subject} is {held.kind}, not {PROTOBUF}.")
        found = self._message(there, version_path(self.subject or "", held.version), held)
        try:
            fields = columns(found, self.recursion)
        except NotReadable as error:
            raise self._not_readable(error) from None
        return replace(
            self.read_with(there, held),
            message=found.full_name,
            plan=json.dumps(plan(found, self.recursion)),
            schema=self.with_id(fields),
        )

    def _held(self, there: SchemaRegistry) -> Stored:
        subject = self.subject or ""
        if not self.fixed:
            return there.version(subject, self.version or "latest")
        path = version_path(subject, "").removesuffix("/versions/")
        return stored(there.ask("POST", path, {}, draft(self.fixed[0], PROTOBUF)))

    def _message(self, there: SchemaRegistry, path: str, held: Stored) -> "Descriptor":
        file = described(there, path, held.references)
        try:
            return message_of(file, self.message)
        except NoSuchMessage as error:
            raise self._not_readable(error) from None

    def _not_readable(self, error: NotReadable | NoSuchMessage) -> OttlaError:
        return OttlaError(f"The schema of {self.subject} cannot be read: {error}.")

    def arguments(self) -> Sequence[str]:
        fields = self.schema if self.id_column is None else self.schema[:-1]
        return [self.plan, _struct(fields), self.message or ""]

    # --- writing

    def written(self, columns: list[str], types: "StructType") -> str:
        """OttlaError where the registry does not take the schema."""
        names = self.names(columns)
        return self._framed(self.text(columns, types), values.name, names, types)

    def written_key(self, sql: str, type: "DataType") -> str:
        body = self.key_body(type)
        row: Any = type
        framed = self._framed(body, lambda one: f"{sql}.{values.name(one)}", row.names, row)
        return f"if({sql} IS NULL, NULL, {framed})"

    def _framed(
        self,
        body: Mapping[str, Any],
        column: Callable[[str], str],
        names: list[str],
        types: "StructType",
    ) -> str:
        id, found = self._registered_message(body)
        try:
            row = _row_of(columns(found, self.recursion), found.full_name, column, names, types)
            by = values.quoted(json.dumps(plan(found, self.recursion)))
        except NotReadable as error:
            raise OttlaError(f"These rows cannot be written in Protobuf: {error}.") from None
        place = ",".join(map(str, indexes_of(found))) if self.id_in == "value" else ""
        return f"{self.function}_as({row}, {by}, '{id}', '{place}')"

    def text(self, columns: list[str], types: "StructType") -> Mapping[str, Any]:
        there = SchemaRegistry(self.url)
        text = self.fixed[0] if self.fixed else self._text(there, self.names(columns), types)
        return draft(text, PROTOBUF)

    def key_body(self, type: "DataType") -> Mapping[str, Any]:
        from pyspark.sql.types import StructType

        if not isinstance(type, StructType):
            raise OttlaError(
                f"A key in Protobuf is a message, and this one is {type.simpleString()}: "
                "key='struct(id)' makes one of columns."
            )
        return self.text(type.names, type)

    def behind_guid(self, columns: list[str], types: "StructType") -> bytes:
        """The place of the message: in frames within headers it stands there, too."""
        return self._place(self.text(columns, types))

    def behind_key_guid(self, type: "DataType") -> bytes:
        return self._place(self.key_body(type))

    def _place(self, body: Mapping[str, Any]) -> bytes:
        _, found = self._registered_message(body)
        return frame_indexes(indexes_of(found))

    def _registered_message(self, body: Mapping[str, Any]) -> "tuple[int, Descriptor]":
        there = SchemaRegistry(self.url)
        id = self.registered(body)
        return id, self._message(there, f"/schemas/ids/{id}", there.by_id(id))

    def _text(self, there: SchemaRegistry, names: list[str], types: "StructType") -> str:
        record = self.record or re.sub(r"\W", "_", (self.subject or "").removesuffix("-value"))
        try:
            return text_of([types[one] for one in names], record, self._numbers(there, record))
        except NotWritable as error:
            raise OttlaError(f"These rows cannot be written in Protobuf: {error}.") from None

    def _numbers(self, there: SchemaRegistry, record: str) -> dict[str, dict[str, int]]:
        """Of all versions that the subject has had; the last one's word counts."""
        subject, found = self.subject or "", dict[str, dict[str, int]]()
        try:
            versions = there.versions(subject)
        except RegistryRefusal as refusal:
            if refusal.status == 404:
                return found
            raise
        for version in versions:
            held = there.version(subject, version)
            if held.kind != PROTOBUF:
                continue
            file = described(there, version_path(subject, version), held.references)
            message: Any = file.message_types_by_name.get(record.rpartition(".")[2])
            for path, given in ({} if message is None else numbers_of(message)).items():
                found[path] = found.get(path, {}) | given
        return found


def _struct(fields: Schema) -> str:
    return f"STRUCT<{', '.join(f'`{field.name}`: {field.type}' for field in fields)}>"


def _row_of(
    fields: Schema,
    message: str,
    column: Callable[[str], str],
    names: list[str],
    types: "StructType",
) -> str:
    """The columns as the message's fields, in its order; OttlaError where they are not."""
    wanted = {field.name: field.type or "" for field in fields}
    if lost := [name for name in names if name not in wanted]:
        raise OttlaError(f"The message {message} has no field {lost[0]}.")
    parts = []
    for name, type in wanted.items():
        if name in names:
            _check_names(name, types[name].dataType, type)
        given = column(name) if name in names else "NULL"
        parts.append(f"{values.quoted(name)}, cast({given} AS {type})")
    return f"named_struct({', '.join(parts)})"


def _check_names(place: str, type: "DataType", wanted: str) -> None:
    """Spark casts structs by the order of their fields: their names must be the same, too."""
    from pyspark.sql.types import StructType

    row = StructType.fromDDL(f"x {wanted}")
    assert isinstance(row, StructType)
    made = row["x"].dataType
    if _names(type) != _names(made):
        said = made.simpleString()
        raise OttlaError(f"{place} is {type.simpleString()}, and {said} in the message.")


def _names(type: "DataType") -> Any:
    from pyspark.sql import types as t

    match type:
        case t.StructType(fields=fields):
            return [(field.name, _names(field.dataType)) for field in fields]
        case t.ArrayType(elementType=element):
            return "array", _names(element)
        case t.MapType(valueType=value):
            return "map", _names(value)
    return None

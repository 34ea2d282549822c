"""What formats share whose records bear the id of a schema in a registry.

Their Java classes make two SQL functions for each registry: `…_of` reads, into a struct of the row,
the reason why there is none and the schema's id; `…_as` writes.
"""

import hashlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self
from urllib.parse import quote

from ottla.client.schema_registry import (
    RegistryRefusal,
    SchemaRegistry,
    Stored,
    named_url,
    url_of,
)
from ottla.errors import OttlaError
from ottla.pipelines.formats import values
from ottla.pipelines.formats.format import Format, parsed_once
from ottla.pipelines.formats.schema import Field, Schema
from ottla.pipelines.runtime.where import DefinitionError, here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType

IdIn = Literal["value", "header"]
_PROMISES = {
    "NONE": "nothing is promised",
    "BACKWARD": "a new version reads what the last one wrote",
    "FORWARD": "the last version reads what a new one writes",
    "FULL": "a new version and the last one read each other",
    "BACKWARD_TRANSITIVE": "a new version reads what all earlier ones wrote",
    "FORWARD_TRANSITIVE": "all earlier versions read what a new one writes",
    "FULL_TRANSITIVE": "a new version and all earlier ones read each other",
}
_KEY_JSON = (
    "map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\", 'ignoreNullFields', 'false')"
)


def read_file(path: str) -> str:
    """The text of a schema; a DefinitionError where it cannot be read."""
    try:
        with open(path) as file:
            return file.read()
    except OSError as error:
        raise DefinitionError(here(), f"{path} cannot be read: {error.strerror}.") from None


@dataclass(frozen=True)
class Registered(Format):
    subject: str | None = None
    version: int | None = None
    fixed: tuple[str, ...] = ()  # the text of a file
    record: str | None = None  # the name of what is written
    id_column: str | None = None
    id_in: IdIn = "value"
    registry: str = ""  # its URL, where that was said
    at: str = "value"  # or the key
    held: tuple[int, int] | None = None  # version and id of what is read with
    level: str = ""  # of the subject, where it is read

    java: ClassVar[str]
    may_fail = True

    # --- bound to a topic

    def of_topic(self, topic: str, registry: str | None, *, reads: bool) -> Self:
        subject = self.subject or f"{topic}-{self.at}"
        bound = replace(self, subject=subject, registry=named_url(registry))
        return bound.reading() if reads else bound

    @property
    def url(self) -> str:
        """Where the registry is; asked for when it is needed, as a test may bring one."""
        return url_of(self.registry)

    def of_key(self, topic: str, registry: str | None, *, reads: bool) -> Self:
        return replace(self, at="key").of_topic(topic, registry, reads=reads)

    @abstractmethod
    def reading(self) -> Self:
        """With the columns of its schema; OttlaError where it has none."""

    def with_id(self, fields: Schema) -> Schema:
        return fields if self.id_column is None else (*fields, Field(self.id_column, "INT"))

    def prepare(self, spark: "SparkSession") -> None:
        jvm: Any = spark._jvm
        frames = getattr(jvm.ottla, self.java)
        frames.register(spark._jsparkSession, self.function, self.url)

    @property
    def function(self) -> str:
        return f"ottla_{self.name}_{hashlib.sha256(self.url.encode()).hexdigest()[:8]}"

    # --- reading

    @abstractmethod
    def arguments(self) -> Sequence[str]:
        """What its Java class reads with."""

    def decoded(self) -> str:
        """What its Java class makes of the bytes: the row, or the reason why there is none."""
        sent = f"filter(headers, h -> h.key = '__{self.at}_schema_id')[0].value"
        given = ", ".join((self.at, sent, *map(values.quoted, self.arguments())))
        return f"{self.function}_of({given}, '{self.at}')"

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        return parsed_once(self.decoded())

    def parsed_key(self) -> str | None:
        return parsed_once(self.decoded())

    def read(self, field: str, at: str) -> str:
        if at == "key":
            return self.key_text("_parsed_key.row")
        return "_parsed.id" if field == self.id_column else f"_parsed.row.{values.name(field)}"

    def key_text(self, row: str) -> str:
        """A key in Ottla's sense is one value: what has several is JSON."""
        return f"to_json({row}, {_KEY_JSON})"

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        if at == "key":
            return ["WHEN _parsed_key.reason IS NOT NULL THEN _parsed_key.reason"]
        without = "NULL" if is_table else "'the record has no value'"
        return [
            f"WHEN value IS NULL THEN {without}",
            "WHEN _parsed.reason IS NOT NULL THEN _parsed.reason",
        ]

    def read_with(self, there: SchemaRegistry, held: Stored) -> Self:
        """Remembers which version it is, and what the subject's versions promise each other."""
        path = f"/config/{quote(self.subject or '', safe='')}"
        try:
            level = str(there.ask("GET", path, {"defaultToGlobal": "true"})["compatibilityLevel"])
        except (RegistryRefusal, KeyError):
            level = ""
        return replace(self, held=(held.version, held.id), level=level)

    def schema_in_words(self) -> str | None:
        if self.held is None:
            return f"{self.subject}"
        told = f", {self.level}: {_PROMISES[self.level]}" if self.level in _PROMISES else ""
        return f"{self.subject} version {self.held[0]} (id {self.held[1]}){told}"

    # --- writing

    @abstractmethod
    def text(self, columns: list[str], types: "StructType") -> Mapping[str, Any]:
        """What is registered for rows of these types."""

    def id_header(self, columns: list[str], types: "StructType") -> tuple[str, str] | None:
        if self.id_in == "value":
            return None
        return self._header(self.text(columns, types), self.behind_guid(columns, types))

    @abstractmethod
    def key_body(self, type: "DataType") -> Mapping[str, Any]:
        """What is registered for keys of this type."""

    def key_header(self, type: "DataType") -> tuple[str, str] | None:
        if self.id_in == "value":
            return None
        return self._header(self.key_body(type), self.behind_key_guid(type))

    def _header(self, body: Mapping[str, Any], behind: bytes) -> tuple[str, str]:
        self.registered(body)
        path = f"/subjects/{quote(self.subject or '', safe='')}"
        found = SchemaRegistry(self.url).ask("POST", path, {}, body)
        if "guid" not in found:
            raise OttlaError("This registry gives schemas no GUID, so no header can bear it.")
        guid = found["guid"].replace("-", "")
        return f"__{self.at}_schema_id", f"X'01{guid}{behind.hex()}'"

    def behind_guid(self, columns: list[str], types: "StructType") -> bytes:
        return b""

    def behind_key_guid(self, type: "DataType") -> bytes:
        return b""

    def names(self, columns: list[str]) -> list[str]:
        """Of what is written: the id that a record came with is not."""
        return [one for one in columns if one != self.id_column]

    def registered(self, body: Mapping[str, Any]) -> int:
        """The id of a schema that is the subject's from now on."""
        try:
            return SchemaRegistry(self.url).register(self.subject or "", body)
        except RegistryRefusal as refusal:
            raise OttlaError(f"{self.subject} does not take this schema: {refusal}") from None

    # --- sameness

    def in_words(self) -> str:
        return f"{self.name}({self._said()})"

    def described(self) -> dict[str, Any]:
        """A newer version of the same subject is no other format: columns that are used stay."""
        return {"name": self.name, "schema": [], "column": self.column, "of": self._said()}

    def _said(self) -> str:
        if self.fixed:
            digest = hashlib.sha256(self.fixed[0].encode()).hexdigest()[:12]
            return f"{self.subject} {digest}"
        return self.subject or "" if self.version is None else f"{self.subject} {self.version}"

"""What a format is: it decodes records, encodes rows, and says whether a record may fail to.

Everything here is SQL over Kafka's columns `key`, `value` and `headers`, so that both of Spark's
engines run it. A format that makes several columns parses a record once, into the struct `_parsed`.
Which formats there are is written down in `formats` itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ottla.errors import OttlaError
from ottla.pipelines.formats.schema import Schema
from ottla.pipelines.runtime.where import DefinitionError, Where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructType


@dataclass(frozen=True)
class Format(ABC):
    """How bytes become columns, and columns bytes."""

    schema: Schema = ()

    name: ClassVar[str]
    may_fail: ClassVar[bool] = False  # whether there are bytes that it cannot decode

    @property
    def column(self) -> str:
        """What a format of one column calls it."""
        return "value"

    def of_topic(self, topic: str, registry: str | None, *, reads: bool) -> "Format":
        """The format for a topic that is read or written; OttlaError where it cannot be had.

        `registry` is that of the application's schemas, where it has said so.
        """
        return self

    def of_key(self, topic: str, registry: str | None, *, reads: bool) -> "Format":
        """The same for the keys of the topic's records."""
        return self

    def prepare(self, spark: "SparkSession") -> None:
        """Make the functions known that its SQL calls."""
        return

    def parsed(self, types: "Sequence[StructType]") -> str | None:
        """The struct that a value is parsed into; None when its columns are read from the bytes.

        `types` are those of rows that a stage of the application has written, in this run and in
        earlier ones; there are none where others write the topic.
        """
        return None

    def parsed_key(self) -> str | None:
        """The struct that a key is parsed into, `_parsed_key`; None when it is read from bytes."""
        return None

    @abstractmethod
    def read(self, field: str, at: str) -> str:
        """A field of the record. `at` is where the bytes are: `key` or `value`."""

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        """The cases of a CASE that say why a record does not decode, the first that holds."""
        return []

    @abstractmethod
    def written(self, columns: list[str], types: "StructType") -> str:
        """The record's value, made from the columns of a row of these types."""

    def id_header(self, columns: list[str], types: "StructType") -> tuple[str, str] | None:
        """Name and value (as SQL) of the header that bears the schema's id, where one does."""
        return None

    def written_key(self, sql: str, type: "DataType") -> str:
        """A record's key, made from an expression of this type."""
        raise OttlaError(f"{self.name}() writes no keys.")

    def key_header(self, type: "DataType") -> tuple[str, str] | None:
        """As `id_header`, of a key."""
        return None

    def beside(self, columns: list[str], types: "StructType") -> str | None:
        """What of the row the value cannot hold, for a header, where a later stage reads it."""
        return None

    def schema_in_words(self) -> str | None:
        """Which schema it is, for people, where a registry has it."""
        return None

    def why_not_read(self) -> str | None:
        """What is missing for reading records in this format; None when nothing is."""
        return None

    def why_no_key(self) -> str | None:
        """Why the keys of records cannot be read in it; None when they can."""
        return None

    def in_words(self) -> str:
        """As a manifest tells it. What earlier releases have written down must stay the same."""
        return f"{self.name}({', '.join(f'{field.name} {field.type}' for field in self.schema)})"

    def described(self) -> dict[str, Any]:
        """As plain data, by which sameness is told; earlier releases' must stay the same, too."""
        schema = [asdict(field) for field in self.schema]
        return {"name": self.name, "schema": schema, "column": self.column}


@dataclass(frozen=True)
class OneColumn(Format):
    """A format whose bytes are one value, and so a key as well."""

    @property
    def column(self) -> str:
        return self.schema[0].name

    def read(self, field: str, at: str) -> str:
        return self.decoded(at)

    def written(self, columns: list[str], types: "StructType") -> str:
        return self.encoded(f"`{self.column}`")

    def written_key(self, sql: str, type: "DataType") -> str:
        return self.encoded(sql)

    @staticmethod
    @abstractmethod
    def decoded(sql: str) -> str:
        """The value from its bytes."""

    @staticmethod
    @abstractmethod
    def encoded(sql: str) -> str:
        """The bytes of a value."""


def bound(format: Format, topic: str, registry: str | None, where: Where, *, reads: bool) -> Format:
    """The format for a topic; a DefinitionError where it cannot be had."""
    try:
        return format.of_topic(topic, registry, reads=reads)
    except OttlaError as error:
        raise DefinitionError(where, str(error)) from None


def bound_key(
    format: Format, topic: str, registry: str | None, where: Where, *, reads: bool
) -> Format:
    """The format for the keys of a topic; a DefinitionError where it cannot be had."""
    if why := format.why_no_key():
        raise DefinitionError(where, why)
    try:
        return format.of_key(topic, registry, reads=reads)
    except OttlaError as error:
        raise DefinitionError(where, str(error)) from None


def parsed_once(parsing: str) -> str:
    """The expression in a form that Spark evaluates once for each row.

    The optimizer copies a deterministic expression into every filter above it, and each copy would
    parse the record again. It leaves alone what may differ from one task to the next.
    """
    return f"if(spark_partition_id() >= 0, {parsing}, NULL)"

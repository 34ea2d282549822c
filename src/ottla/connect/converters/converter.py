"""What every converter does."""

from abc import ABC, abstractmethod
from typing import Any, Protocol

from ottla.connect.data import Schema
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.validators import one_of

SchemaAndValue = tuple[Schema | None, Any]


TYPE = Definitions(
    (
        Key(
            name="converter.type",
            kind=Kind.STRING,
            importance="LOW",
            doc="Whether keys, values or headers are converted.",
            validator=one_of("key", "value", "header"),
        ),
    )
)


class HeaderConverter(Protocol):
    def from_header(
        self, topic: str, name: str, schema: Schema | None, value: Any
    ) -> bytes | None: ...

    def to_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue: ...


class Converter(HeaderConverter, Protocol):
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None: ...

    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue: ...


class DataConverter(ABC):
    """One that treats headers as it treats keys and values."""

    def from_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect(topic, schema, value)

    def to_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        return self.to_connect(topic, data)

    @abstractmethod
    def from_connect(self, topic: str, schema: Schema | None, value: Any) -> bytes | None: ...

    @abstractmethod
    def to_connect(self, topic: str, data: bytes | None) -> SchemaAndValue: ...

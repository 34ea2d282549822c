"""What every transform does, and the half of a record that `$Key` and `$Value` work on."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

from ottla.connect.data import DataError, Record, Schema, Struct, java_class


class Transform(Protocol):
    def apply(self, record: Record) -> Record | None:
        """None: the record is filtered."""


class Operand:
    """The key or the value of a record."""

    def __init__(self, *, key: bool) -> None:
        self.key = key

    def schema(self, record: Record) -> Schema | None:
        return record.key_schema if self.key else record.value_schema

    def value(self, record: Record) -> Any:
        return record.key if self.key else record.value

    def replaced(self, record: Record, schema: Schema | None, value: Any) -> Record:
        if self.key:
            return replace(record, key_schema=schema, key=value)
        return replace(record, value_schema=schema, value=value)


def need_map(value: Any, purpose: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DataError(
            "Only Map objects supported in absence of schema for "
            f"[{purpose}], found: {_found(value)}"
        )
    return value


def need_struct(value: Any, purpose: str) -> Struct:
    if not isinstance(value, Struct):
        raise DataError(f"Only Struct objects supported for [{purpose}], found: {_found(value)}")
    return value


def _found(value: Any) -> str:
    return "null" if value is None else java_class(value)


Settings = Mapping[str, Any]  # parsed by the transform's definitions

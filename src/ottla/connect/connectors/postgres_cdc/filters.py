"""Which tables and columns are captured, and their keys: lists of regular expressions. Pure.

As Debezium: an expression matches the whole name, in any case, and include and exclude lists of one
kind exclude each other.
"""

import re
from dataclasses import dataclass, field
from typing import Final

_BUILT_IN: Final = ("pg_catalog", "information_schema", "pg_toast", "pg_temp")
_SEPARATOR: Final = re.compile(r"(?<!\\),")


def expressions(text: str) -> tuple[str, ...]:
    """Comma-separated; a comma within an expression is written `\\,`."""
    return tuple(one.strip().replace("\\,", ",") for one in _SEPARATOR.split(text) if one.strip())


def matches(expressions: tuple[str, ...], name: str) -> bool:
    return any(re.fullmatch(one, name, re.IGNORECASE) for one in expressions)


@dataclass(frozen=True, slots=True)
class Choice:
    """An include and an exclude list of one kind."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __contains__(self, name: str) -> bool:
        if self.include:
            return matches(self.include, name)
        return not matches(self.exclude, name)


@dataclass(frozen=True, slots=True)
class Filters:
    schemas: Choice = field(default_factory=Choice)
    tables: Choice = field(default_factory=Choice)
    columns: Choice = field(default_factory=Choice)
    keys: tuple[tuple[str, tuple[str, ...]], ...] = ()  # a table's expression, its key's columns

    def captures(self, schema: str, table: str) -> bool:
        if schema.startswith(_BUILT_IN):
            return False
        return schema in self.schemas and f"{schema}.{table}" in self.tables

    def captures_column(self, schema: str, table: str, column: str) -> bool:
        return f"{schema}.{table}.{column}" in self.columns

    def key(self, schema: str, table: str) -> tuple[str, ...] | None:
        """Named by message.key.columns; None: the table's own."""
        name = f"{schema}.{table}"
        chosen = [
            column for one, columns in self.keys if matches((one,), name) for column in columns
        ]
        return tuple(chosen) or None

    def order(self, schema: str, table: str) -> tuple[int, str]:
        """Tables of a snapshot: as the include list has them, then by name."""
        name = f"{schema}.{table}"
        at = (n for n, one in enumerate(self.tables.include) if matches((one,), name))
        return next(at, 0), name


def key_columns(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """message.key.columns: `inventory.customers:pk1,pk2;(.*).orders:pk3`."""
    keys = []
    for entry in filter(None, (one.strip() for one in text.split(";"))):
        table, colon, columns = entry.partition(":")
        names = tuple(one.strip() for one in columns.split(",") if one.strip())
        if not colon or not table or not names:
            raise ValueError(f"{entry} is not of the form table:column,column")
        keys.append((table, names))
    return tuple(keys)

"""Lists of regular expressions that choose tables and columns. Pure.

As Debezium: an expression matches the whole name, in any case, and include and exclude lists of one
kind exclude each other.
"""

import re
from dataclasses import dataclass
from typing import Final

_SEPARATOR: Final = re.compile(r"(?<!\\),")
KeyColumns = tuple[tuple[str, tuple[str, ...]], ...]  # a table's expression, its key's columns


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


def key_columns(text: str) -> KeyColumns:
    """message.key.columns: `inventory.customers:pk1,pk2;(.*).orders:pk3`."""
    keys = []
    for entry in filter(None, (one.strip() for one in text.split(";"))):
        table, colon, columns = entry.partition(":")
        names = tuple(one.strip() for one in columns.split(",") if one.strip())
        if not colon or not table or not names:
            raise ValueError(f"{entry} is not of the form table:column,column")
        keys.append((table, names))
    return tuple(keys)


def chosen_key(keys: KeyColumns, table: str) -> tuple[str, ...] | None:
    """Named by message.key.columns; None: the table's own."""
    chosen = [column for one, columns in keys if matches((one,), table) for column in columns]
    return tuple(chosen) or None


def order(tables: Choice, table: str) -> tuple[int, str]:
    """Tables of a snapshot: as the include list has them, then by name."""
    at = (n for n, one in enumerate(tables.include) if matches((one,), table))
    return next(at, 0), table

"""Which of a database's tables are read, and by which task. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.jdbc.dialects.dialect import TableId
from ottla.connect.definitions import InvalidConfig


@dataclass(frozen=True, slots=True)
class Selection:
    whitelist: frozenset[str]
    blacklist: frozenset[str]
    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]

    def names(self, table: TableId) -> bool:
        """Somebody asked for this very table: it must not be missed in silence."""
        return bool(_names(table) & self.whitelist)

    def takes(self, table: TableId) -> bool:
        if self.whitelist and not self.names(table):
            return False
        if _names(table) & self.blacklist:
            return False
        full = str(table)
        if self.include and not any(one.fullmatch(full) for one in self.include):
            return False
        return not any(one.fullmatch(full) for one in self.exclude)

    def of(self, tables: Iterable[TableId]) -> list[TableId]:
        """ConnectError: two of them would share a topic."""
        taken = [one for one in tables if self.takes(one)]
        by_name: dict[str, TableId] = {}
        for one in taken:
            other = by_name.setdefault(one.name, one)
            if other != one:
                raise ConnectError(
                    f"{other} and {one} would be written to the same topic, which has only the"
                    " table's name: say which one is meant in table.whitelist or schema.pattern"
                )
        return taken


def _names(table: TableId) -> set[str]:
    """A table by itself, and with what it stands in."""
    parts = [part for part in table if part]
    return {".".join(parts[at:]) for at in range(len(parts))}


def selection(values: Mapping[str, Any]) -> Selection:
    """InvalidConfig where the lists contradict each other or the query."""
    lists = ("table.whitelist", "table.blacklist", "table.include.list", "table.exclude.list")
    given = [name for name in lists if values[name]]
    errors: dict[str, list[str]] = {}
    if values["query"] and given:
        errors["query"] = [f"query and {', '.join(given)} exclude each other: a query names tables"]
    if {"table.whitelist", "table.blacklist"} <= set(given):
        errors["table.blacklist"] = ["table.whitelist and table.blacklist exclude each other"]
    patterns: dict[str, tuple[re.Pattern[str], ...]] = {}
    for name in lists[2:]:
        try:
            patterns[name] = tuple(re.compile(one, re.IGNORECASE) for one in values[name])
        except re.error as error:
            errors[name] = [f"Invalid value for configuration {name}: {error}"]
    if errors:
        raise InvalidConfig(errors)
    return Selection(
        _plain(values["table.whitelist"]),
        _plain(values["table.blacklist"]),
        patterns["table.include.list"],
        patterns["table.exclude.list"],
    )


def _plain(names: Sequence[str]) -> frozenset[str]:
    return frozenset(one.replace('"', "").replace("`", "") for one in names)


def grouped(tables: Sequence[TableId], maximum: int) -> list[list[TableId]]:
    """As Connect spreads partitions over tasks: neighbours stay together."""
    count = min(len(tables), maximum)
    groups, at = [], 0
    for number in range(count):
        size = len(tables) // count + (1 if number < len(tables) % count else 0)
        groups.append(list(tables[at : at + size]))
        at += size
    return groups

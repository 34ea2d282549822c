"""Which databases, tables and columns are captured, and their keys. Pure."""

from dataclasses import dataclass, field
from typing import Final

from ottla.connect.connectors.debezium.filters import Choice, KeyColumns, chosen_key, order
from ottla.connect.connectors.mysql_cdc.tables import TableId

BUILT_IN: Final = frozenset(["mysql", "performance_schema", "sys", "information_schema"])


@dataclass(frozen=True, slots=True)
class Filters:
    databases: Choice = field(default_factory=Choice)
    tables: Choice = field(default_factory=Choice)
    columns: Choice = field(default_factory=Choice)
    keys: KeyColumns = ()

    def captures_database(self, database: str) -> bool:
        return database.lower() not in BUILT_IN and database in self.databases

    def captures(self, id: TableId) -> bool:
        return self.captures_database(id.database) and str(id) in self.tables

    def captures_column(self, id: TableId, column: str) -> bool:
        return f"{id}.{column}" in self.columns

    def key(self, id: TableId) -> tuple[str, ...] | None:
        """Named by message.key.columns; None: the table's own."""
        return chosen_key(self.keys, str(id))

    def order(self, id: TableId) -> tuple[int, str]:
        return order(self.tables, str(id))

"""Which tables and columns are captured, and their keys. Pure."""

from dataclasses import dataclass, field
from typing import Final

from ottla.connect.connectors.debezium.filters import Choice, KeyColumns, chosen_key, order

_BUILT_IN: Final = ("pg_catalog", "information_schema", "pg_toast", "pg_temp")


@dataclass(frozen=True, slots=True)
class Filters:
    schemas: Choice = field(default_factory=Choice)
    tables: Choice = field(default_factory=Choice)
    columns: Choice = field(default_factory=Choice)
    keys: KeyColumns = ()

    def captures(self, schema: str, table: str) -> bool:
        if schema.startswith(_BUILT_IN):
            return False
        return schema in self.schemas and f"{schema}.{table}" in self.tables

    def captures_column(self, schema: str, table: str, column: str) -> bool:
        return f"{schema}.{table}.{column}" in self.columns

    def key(self, schema: str, table: str) -> tuple[str, ...] | None:
        """Named by message.key.columns; None: the table's own."""
        return chosen_key(self.keys, f"{schema}.{table}")

    def order(self, schema: str, table: str) -> tuple[int, str]:
        return order(self.tables, f"{schema}.{table}")

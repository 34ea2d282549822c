"""Tables that a sink writes to: looked up, made and widened as far as the keys allow."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import (
    Column,
    Connection,
    TableId,
    Wanted,
    execute,
)


@dataclass(frozen=True, slots=True)
class KnownTable:
    id: TableId
    columns: dict[str, Column]
    folded: dict[str, Column]  # by small letters

    def column(self, name: str) -> Column | None:
        return self.columns.get(name) or self.folded.get(name.lower())


class Tables:
    """Of one connection; what it knows is forgotten with it."""

    def __init__(self, database: Database, create: bool, evolve: bool) -> None:
        self._database = database
        self._create = create
        self._evolve = evolve
        self._known: dict[str, KnownTable] = {}

    def fitting(
        self, connection: Connection, name: str, wanted: Sequence[Wanted]
    ) -> tuple[TableId, list[Column]]:
        """The table and its columns for these fields, in their order. Ends no transaction that
        wrote anything: it is called before one begins."""
        known = self._known.get(name) or self._read(connection, name)
        while any(known.column(one.name) is None for one in wanted):  # some add one at a time
            known = self._changed(connection, name, wanted)
        columns = [known.column(one.name) for one in wanted]
        return known.id, [one for one in columns if one is not None]

    def exists(self, connection: Connection, name: str) -> bool:
        return name in self._known or bool(self._read(connection, name).columns)

    def _read(self, connection: Connection, name: str) -> KnownTable:
        dialect = self._database.dialect
        table = dialect.table_id(connection, name)
        columns = dialect.columns(connection, table)
        folded = {one.name.lower(): one for one in columns}
        known = KnownTable(table, {one.name: one for one in columns}, folded)
        if columns:
            self._known[name] = known
        return known

    def _changed(self, connection: Connection, name: str, wanted: Sequence[Wanted]) -> KnownTable:
        known = self._read(connection, name)  # somebody else may have been faster
        missing = [one for one in wanted if known.column(one.name) is None]
        if not missing:
            return known
        sql = self._created(known, wanted) if not known.columns else self._widened(known, missing)
        dialect = self._database.dialect
        cursor = connection.cursor()
        try:
            execute(dialect, cursor, sql)
            connection.commit()
        except dialect.errors:
            connection.rollback()
            changed = self._read(connection, name)
            if any(changed.column(one.name) is None for one in missing):
                raise
            return changed
        finally:
            cursor.close()
        return self._read(connection, name)

    # Statements

    def _created(self, known: KnownTable, wanted: Sequence[Wanted]) -> str:
        if not self._create:
            raise ConnectError(f"Table {known.id} does not exist, and auto.create is off")
        lines = [self._column(one) for one in wanted]
        keys = [self._database.dialect.quote(one.name) for one in wanted if one.key]
        if keys:
            lines.append(f"PRIMARY KEY ({', '.join(keys)})")
        return f"CREATE TABLE {self._database.name(known.id)} ({', '.join(lines)})"

    def _widened(self, known: KnownTable, missing: Sequence[Wanted]) -> str:
        names = ", ".join(one.name for one in missing)
        if not self._evolve:
            raise ConnectError(f"Table {known.id} has no column {names}, and auto.evolve is off")
        needed = [one for one in missing if not one.schema.optional and one.schema.default is None]
        if needed:
            raise ConnectError(
                f"Table {known.id} lacks {names}, but a field that is neither optional nor has a"
                " default cannot be added: what would older rows hold?"
            )
        table = self._database.name(known.id)
        if self._database.target.dialect == "sqlite":  # takes one at a time
            missing = missing[:1]
        added = ", ".join(f"ADD COLUMN {self._column(one)}" for one in missing)
        return f"ALTER TABLE {table} {added}"

    def _column(self, one: Wanted) -> str:
        dialect = self._database.dialect
        try:
            kind = dialect.column_type(one.schema, one.key)
        except ValueError as error:
            raise ConnectError(f"Field {one.name} cannot be written: {error}") from None
        literal = _literal(one.schema.default)
        default = f" DEFAULT {literal}" if literal and kind != "TEXT" else ""
        required = one.key or not one.schema.optional
        return f"{dialect.quote(one.name)} {kind}{default}{' NOT NULL' if required else ''}"


def _literal(default: Any) -> str | None:
    match default:
        case bool():
            return "TRUE" if default else "FALSE"
        case int() | float() | Decimal():
            return str(default)
        case str():
            return "'" + default.replace("'", "''") + "'"
    return None

"""Tables and types as PostgreSQL's catalog describes them now."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from psycopg2.extensions import connection as Connection

from ottla.connect.connectors.postgres_cdc.filters import Filters
from ottla.connect.connectors.postgres_cdc.protocol import Relation
from ottla.connect.connectors.postgres_cdc.tables import Column, PgType, Table

_TYPES: Final = """
SELECT t.oid, t.typname, t.typtype, t.typbasetype, t.typtypmod,
       CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END,
       array(SELECT enumlabel::text FROM pg_catalog.pg_enum
             WHERE enumtypid = t.oid ORDER BY enumsortorder)
FROM pg_catalog.pg_type t"""
_COLUMNS: Final = """
SELECT a.attname, a.atttypid, a.atttypmod, NOT a.attnotnull,
       CASE WHEN a.attgenerated = '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid) END
FROM pg_catalog.pg_attribute a
LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum"""
# The primary key, or else the first unique index by name.
_KEY: Final = """
SELECT array(SELECT a.attname::text
             FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
             JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE k.n <= i.indnkeyatts ORDER BY k.n)
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
WHERE i.indrelid = %s AND i.indisunique AND i.indexprs IS NULL AND i.indpred IS NULL
ORDER BY NOT i.indisprimary, c.relname LIMIT 1"""
_TABLES: Final = """
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.relpersistence = 'p'"""


class TableName(NamedTuple):
    oid: int
    schema: str
    name: str


class _Type(NamedTuple):
    name: str
    kind: str
    base: int
    modifier: int
    element: int
    labels: Sequence[str]


@dataclass(slots=True)
class Catalog:
    connection: Connection
    _types: dict[int, _Type] = field(default_factory=dict)

    def tables(self, filters: Filters) -> list[TableName]:
        """Those that are captured, in the order of a snapshot."""
        found = [TableName(*row) for row in self._rows(_TABLES)]
        captured = [one for one in found if filters.captures(one.schema, one.name)]
        return sorted(captured, key=lambda one: filters.order(one.schema, one.name))

    def table(self, of: TableName) -> Table:
        columns = tuple(
            self._column(name, oid, modifier, nullable, default)
            for name, oid, modifier, nullable, default in self._rows(_COLUMNS, of.oid)
        )
        return Table(of.oid, of.schema, of.name, columns, self._key(of.oid))

    def relation(self, relation: Relation) -> Table:
        """A table as the stream says it was; what only the catalog knows is as it is now."""
        now = {name: (nullable, default) for name, _, _, nullable, default in self._now(relation)}
        columns = tuple(
            self._column(
                one.name, one.type_oid, one.type_modifier, *now.get(one.name, (True, None))
            )
            for one in relation.columns
        )
        names = {one.name for one in columns}
        key = tuple(name for name in self._key(relation.oid) if name in names)
        return Table(relation.oid, relation.schema, relation.name, columns, key)

    def _now(self, relation: Relation) -> list[tuple[Any, ...]]:
        return self._rows(_COLUMNS, relation.oid)

    def _column(
        self, name: str, oid: int, modifier: int, nullable: bool, default: str | None
    ) -> Column:
        type_ = self._type(oid)
        if modifier < 0 and type_.domain:
            modifier = type_.modifier
        return Column(name, type_, modifier, nullable, default)

    def _type(self, oid: int) -> PgType:
        if oid not in self._types:
            rows = self._rows(_TYPES)
            self._types = {row[0]: _Type(*row[1:]) for row in rows}
        known = self._types.get(oid)
        if known is None:  # dropped since
            return PgType("unknown")
        if known.kind == "d":
            base = self._type(known.base)
            modifier = known.modifier if known.modifier >= 0 else base.modifier
            return PgType(base.name, modifier, True, base.labels, base.element)
        element = self._type(known.element) if known.element else None
        return PgType(known.name, -1, False, tuple(known.labels), element)

    def _key(self, oid: int) -> tuple[str, ...]:
        rows = self._rows(_KEY, oid)
        return tuple(rows[0][0]) if rows else ()

    def _rows(self, sql: str, *arguments: Any) -> list[tuple[Any, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(sql, arguments or None)
            return list(cursor.fetchall())

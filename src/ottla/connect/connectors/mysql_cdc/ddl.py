"""DDL statements applied to tables: what each changes, in the order in which it does. Pure.

Statements that touch no table leave everything as it is. The words are MariaDB's and MySQL's; what
a definition says beyond columns, keys and character sets is passed over.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from ottla.connect.connectors.mysql_cdc.ddl_columns import (
    END,
    Definition,
    Reading,
    charset_of,
    default,
    definition,
)
from ottla.connect.connectors.mysql_cdc.tables import TEXTS, Column, Table, TableId
from ottla.connect.connectors.mysql_cdc.tokens import identifier, tokens

Kind = Literal["CREATE", "ALTER", "DROP", "TRUNCATE", "DATABASE", "OTHER"]
_INDEXES: Final = ("KEY", "INDEX", "FULLTEXT", "SPATIAL", "FOREIGN", "CHECK", "PERIOD")


@dataclass(frozen=True, slots=True)
class Change:
    """What one statement did to one table, or to a database."""

    kind: Kind
    database: str
    statement: str
    id: TableId | None = None
    table: Table | None = None  # as it is now
    previous: TableId | None = None  # before it was renamed
    others: tuple[TableId, ...] = ()  # of the same database that the statement changed, too


@dataclass(slots=True)
class Schema:
    """All tables whose definitions are known, and what new ones take their character set from."""

    tables: dict[TableId, Table] = field(default_factory=dict)
    database_charsets: dict[str, str] = field(default_factory=dict)
    server_charset: str | None = None
    generation: int = 0  # counts changes, so that what was made of a table can be kept

    def apply(self, sql: str, database: str) -> list[Change]:
        """Empty: the statement is none that changes tables or databases."""
        changes = _together(list(_Statement(self, sql, database).changes()))
        self.generation += bool(changes)
        return changes

    def charset(self, database: str) -> str | None:
        return self.database_charsets.get(database) or self.server_charset


def _together(changes: list[Change]) -> list[Change]:
    """Each with the other tables that its statement names."""
    if len(changes) < 2:
        return changes
    return [
        replace(
            one,
            others=tuple(
                other.id
                for other in changes
                if other.id and other.id != one.id and other.database == one.database
            ),
        )
        for one in changes
    ]


@dataclass(slots=True)
class _Statement:
    schema: Schema
    sql: str
    database: str  # that is used where a name has none
    reading: Reading = field(init=False)

    def changes(self) -> Iterator[Change]:
        self.reading = reading = Reading(tokens(self.sql))
        if reading.accept("SET", "STATEMENT"):
            while reading.next is not END and not reading.accept("FOR"):
                reading.skip_one()
        match reading.take().upper:
            case "CREATE":
                yield from self._create()
            case "ALTER":
                yield from self._alter()
            case "DROP":
                yield from self._drop()
            case "RENAME" if reading.accept_any("TABLE", "TABLES"):
                yield from self._rename()
            case "TRUNCATE":
                reading.accept("TABLE")
                id = self._id()
                yield self._change("TRUNCATE", id, self.schema.tables.get(id))
            case "SET":
                yield from self._set()
            case "USE":
                yield Change("DATABASE", reading.name(), self._text)

    def _id(self) -> TableId:
        name = self.reading.name()
        if self.reading.accept("."):
            return TableId(name, self.reading.name())
        return TableId(self.database, name)

    def _change(
        self,
        kind: Kind,
        id: TableId,
        table: Table | None = None,
        previous: TableId | None = None,
        statement: str | None = None,
    ) -> Change:
        return Change(kind, id.database, statement or self._text, id, table, previous)

    @property
    def _text(self) -> str:
        """The statement without what stands around it: comments, a semicolon."""
        said = [one for one in self.reading.tokens if one.upper != ";"]
        return self.sql[said[0].start : said[-1].end] if said else self.sql

    def _between(self, first: int, end: int) -> str:
        """The text from one token up to another one, blanks before that included."""
        found = self.reading.tokens
        until = found[end].start if end < len(found) else len(self.sql)
        return self.sql[found[first].start : until]

    # CREATE

    def _create(self) -> Iterator[Change]:
        reading = self.reading
        reading.accept("OR", "REPLACE")
        if reading.accept("TEMPORARY"):
            return
        if reading.accept("TABLE"):
            yield from self._create_table()
        elif reading.accept_any("DATABASE", "SCHEMA"):
            reading.accept("IF", "NOT", "EXISTS")
            yield from self._database(reading.name())
        elif reading.accept("UNIQUE", "INDEX"):
            yield from self._unique_index()
        elif any(one.upper == "VIEW" for one in reading.tokens[:20]):
            while not reading.accept("VIEW"):
                reading.take()
            yield self._change("CREATE", self._id())

    def _create_table(self) -> Iterator[Change]:
        reading = self.reading
        reading.accept("IF", "NOT", "EXISTS")
        id = self._id()
        if id in self.schema.tables:
            return
        liked = reading.accept("LIKE") or reading.accept("(", "LIKE")
        if liked:
            original = self.schema.tables.get(self._id())
            made = None if original is None else replace(original, id=id, comment=None)
        else:
            made = self._defined(id)
        if made is not None:
            self.schema.tables[id] = made
            yield self._change("CREATE", id, made)

    def _defined(self, id: TableId) -> Table | None:
        reading = self.reading
        if not reading.accept("("):
            return None  # of a SELECT: servers write its columns into the binlog
        begun = reading.at
        reading.at -= 1
        reading.skip_group()
        table = self._options(Table(id=id, charset=self.schema.charset(id.database)))
        reading.at = begun
        while reading.next is not END and not reading.accept(")"):
            table = self._item(table)
            reading.accept(",")
        return table

    def _options(self, table: Table) -> Table:
        """What follows the columns; the character set is wanted before they are read."""
        reading = self.reading
        while reading.next is not END:
            match reading.take().upper:
                case "CHARSET":
                    reading.accept("=")
                    table = replace(table, charset=reading.name())
                case "CHARACTER" if reading.accept("SET"):
                    reading.accept("=")
                    table = replace(table, charset=reading.name())
                case "COMMENT":
                    reading.accept("=")
                    table = replace(table, comment=identifier(reading.take()))
        return table

    def _item(self, table: Table) -> Table:
        """A column, a key or a constraint."""
        reading = self.reading
        self._constraint()
        if reading.accept("PRIMARY", "KEY"):
            table = self._primary(table)
        elif reading.next.upper == "UNIQUE":
            table = self._unique(table)
        elif reading.next.upper in _INDEXES:
            pass
        else:
            name = reading.name()
            table = _added(table, definition(reading, name, table.charset))
        self._skip()
        return table

    def _constraint(self) -> None:
        """The word before a key or a check, and the name that it may have."""
        named = self.reading.accept("CONSTRAINT")
        if named and self.reading.next.upper not in ("PRIMARY", "UNIQUE", "FOREIGN", "CHECK"):
            self.reading.take()

    def _skip(self) -> None:
        """To the end of an item."""
        reading = self.reading
        while reading.next is not END and reading.next.upper not in (",", ")"):
            reading.skip_one()

    def _primary(self, table: Table) -> Table:
        while self.reading.next is not END and self.reading.next.text != "(":
            self.reading.take()
        names = [self._spelt(table, one) for one in self.reading.names()]
        columns = tuple(
            replace(one, optional=False) if one.name in names else one for one in table.columns
        )
        return replace(table, columns=columns, key=tuple(names))

    def _unique(self, table: Table) -> Table:
        """Stands in for a primary key where there is none."""
        while self.reading.next is not END and self.reading.next.text != "(":
            self.reading.take()
        return _keyed_by(table, self.reading.names())

    def _spelt(self, table: Table, name: str) -> str:
        found = table.column(name)
        return name if found is None else found.name

    def _unique_index(self) -> Iterator[Change]:
        reading = self.reading
        while reading.next is not END and not reading.accept("ON"):
            reading.take()
        id = self._id()
        table = self.schema.tables.get(id)
        if table is None or table.key:
            return
        keyed = _keyed_by(table, reading.names())
        self.schema.tables[id] = keyed
        yield self._change("ALTER", id, keyed)

    def _database(self, name: str) -> Iterator[Change]:
        reading = self.reading
        while reading.next is not END:
            match reading.take().upper:
                case "CHARSET":
                    reading.accept("=")
                    self.schema.database_charsets[name] = reading.name()
                case "CHARACTER" if reading.accept("SET"):
                    reading.accept("=")
                    self.schema.database_charsets[name] = reading.name()
                case "COLLATE":
                    reading.accept("=")
                    self.schema.database_charsets.setdefault(name, charset_of(reading.name()))
        yield Change("DATABASE", name, self._text)

    def _set(self) -> Iterator[Change]:
        reading = self.reading
        while reading.next is not END:
            if reading.take().upper == "CHARACTER_SET_SERVER" and reading.accept("="):
                self.schema.server_charset = reading.name()
        yield Change("DATABASE", "", self._text)

    # DROP, RENAME

    def _drop(self) -> Iterator[Change]:
        reading = self.reading
        if reading.accept("TABLE"):
            reading.accept("IF", "EXISTS")
            prefix = self._between(0, reading.at)
            while reading.next is not END and reading.next.kind in ("word", "name"):
                id = self._id()
                self.schema.tables.pop(id, None)
                yield self._change("DROP", id, statement=f"{prefix}{id.quoted}")
                if not reading.accept(","):
                    break
        elif reading.accept_any("DATABASE", "SCHEMA"):
            reading.accept("IF", "EXISTS")
            name = reading.name()
            for id in [one for one in self.schema.tables if one.database == name]:
                del self.schema.tables[id]
            self.schema.database_charsets.pop(name, None)
            yield Change("DATABASE", name, self._text)

    def _rename(self) -> Iterator[Change]:
        reading = self.reading
        reading.accept("IF", "EXISTS")
        prefix = self._between(0, reading.at)
        while reading.next is not END:
            begun = reading.at
            old = self._id()
            if not reading.accept("TO"):
                return
            new = self._id()
            last = reading.tokens[reading.at - 1]
            statement = prefix + self.sql[reading.tokens[begun].start : last.end]
            moved = self._moved(old, new)
            if moved is not None:
                yield self._change("ALTER", new, moved, old, statement)
            if not reading.accept(","):
                return

    def _moved(self, old: TableId, new: TableId) -> Table | None:
        table = self.schema.tables.pop(old, None)
        if table is None:
            return None
        moved = replace(table, id=new)
        self.schema.tables[new] = moved
        return moved

    # ALTER

    def _alter(self) -> Iterator[Change]:
        reading = self.reading
        while reading.accept_any("ONLINE", "IGNORE"):
            pass
        if reading.accept_any("DATABASE", "SCHEMA"):
            named = reading.next.upper not in ("CHARACTER", "CHARSET", "COLLATE", "DEFAULT")
            yield from self._database(reading.name() if named else self.database)
        if not reading.accept("TABLE"):
            return
        reading.accept("IF", "EXISTS")
        id = self._id()
        table = self.schema.tables.get(id)
        if table is None:
            return
        while reading.next is not END:
            table = self._specification(table)
            self._skip()
            reading.take()
        if table.id != id:
            del self.schema.tables[id]
        self.schema.tables[table.id] = table
        yield self._change("ALTER", table.id, table)

    def _specification(self, table: Table) -> Table:
        reading = self.reading
        match reading.take().upper:
            case "ADD":
                return self._add(table)
            case "DROP":
                return self._drop_part(table)
            case "MODIFY":
                reading.accept("COLUMN")
                reading.accept("IF", "EXISTS")
                name = self._spelt(table, reading.name())
                return self._redefined(table, name, name)
            case "CHANGE":
                reading.accept("COLUMN")
                reading.accept("IF", "EXISTS")
                old = self._spelt(table, reading.name())
                return self._redefined(table, old, reading.name())
            case "RENAME":
                return self._rename_part(table)
            case "ALTER":
                return self._alter_default(table)
            case "CONVERT" if reading.accept("TO", "CHARACTER", "SET") or reading.accept(
                "TO", "CHARSET"
            ):
                return _converted(table, reading.name())
            case "CHARSET":
                reading.accept("=")
                return replace(table, charset=reading.name())
            case "CHARACTER" if reading.accept("SET"):
                reading.accept("=")
                return replace(table, charset=reading.name())
            case "DEFAULT":
                return self._specification(table)
            case "COMMENT":
                reading.accept("=")
                return replace(table, comment=identifier(reading.take()))
        return table

    def _add(self, table: Table) -> Table:
        reading = self.reading
        self._constraint()
        if reading.accept("PRIMARY", "KEY"):
            return self._primary(table)
        if reading.next.upper == "UNIQUE":
            return self._unique(table)
        if reading.next.upper in (*_INDEXES, "PARTITION", "SYSTEM"):
            return table
        reading.accept("COLUMN")
        reading.accept("IF", "NOT", "EXISTS")
        if not reading.accept("("):
            return self._add_one(table)
        while reading.next is not END and not reading.accept(")"):
            table = self._add_one(table)
            reading.accept(",")
        return table

    def _add_one(self, table: Table) -> Table:
        name = self.reading.name()
        if table.column(name) is not None:
            definition(self.reading, name, table.charset)
            self._place()
            return table  # IF NOT EXISTS
        table = _added(table, definition(self.reading, name, table.charset))
        return _placed(table, name, self._place())

    def _place(self) -> str | None:
        """Behind which column; empty: at the front; None: unsaid."""
        if self.reading.accept("FIRST"):
            return ""
        return self.reading.name() if self.reading.accept("AFTER") else None

    def _redefined(self, table: Table, old: str, new: str) -> Table:
        made = definition(self.reading, new, table.charset)
        place = self._place()
        if table.column(old) is None:
            return table
        made.column = replace(made.column, optional=made.column.optional and old not in table.key)
        columns = tuple(made.column if one.name == old else one for one in table.columns)
        key = tuple(new if one == old else one for one in table.key)
        return _placed(_keyed(replace(table, columns=columns, key=key), made), new, place)

    def _drop_part(self, table: Table) -> Table:
        reading = self.reading
        if reading.accept("PRIMARY", "KEY"):
            return replace(table, key=())
        if reading.accept_any("INDEX", "KEY", "FOREIGN", "CONSTRAINT", "CHECK", "PARTITION"):
            return table
        reading.accept("COLUMN")
        reading.accept("IF", "EXISTS")
        name = self._spelt(table, reading.name())
        return replace(
            table,
            columns=tuple(one for one in table.columns if one.name != name),
            key=tuple(one for one in table.key if one != name),
        )

    def _rename_part(self, table: Table) -> Table:
        reading = self.reading
        if reading.accept_any("INDEX", "KEY"):
            return table
        if reading.accept("COLUMN"):
            old = self._spelt(table, reading.name())
            reading.accept("TO")
            new = reading.name()
            columns = tuple(
                replace(one, name=new) if one.name == old else one for one in table.columns
            )
            return replace(
                table,
                columns=columns,
                key=tuple(new if one == old else one for one in table.key),
            )
        reading.accept_any("TO", "AS")
        return replace(table, id=self._id())

    def _alter_default(self, table: Table) -> Table:
        reading = self.reading
        if reading.next.upper in ("INDEX", "KEY"):
            return table
        reading.accept("COLUMN")
        reading.accept("IF", "EXISTS")
        name = self._spelt(table, reading.name())
        without = {"has_default": False, "default": None}

        def altered(column: Column) -> Column:
            plain = replace(column, **without)  # type: ignore[arg-type]
            return default(reading, plain) if reading.accept("SET", "DEFAULT") else plain

        columns = tuple(altered(one) if one.name == name else one for one in table.columns)
        return replace(table, columns=columns)


def _added(table: Table, made: Definition) -> Table:
    return _keyed(replace(table, columns=(*table.columns, made.column)), made)


def _keyed(table: Table, made: Definition) -> Table:
    if made.primary or (made.unique and not table.key):
        return replace(table, key=(made.column.name,))
    return table


def _keyed_by(table: Table, names: tuple[str, ...]) -> Table:
    columns = [table.column(one) for one in names]
    if table.key or any(one is None or one.optional for one in columns):
        return table
    return replace(table, key=tuple(one.name for one in columns if one is not None))


def _placed(table: Table, name: str, behind: str | None) -> Table:
    if behind is None:
        return table
    moved = table.column(name)
    assert moved is not None
    rest = [one for one in table.columns if one.name != name]
    folded = behind.lower()
    at = next((n + 1 for n, one in enumerate(rest) if one.name.lower() == folded), 0)
    return replace(table, columns=(*rest[:at], moved, *rest[at:]))


def _converted(table: Table, charset: str) -> Table:
    columns = tuple(
        replace(one, charset=charset) if one.jdbc_type in TEXTS else one for one in table.columns
    )
    return replace(table, columns=columns, charset=charset)

"""What databases do differently, and the words all of them are described with."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from ottla.connect.connector import ConnectError
from ottla.connect.connectors.jdbc.url import Target
from ottla.connect.data import Schema
from ottla.connect.runs.fields import FieldColumn

if TYPE_CHECKING:
    import pyarrow

Connection = Any  # DB-API's
MARK = "\0"  # where a statement has a parameter: no name and no query of a user's holds it
Read = Callable[[Any], Any]


class TableId(NamedTuple):
    catalog: str | None
    schema: str | None
    name: str

    def __str__(self) -> str:
        return ".".join(part for part in self if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    type: str  # as the database names it, without length, in small letters
    nullable: bool = True
    precision: int | None = None  # of numbers; of bits their length, of times a second's digits
    scale: int | None = None
    unsigned: bool = False
    auto_increment: bool = False
    key: bool = False  # of the primary key
    has_default: bool = False
    declared: str = ""  # the whole type, as a cast has it


class Wanted(NamedTuple):
    """A column to be made for a field."""

    name: str
    schema: Schema
    key: bool


def execute(dialect: "Dialect", cursor: Any, sql: str, parameters: Sequence[Any] = ()) -> Any:
    """The statement as its driver wants it; returns the cursor."""
    if dialect.paramstyle == "qmark":
        cursor.execute(sql.replace(MARK, "?"), tuple(parameters))
    elif parameters:
        cursor.execute(sql.replace("%", "%%").replace(MARK, "%s"), tuple(parameters))
    else:
        cursor.execute(sql)
    return cursor


def fetched(
    dialect: "Dialect", connection: Connection, sql: str, parameters: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """A short answer, and the end of the transaction that asked for it."""
    cursor = connection.cursor()
    try:
        rows = list(execute(dialect, cursor, sql, parameters).fetchall())
    finally:
        cursor.close()
    connection.commit()
    return rows


class OpenTransactions(Protocol):
    """Who may still commit rows that belong before those that are seen already."""

    def writers(self, connection: Connection, table: TableId | None) -> frozenset[str]:
        """Transactions that may have taken a number of the table's already; None: of any table."""

    def still_open(self, connection: Connection, transactions: Collection[str]) -> bool: ...

    def oldest(self, connection: Connection) -> datetime:
        """No open transaction began before it: no row that is still to come has an earlier time."""


class Dialect(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def paramstyle(self) -> str:
        """DB-API's: format, qmark."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What the driver raises."""

    @property
    def open_transactions(self) -> OpenTransactions | None: ...

    # Connections and what becomes of them

    def check(self, target: Target) -> None:
        """ValueError for a property of the URL that is not served."""

    def connect(self, target: Target) -> Connection:
        """Transactions begin by themselves; times are in UTC."""

    def failure(self, error: Exception, target: Target) -> ConnectError:
        """A driver's exception as a sentence; RetriableError where the same may succeed later."""

    def of_a_row(self, error: Exception) -> bool:
        """The database refuses a row: its neighbours may be written."""

    def now(self, connection: Connection) -> datetime: ...

    def begin_writing(self, connection: Connection) -> None:
        """What must come first in a transaction that locks rows."""

    # Names and tables

    def quote(self, identifier: str) -> str: ...

    def table_id(self, connection: Connection, name: str) -> TableId:
        """The table that `name` (perhaps with its schema) means for this connection."""

    def tables(
        self,
        connection: Connection,
        catalog: str | None,
        schema: str | None,
        types: Collection[str],
    ) -> list[TableId]:
        """Patterns are SQL's; system tables are left out."""

    def columns(self, connection: Connection, table: TableId) -> list[Column]:
        """Empty: there is no such table."""

    def query_columns(self, connection: Connection, query: str) -> list[Column]: ...

    # Reading

    def schema(self, column: Column, numeric_mapping: str) -> Schema: ...

    def expression(self, column: Column, quoted: str) -> str:
        """How a column is asked for, so that the driver gives what `reader` takes."""

    def reader(self, column: Column, schema: Schema, zone: ZoneInfo) -> Read: ...

    def rows(
        self, connection: Connection, sql: str, parameters: Sequence[Any], fetch: int
    ) -> Iterator[tuple[Any, ...]]:
        """Never all of them at once in memory."""

    def instant(self, column: Column, quoted: str) -> str:
        """A timestamp column as something whose order is that of time."""

    def bind_instant(self, column: Column, at: datetime, zone: ZoneInfo) -> Any:
        """A parameter to be compared with `instant`."""

    def read_instant(self, column: Column, value: Any, zone: ZoneInfo) -> datetime:
        """What `instant` gave, in UTC."""

    # Writing

    def column_type(self, schema: Schema, key: bool) -> str:
        """Of a new column; ValueError where a schema has none."""

    def writer(self, schema: Schema, column: Column, zone: ZoneInfo) -> Read | None:
        """From a field's value to the driver's; None: it is taken as it is."""

    def insert(
        self, connection: Connection, table: TableId, columns: Sequence[Column], rows: Sequence[Any]
    ) -> None: ...

    def upsert(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None:
        """The first `keys` columns are the key; no key comes twice."""

    def update(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        rows: Sequence[Any],
    ) -> None: ...

    def delete(
        self, connection: Connection, table: TableId, keys: Sequence[Column], rows: Sequence[Any]
    ) -> None: ...


@runtime_checkable
class ByColumns(Protocol):
    """A dialect whose statements take rows a column at a time."""

    def texts(self, field: FieldColumn, column: Column, zone: ZoneInfo) -> "pyarrow.Array":
        """A column as the others take it. What `writer` raises, this does."""

    def may_copy(self, connection: Connection, table: TableId) -> bool:
        """Whether `copy` does what `insert` would, and is allowed."""

    def copy(
        self,
        connection: Connection,
        table: TableId,
        columns: Sequence[Column],
        texts: "Sequence[pyarrow.Array]",
    ) -> None:
        """Faster than `insert`, of rows that are new."""

    def write_columns(
        self,
        connection: Connection,
        mode: str,
        table: TableId,
        columns: Sequence[Column],
        keys: int,
        texts: "Sequence[pyarrow.Array]",
    ) -> None:
        """`insert`, `upsert` or `update`, as they are for rows."""

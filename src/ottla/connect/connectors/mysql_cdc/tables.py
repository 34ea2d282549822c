"""Tables as their DDL defines them, with the words that Debezium keeps of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple


class JdbcType:
    """Numbers of java.sql.Types, as schema histories have them."""

    BIT: Final = -7
    BIGINT: Final = -5
    VARBINARY: Final = -3
    BINARY: Final = -2
    NVARCHAR: Final = -9
    NCHAR: Final = -15
    CHAR: Final = 1
    NUMERIC: Final = 2
    DECIMAL: Final = 3
    INTEGER: Final = 4
    SMALLINT: Final = 5
    FLOAT: Final = 6
    REAL: Final = 7
    DOUBLE: Final = 8
    VARCHAR: Final = 12
    BOOLEAN: Final = 16
    DATE: Final = 91
    TIME: Final = 92
    TIMESTAMP: Final = 93
    OTHER: Final = 1111
    BLOB: Final = 2004
    TIMESTAMP_WITH_TIMEZONE: Final = 2014


TEXTS: Final = frozenset([JdbcType.CHAR, JdbcType.VARCHAR, JdbcType.NCHAR, JdbcType.NVARCHAR])


class TableId(NamedTuple):
    database: str
    name: str

    def __str__(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def quoted(self) -> str:
        """As SQL has it."""
        return f"{quoted(self.database)}.{quoted(self.name)}"

    @property
    def double_quoted(self) -> str:
        """As schema histories have it."""
        return ".".join(f'"{one}"' for one in self)


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    name: str
    jdbc_type: int
    type_name: str  # upper case, with UNSIGNED and ZEROFILL
    charset: str | None = None
    length: int | None = None  # of seconds' digits, too
    scale: int | None = None
    optional: bool = True
    auto_incremented: bool = False
    has_default: bool = False
    default: str | None = None  # None, though it has one: null, or computed
    options: tuple[str, ...] = ()  # of ENUM and SET, in their quotes
    comment: str | None = None

    @property
    def is_text(self) -> bool:
        return self.jdbc_type in TEXTS and self.type_name not in ("ENUM", "SET")

    @property
    def unsigned(self) -> bool:
        return " UNSIGNED" in self.type_name or " ZEROFILL" in self.type_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    id: TableId
    columns: tuple[Column, ...] = ()
    key: tuple[str, ...] = ()  # empty: rows have no key
    charset: str | None = None
    comment: str | None = None

    def column(self, name: str) -> Column | None:
        folded = name.lower()
        return next((one for one in self.columns if one.name.lower() == folded), None)


Tables = Mapping[TableId, Table]

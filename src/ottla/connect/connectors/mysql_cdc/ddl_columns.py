"""Column definitions of CREATE TABLE and ALTER TABLE, as Debezium understands them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ottla.connect.connectors.mysql_cdc.tables import TEXTS, Column, JdbcType
from ottla.connect.connectors.mysql_cdc.tokens import Token, identifier, unquoted

END: Final = Token("end", "", 0, 0)
_WORDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(["CHAR", "CHARACTER", "ENUM", "SET"], JdbcType.CHAR),
    **dict.fromkeys(
        ["VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "LONG"], JdbcType.VARCHAR
    ),
    "NCHAR": JdbcType.NCHAR,
    "NVARCHAR": JdbcType.NVARCHAR,
    **dict.fromkeys(["TINYINT", "INT1", "SMALLINT", "INT2"], JdbcType.SMALLINT),
    **dict.fromkeys(
        ["MEDIUMINT", "INT3", "MIDDLEINT", "INT", "INTEGER", "INT4", "YEAR"], JdbcType.INTEGER
    ),
    **dict.fromkeys(["BIGINT", "INT8", "SERIAL"], JdbcType.BIGINT),
    "REAL": JdbcType.REAL,
    **dict.fromkeys(["DOUBLE", "FLOAT8"], JdbcType.DOUBLE),
    **dict.fromkeys(["FLOAT", "FLOAT4"], JdbcType.FLOAT),
    **dict.fromkeys(["DECIMAL", "DEC", "FIXED"], JdbcType.DECIMAL),
    "NUMERIC": JdbcType.NUMERIC,
    "BIT": JdbcType.BIT,
    "TIME": JdbcType.TIME,
    "TIMESTAMP": JdbcType.TIMESTAMP_WITH_TIMEZONE,
    "DATETIME": JdbcType.TIMESTAMP,
    "DATE": JdbcType.DATE,
    "BINARY": JdbcType.BINARY,
    "VARBINARY": JdbcType.VARBINARY,
    **dict.fromkeys(["BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB"], JdbcType.BLOB),
    **dict.fromkeys(["BOOL", "BOOLEAN"], JdbcType.BOOLEAN),
}
_NUMBERS: Final = frozenset(
    [
        JdbcType.SMALLINT,
        JdbcType.INTEGER,
        JdbcType.BIGINT,
        JdbcType.REAL,
        JdbcType.DOUBLE,
        JdbcType.FLOAT,
        JdbcType.DECIMAL,
        JdbcType.NUMERIC,
    ]
)
_MOMENTS: Final = frozenset(["CURRENT_TIMESTAMP", "NOW"])
_EPOCH: Final = "1970-01-01 00:00:00"


@dataclass(slots=True)
class Reading:
    """Tokens, and how far they have been read."""

    tokens: list[Token]
    at: int = 0

    @property
    def next(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else END

    def take(self) -> Token:
        token = self.next
        self.at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Whether these come next; then they are taken."""
        ahead = self.tokens[self.at : self.at + len(words)]
        if [one.upper for one in ahead] != list(words):
            return False
        self.at += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        return self.take().upper if self.next.upper in words else None

    def name(self) -> str:
        return identifier(self.take())

    def skip_group(self) -> None:
        """A group in parentheses, if one comes next."""
        if self.next.text != "(":
            return
        depth = 0
        while self.next is not END:
            token = self.take()
            depth += (token.upper == "(") - (token.upper == ")")
            if not depth:
                return

    def skip_one(self) -> None:
        if self.next.text == "(" and self.next.kind == "sign":
            self.skip_group()
        else:
            self.at += 1

    def names(self) -> tuple[str, ...]:
        """`(a, b(10) DESC)`: the columns of an index."""
        found = []
        if not self.accept("("):
            return ()
        while self.next is not END and not self.accept(")"):
            found.append(self.name())
            while self.next is not END and self.next.text not in (",", ")"):
                self.skip_one()
            self.accept(",")
        return tuple(found)


@dataclass(slots=True)
class Definition:
    """A column, and what its definition says of the table's key."""

    column: Column
    primary: bool = False
    unique: bool = False


@dataclass(slots=True)
class _Type:
    words: list[str] = field(default_factory=list)
    jdbc_type: int = JdbcType.OTHER
    numbers: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)


def definition(reading: Reading, name: str, charset: str | None) -> Definition:
    """What follows a column's name; `charset` is the table's."""
    type_ = _type(reading)
    column = _column(name, type_)
    made = Definition(column)
    if type_.words[0] == "SERIAL":
        made.column = replace(column, type_name="BIGINT UNSIGNED", auto_incremented=True)
        made.unique = True
        made.column = replace(made.column, optional=False)
    _attributes(reading, made)
    column = made.column
    if column.charset is None and column.jdbc_type in TEXTS:
        column = replace(column, charset=charset)
    # Where nothing is said and null is allowed, null is the default.
    made.column = replace(column, has_default=column.has_default or column.optional)
    return made


def _type(reading: Reading) -> _Type:
    first = reading.take().upper
    type_ = _Type([first])
    if first == "NATIONAL":
        type_.words.append(reading.take().upper)
        first = "N" + ("CHAR" if type_.words[1] == "CHARACTER" else type_.words[1])
    more = {"NCHAR": ("VARCHAR",), "LONG": ("VARBINARY", "VARCHAR")}.get(first, ())
    if word := reading.accept_any("VARYING", "PRECISION", *more):
        type_.words.append(word)
    type_.jdbc_type = _jdbc_type(first, type_.words)
    if reading.next.text == "(":
        _arguments(reading, type_)
    if type_.jdbc_type in _NUMBERS or first == "YEAR":
        while word := reading.accept_any("SIGNED", "UNSIGNED", "ZEROFILL", "PRECISION"):
            type_.words.append(word)
    return type_


def _jdbc_type(first: str, words: list[str]) -> int:
    if "VARYING" in words:
        return JdbcType.NVARCHAR if first == "NCHAR" else JdbcType.VARCHAR
    if words[-1] == "VARBINARY":
        return JdbcType.BLOB if first == "LONG" else JdbcType.VARBINARY
    if words == ["NCHAR", "VARCHAR"]:
        return JdbcType.NVARCHAR
    return _WORDS.get(first, JdbcType.OTHER)


def _arguments(reading: Reading, type_: _Type) -> None:
    reading.take()
    while reading.next is not END and not reading.accept(")"):
        token = reading.take()
        if token.kind == "string":
            type_.options.append(token.text)
        elif token.kind in ("number", "word"):
            type_.numbers.append(token.text)


def _column(name: str, type_: _Type) -> Column:
    numbers = [int(float(one)) for one in type_.numbers if one[0].isdigit()]
    length = min(numbers[0], 2**31 - 1) if numbers else None
    scale = numbers[1] if len(numbers) > 1 else None
    first = type_.words[0]
    charset = None
    match type_.jdbc_type:
        case JdbcType.DECIMAL | JdbcType.NUMERIC:
            length = 10 if length is None else length
            scale = 0 if scale is None else scale
        case JdbcType.BIT:
            length = 1 if length is None else length
        case JdbcType.NCHAR | JdbcType.NVARCHAR:
            charset = "utf8"
            if type_.jdbc_type == JdbcType.NCHAR and length is None:
                length = 1
    if first == "ENUM":
        length = 1
    elif first == "SET":
        length = max(0, 2 * len(type_.options) - 1)
    return Column(
        name=name,
        jdbc_type=type_.jdbc_type,
        type_name=" ".join(type_.words),
        charset=charset,
        length=length,
        scale=scale,
        options=tuple(type_.options),
    )


def _attributes(reading: Reading, made: Definition) -> None:
    """Up to the next column, or to a word that belongs to ALTER TABLE."""
    while reading.next is not END and reading.next.upper not in (",", ")", "FIRST", "AFTER"):
        _attribute(reading, made)


def _attribute(reading: Reading, made: Definition) -> None:
    column = made.column
    match reading.take().upper:
        case "NOT" if reading.accept("NULL"):
            made.column = replace(column, optional=False)
        case "NULL":
            made.column = replace(column, optional=True)
        case "DEFAULT":
            made.column = default(reading, column)
        case "ON" if reading.accept("UPDATE"):  # without a default of the same kind before it
            reading.take()
            reading.skip_group()
            made.column = replace(column, auto_incremented=True)  # Debezium's word for it
        case "AUTO_INCREMENT":
            made.column = replace(column, auto_incremented=True)
        case "UNIQUE":
            reading.accept("KEY")
            made.unique = True
        case "PRIMARY" if reading.accept("KEY"):
            made.primary = True
            made.column = replace(column, optional=False)
        case "KEY":
            made.primary = True
            made.column = replace(column, optional=False)
        case "COMMENT":
            made.column = replace(column, comment=identifier(reading.take()))
        case "CHARSET":
            made.column = replace(column, charset=reading.name())
        case "CHARACTER" if reading.accept("SET"):
            made.column = replace(column, charset=reading.name())
        case "COLLATE":
            collation = reading.name()
            if column.charset is None and column.jdbc_type in TEXTS:
                made.column = replace(column, charset=charset_of(collation))
        case "REFERENCES":
            reading.take()
            if reading.accept("."):
                reading.take()
            reading.skip_group()
        case "(":
            reading.at -= 1
            reading.skip_group()


def charset_of(collation: str) -> str:
    return collation.partition("_")[0].lower()


def default(reading: Reading, column: Column) -> Column:
    """What follows DEFAULT. A value that is computed is a default without an expression."""
    sign = reading.accept_any("-", "+") or ""
    token = reading.take()
    if token.kind == "word" and token.text.startswith("_") and reading.next.kind == "string":
        token = reading.take()  # a character set's introducer
    expression: str | None
    match token.kind, token.upper:
        case _, "NULL":
            expression = None
        case "string", _:
            expression = sign + unquoted(token)
        case "number", _:
            expression = sign + token.text
        case "bits", _:
            expression = token.text[2:-1] if "'" in token.text else token.text
        case "word", "TRUE" | "FALSE":
            expression = token.text
        case "word", word if word in _MOMENTS:
            reading.skip_group()
            if reading.accept("ON", "UPDATE"):
                reading.take()
                reading.skip_group()
            expression = _EPOCH
        case "sign", "(":
            reading.at -= 1
            reading.skip_group()
            expression = None
        case _:
            reading.skip_group()
            expression = None
    return replace(column, has_default=True, default=expression)

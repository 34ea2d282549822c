"""A captured table as records need it: its columns with their types, defaults and key. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PgType:
    """A type with domains resolved; `name` is pg_type's (int4, timestamptz, _text)."""

    name: str
    modifier: int = -1  # of a domain's own type
    domain: bool = False
    labels: tuple[str, ...] = ()  # of an enum
    element: "PgType | None" = None  # of an array


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: PgType
    modifier: int = -1
    nullable: bool = True
    default: str | None = None  # the expression, as the server writes it

    @property
    def length(self) -> int | None:
        """Of bits, and the precision of a numeric; None: not limited."""
        name = self.type.name.removeprefix("_")
        if self.modifier < 0:
            return 1 if name == "bit" else None
        if name == "numeric":
            return ((self.modifier - 4) >> 16) & 0xFFFF
        return self.modifier if name in ("bit", "varbit") else None

    @property
    def scale(self) -> int | None:
        """Digits after the point of a numeric or of a time's seconds; None: not said."""
        if self.modifier < 0:
            return None
        if self.type.name.removeprefix("_") == "numeric":
            return (self.modifier - 4) & 0xFFFF
        return self.modifier


@dataclass(frozen=True, slots=True)
class Table:
    oid: int
    schema: str
    name: str
    columns: tuple[Column, ...]  # as the messages have them
    key: tuple[str, ...]  # names, in the key's order; empty: rows have no key

    @property
    def id(self) -> str:
        return f"{self.schema}.{self.name}"

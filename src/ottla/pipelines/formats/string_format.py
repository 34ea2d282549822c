"""Text: every record can be read, what is no UTF-8 with Spark's replacement characters."""

from dataclasses import dataclass

from ottla.pipelines.formats.format import Format, OneColumn
from ottla.pipelines.formats.schema import Field


def string(column: str = "value") -> Format:
    """UTF-8 text, in one column."""
    return String((Field(column, "STRING"),))


@dataclass(frozen=True)
class String(OneColumn):
    name = "string"

    @staticmethod
    def decoded(sql: str) -> str:
        return f"cast({sql} AS string)"

    @staticmethod
    def encoded(sql: str) -> str:
        return f"cast({sql} AS binary)"

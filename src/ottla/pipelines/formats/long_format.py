"""Whole numbers of eight bytes, as Java's clients write them."""

from dataclasses import dataclass

from ottla.pipelines.formats.format import Format, OneColumn
from ottla.pipelines.formats.schema import Field


def long(column: str = "value") -> Format:
    """Eight bytes, big end first, as Kafka's LongSerializer writes them."""
    return Long((Field(column, "BIGINT"),))


@dataclass(frozen=True)
class Long(OneColumn):
    name = "long"
    may_fail = True

    def reasons(self, at: str, *, is_table: bool) -> list[str]:
        return [f"WHEN length({at}) <> 8 THEN 'the {at} is not eight bytes'"]

    @staticmethod
    def decoded(sql: str) -> str:
        return f"cast(conv(hex({sql}), 16, -10) AS bigint)"

    @staticmethod
    def encoded(sql: str) -> str:
        return f"unhex(lpad(hex(cast({sql} AS bigint)), 16, '0'))"

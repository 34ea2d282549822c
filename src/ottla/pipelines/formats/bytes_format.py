"""Bytes: nothing is decoded, and text is written as it is."""

from dataclasses import dataclass

from ottla.pipelines.formats.format import Format, OneColumn
from ottla.pipelines.formats.schema import Field


def bytes(column: str = "value") -> Format:
    """The bytes as they are, in one column."""
    return Bytes((Field(column, "BINARY"),))


@dataclass(frozen=True)
class Bytes(OneColumn):
    name = "bytes"

    @staticmethod
    def decoded(sql: str) -> str:
        return sql

    @staticmethod
    def encoded(sql: str) -> str:
        return f"cast({sql} AS binary)"

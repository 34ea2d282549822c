"""Defaults of columns in schemas, as Debezium has them."""

from typing import Any

import pytest

from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.defaults import default
from ottla.connect.connectors.mysql_cdc.tables import TableId
from ottla.connect.connectors.mysql_cdc.types import Modes, mapping


def of(definition: str, modes: Modes | None = None) -> Any:
    schema = Schema()
    schema.apply(f"CREATE TABLE t (c {definition})", "shop")
    (column,) = schema.tables[TableId("shop", "t")].columns
    mapped = mapping(column, modes or Modes())
    assert mapped is not None
    return default(column, mapped)


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("int default 7", 7),
        ("bigint default -5", -5),
        ("bigint default 2.5", 3),
        ("bigint default 9007199254740993", 9007199254740992),  # what a double holds
        ("bigint unsigned default 18446744073709551615", 9223372036854775807),
        ("int default null", None),
    ],
)
def test_a_number_is_the_default(definition: str, expected: int | None) -> None:
    assert of(definition) == expected


def test_an_unsigned_bigint_is_exact_where_its_values_are() -> None:
    precise = Modes(bigint_unsigned="precise")
    assert of("bigint unsigned default 18446744073709551615", precise) == 18446744073709551615

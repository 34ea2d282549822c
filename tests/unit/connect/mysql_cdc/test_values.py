"""Values as a binlog has them."""

from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.tables import TableId
from ottla.connect.connectors.mysql_cdc.types import Modes, mapping


def test_zeros_at_the_end_of_a_uuid_are_not_in_the_binlog() -> None:
    schema = Schema()
    schema.apply("CREATE TABLE t (c uuid)", "shop")
    (column,) = schema.tables[TableId("shop", "t")].columns
    mapped = mapping(column, Modes())
    assert mapped is not None
    short = bytes.fromhex("6f1d7b2e0000400080")
    assert mapped.convert(short) == "6f1d7b2e-0000-4000-8000-000000000000"
    assert mapped.convert(short.ljust(15, b"\0") + b"\1") == "6f1d7b2e-0000-4000-8000-000000000001"

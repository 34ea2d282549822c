"""Values as binlogs and snapshots have them."""

from ottla.connect.connectors.mysql_cdc.ddl import Schema
from ottla.connect.connectors.mysql_cdc.tables import TableId
from ottla.connect.connectors.mysql_cdc.types import ColumnMapping, Modes, mapping


def of(kind: str) -> ColumnMapping:
    schema = Schema()
    schema.apply(f"CREATE TABLE t (c {kind})", "shop")
    (column,) = schema.tables[TableId("shop", "t")].columns
    mapped = mapping(column, Modes())
    assert mapped is not None
    return mapped


def test_zeros_at_the_end_of_a_uuid_are_not_in_the_binlog() -> None:
    mapped = of("uuid")
    short = bytes.fromhex("6f1d7b2e0000400080")
    assert mapped.convert(short) == "6f1d7b2e-0000-4000-8000-000000000000"
    assert mapped.convert(short.ljust(15, b"\0") + b"\1") == "6f1d7b2e-0000-4000-8000-000000000001"


def test_a_timestamp_of_a_snapshot_has_no_zeros_at_its_end() -> None:
    mapped = of("timestamp(6)")
    us = 1_854_582_008_798_230
    assert mapped.convert(us) == "2028-10-08T01:40:08.798230Z"
    text = b"2028-10-08 01:40:08.798230"
    assert mapped.convert(mapped.parse(text)) == "2028-10-08T01:40:08.79823Z"

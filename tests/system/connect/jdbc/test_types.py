"""Every type of a column, as a source reads it, and back into a table like the first."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

from ottla.connect.data import Record, Struct
from support.jdbc import Reading, Writing
from support.mariadb import MariaDb
from support.postgres import Postgres

Read = Callable[..., Reading]
Column = tuple[str, str, str, Any]  # name, type, a literal, what it is in Connect

POSTGRES: list[Column] = [
    ("small", "smallint", "-32768", -32768),
    ("whole", "integer", "2147483647", 2147483647),
    ("large", "bigint", "-9223372036854775808", -9223372036854775808),
    ("exact", "numeric(12, 3)", "-123456789.125", Decimal("-123456789.125")),
    ("rough", "real", "0.5", 0.5),
    ("double", "double precision", "0.1", 0.1),
    ("odd", "double precision", "'-Infinity'", float("-inf")),
    ("cash", "money", "'1234.56'", 1234.56),
    ("yes", "boolean", "true", True),
    ("letter", "char(3)", "'é'", "é  "),
    ("short", "varchar(5)", "'a\"\\,b'", 'a"\\,b'),
    ("long", "text", "E'{x}, NULL\\n'", "{x}, NULL\n"),
    ("empty", "text", "''", ""),
    ("null_word", "text", "'NULL'", "NULL"),
    ("raw", "bytea", "'\\x00ff5c22'", b'\x00\xff\\"'),
    ("day", "date", "'2024-02-29'", date(2024, 2, 29)),
    ("clock", "time", "'23:59:59.25'", time(23, 59, 59, 250_000)),
    ("wall", "timestamp", "'2024-01-01 10:00:00.125'",
     datetime(2024, 1, 1, 10, 0, 0, 125_000, UTC)),
    ("instant", "timestamptz", "'2024-01-01 10:00:00.125+02'",
     datetime(2024, 1, 1, 8, 0, 0, 125_000, UTC)),
    ("early", "timestamp", "'0001-01-01 00:00:00'", datetime(1, 1, 1, tzinfo=UTC)),
    ("span", "interval", "'1 day 02:03:04'", "1 day 02:03:04"),
    ("id_of", "uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("doc", "json", "'{\"a\": [1]}'", '{"a": [1]}'),
    ("docb", "jsonb", "'{\"a\": \"\\\"\"}'", '{"a": "\\""}'),
    ("markup", "xml", "'<a/>'", "<a/>"),
    ("flag", "bit(1)", "B'1'", True),
    ("few", "bit(5)", "B'10001'", 17),
    ("many", "varbit", "B'1010'", "1010"),
    ("host", "inet", "'10.0.0.1/8'", "10.0.0.1/8"),
    ("net", "cidr", "'10.0.0.0/8'", "10.0.0.0/8"),
    ("card", "macaddr", "'08:00:2b:01:02:03'", "08:00:2b:01:02:03"),
    ("spot", "point", "'(1,2)'", "(1,2)"),
    ("between", "int4range", "'[1,5)'", "[1,5)"),
    ("words", "tsvector", "'a b'", "'a' 'b'"),
    ("mood", "mood", "'sad'", "sad"),
    ("positive", "positive", "7", 7),
    ("numbers", "integer[]", "'{1,NULL,3}'", [1, None, 3]),
    ("texts", "text[]", "ARRAY['a\"b', 'c,d', NULL, 'NULL']", ['a"b', "c,d", None, "NULL"]),
    ("flags", "boolean[]", "'{t,f}'", [True, False]),
    ("moods", "mood[]", "'{ok,sad}'", ["ok", "sad"]),
    ("object", "oid", "4294967295", 4294967295),
]  # fmt: skip
MARIADB: list[Column] = [
    ("tiny", "tinyint", "-128", -128),
    ("tiny_u", "tinyint unsigned", "255", 255),
    ("yes", "boolean", "true", 1),
    ("small", "smallint", "-32768", -32768),
    ("small_u", "smallint unsigned", "65535", 65535),
    ("middle", "mediumint", "-8388608", -8388608),
    ("whole", "int", "2147483647", 2147483647),
    ("whole_u", "int unsigned", "4294967295", 4294967295),
    ("large", "bigint", "-9223372036854775808", -9223372036854775808),
    ("exact", "decimal(12, 3)", "-123456789.125", Decimal("-123456789.125")),
    ("rough", "float", "0.5", 0.5),
    ("double_", "double", "0.1", 0.1),
    ("letter", "char(3)", "'é'", "é"),
    ("short", "varchar(20)", "'a\\'b%s'", "a'b%s"),
    ("long_", "text", "'x'", "x"),
    ("fixed", "binary(3)", "x'00ff00'", b"\x00\xff\x00"),
    ("raw", "varbinary(10)", "x'00ff'", b"\x00\xff"),
    ("blob_", "blob", "x'5c22'", b'\\"'),
    ("day", "date", "'2024-02-29'", date(2024, 2, 29)),
    ("year_", "year", "2024", date(2024, 1, 1)),
    ("clock", "time(3)", "'23:59:59.25'", time(23, 59, 59, 250_000)),
    ("wall", "datetime(3)", "'2024-01-01 10:00:00.125'",
     datetime(2024, 1, 1, 10, 0, 0, 125_000, UTC)),
    ("instant", "timestamp(3) null", "'2024-01-01 10:00:00.125'",
     datetime(2024, 1, 1, 10, 0, 0, 125_000, UTC)),
    ("flag", "bit(1)", "b'1'", 1),
    ("many", "bit(20)", "b'10001'", 17),
    ("mood", "enum('ok', 'sad')", "'sad'", "sad"),
    ("moods", "set('ok', 'sad')", "'ok,sad'", "ok,sad"),
    ("doc", "json", "'{\"a\": 1}'", '{"a": 1}'),
    ("id_of", "uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("host", "inet6", "'::1'", "::1"),
]  # fmt: skip
BACK = {"pk.mode": "record_value", "pk.fields": "id", "insert.mode": "upsert"}


def created(table: str, columns: list[Column]) -> str:
    each = ", ".join(f"{name} {kind}" for name, kind, _, _ in columns)
    return f"CREATE TABLE {table} (id bigint PRIMARY KEY, {each})"


def read_once(read: Read, database: Postgres | MariaDb, columns: list[Column]) -> list[Record]:
    literals = ", ".join(literal for _, _, literal, _ in columns)
    nulls = ", ".join("NULL" for _ in columns)
    database.run(
        created("kinds", columns),
        f"INSERT INTO kinds VALUES (1, {literals})",
        f"INSERT INTO kinds VALUES (2, {nulls})",
    )
    config = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "kinds"}
    records = read(database, **config).until(2)
    model = {name: value for name, _, _, value in columns}
    assert records[0].value.values == {"id": 1} | model
    assert records[1].value.values == {"id": 2} | dict.fromkeys(model)
    return records


def write_back(database: Postgres | MariaDb, records: list[Record]) -> None:
    access = {
        "connection.url": database.jdbc_url,
        "connection.user": database.user,
        "connection.password": database.password,
    }
    Writing(access | BACK, topic="copy").put(
        *(Record(topic="", value_schema=one.value_schema, value=one.value) for one in records)
    )


def test_types_of_postgresql_there_and_back(postgres: Postgres, read: Read) -> None:
    postgres.run(
        "CREATE TYPE mood AS ENUM ('ok', 'sad')",
        "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
    )
    records = read_once(read, postgres, POSTGRES)
    back = [one for one in POSTGRES if one[0] not in ("flag", "few", "cash")]
    postgres.run(created("copy", back))
    assert records[0].value_schema is not None
    write_back(postgres, [without(one, "flag", "few", "cash") for one in records])
    names = "id, " + ", ".join(name for name, _, _, _ in back)
    assert postgres.rows(f"SELECT ROW({names})::text FROM copy ORDER BY id") == postgres.rows(
        f"SELECT ROW({names})::text FROM kinds ORDER BY id"
    )


def test_types_of_mariadb_there_and_back(mariadb: MariaDb, read: Read) -> None:
    records = read_once(read, mariadb, MARIADB)
    mariadb.run(created("copy", [one for one in MARIADB if one[0] != "year_"]))
    write_back(mariadb, [without(one, "year_") for one in records])
    names = "id, " + ", ".join(name for name, _, _, _ in MARIADB if name != "year_")
    assert mariadb.rows(f"SELECT {names} FROM copy ORDER BY id") == mariadb.rows(
        f"SELECT {names} FROM kinds ORDER BY id"
    )


def without(record: Record, *names: str) -> Record:
    """Columns whose values, once read, are of a type that the column itself does not take."""
    schema = record.value_schema
    assert schema is not None
    left = replace(schema, fields=tuple(one for one in schema.fields if one.name not in names))
    values = {name: value for name, value in record.value.values.items() if name not in names}
    return replace(record, value_schema=left, value=Struct(left, values))


def test_what_connect_s_schemas_say_makes_a_table(postgres: Postgres, read: Read) -> None:
    """A table is made for what was read of another, and read again it is the same."""
    records = read_once(read, postgres, PLAIN)
    access = {
        "connection.url": postgres.jdbc_url,
        "connection.user": postgres.user,
        "connection.password": postgres.password,
        "auto.create": "true",
    }
    Writing(access | BACK, topic="made").put(
        *(Record(topic="", value_schema=one.value_schema, value=one.value) for one in records)
    )
    config = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "made"}
    again = read(postgres, **config).until(2)
    assert [one.value.values for one in again] == [one.value.values for one in records]


PLAIN = [
    one
    for one in POSTGRES
    if one[0] in ("small", "whole", "large", "rough", "double", "yes", "long", "raw", "day",
                  "clock", "wall", "numbers", "texts", "flags", "exact")
]  # fmt: skip

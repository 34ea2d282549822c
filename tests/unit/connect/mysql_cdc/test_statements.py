"""Which statements of the binlog are told as definitions."""

import pytest

from ottla.connect.connectors.mysql_cdc.statements import is_ddl


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a int)",
        "alter table t add b int",
        "TRUNCATE TABLE t",
        "flush tables",
        "CREATE INDEX i ON views (a)",
        "SET STATEMENT max_statement_time=1 FOR CREATE TABLE t (a int)",
    ],
)
def test_definitions_are_told(sql: str) -> None:
    assert is_ddl(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE ALGORITHM=UNDEFINED DEFINER=`a`@`%` SQL SECURITY DEFINER VIEW `v` AS select 1",
        "drop view v",
        "CREATE OR REPLACE FUNCTION f() RETURNS int\nRETURN 1",
        "CREATE DEFINER=`a`@`%` TRIGGER t BEFORE INSERT ON o FOR EACH ROW SET NEW.a = 1",
        "CREATE USER u",
        "DROP ROLE r",
        "GRANT ALL ON *.* TO u",
        "SET STATEMENT max_statement_time=1 FOR REVOKE ALL ON *.* FROM u",
        "OPTIMIZE LOCAL TABLE t",
        "SAVEPOINT s",
        "INSERT INTO t VALUES (1)",
    ],
)
def test_what_debezium_filters_is_not(sql: str) -> None:
    assert not is_ddl(sql)

"""MariaDB's and MySQL's changes in Debezium's envelope: mysql-cdc.

`source` is the connector. `snapshot` reads definitions and rows, `stream` receives the binlog,
`pieces` cuts it and follows definitions (`ddl`), which the schema history keeps (`history`,
`recovery`). `changes` and `envelope` make records of pieces with `types`, in Spark's tasks.
`offsets` are Debezium's, so either goes on where the other stopped.
"""

from collections.abc import Mapping
from typing import Final

from ottla.connect.connector import Config
from ottla.connect.connectors.mysql_cdc.envelope import Server
from ottla.connect.connectors.mysql_cdc.offsets import check_offset
from ottla.connect.connectors.mysql_cdc.settings import DEFINITIONS, settings
from ottla.connect.connectors.mysql_cdc.source import MySqlCdc

__all__ = ["DEFINITIONS", "check_offset", "make"]

# By the class that was asked for; the short name takes the server's own.
_NAMED: Final[Mapping[str, Server]] = {"MariaDbConnector": "mariadb", "MySqlConnector": "mysql"}


def make(config: Config, alias: str) -> MySqlCdc:
    return MySqlCdc(settings(config), config, _NAMED.get(alias.rpartition(".")[2]))

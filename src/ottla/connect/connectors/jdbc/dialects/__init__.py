"""One file for each database; which one it is, its URL says (or `dialect.name`)."""

from functools import cache
from importlib import import_module

from ottla.connect.connectors.jdbc.dialects.dialect import Dialect

_MODULES = {
    "postgresql": "PostgreSql",
    "mariadb": "MariaDb",
    "sqlite": "Sqlite",
}
# Confluent's and Aiven's names for `dialect.name`.
NAMES = {
    "PostgreSqlDatabaseDialect": "postgresql",
    "MySqlDatabaseDialect": "mariadb",
    "SqliteDatabaseDialect": "sqlite",
}


@cache
def dialect(name: str, quoting: bool) -> Dialect:
    """Its driver is imported only now. Without quoting, the database folds names as it likes."""
    made: Dialect = getattr(import_module(f"{__name__}.{name}"), _MODULES[name])(quoting)
    return made

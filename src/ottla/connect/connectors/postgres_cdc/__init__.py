"""PostgreSQL's changes in Debezium's envelope: postgres-cdc, io.debezium's PostgresConnector.

`source` is the connector. `snapshot` reads the tables, `stream` receives from the slot, both as
text that the server wrote; `changes` and `envelope` make records of it with `types`, in Spark's
tasks, and `rendering` their JSON at once where nothing else looks at them. `offsets` are
Debezium's, so either goes on where the other stopped.
"""

from ottla.connect.connector import Config
from ottla.connect.connectors.postgres_cdc.offsets import check_offset
from ottla.connect.connectors.postgres_cdc.settings import DEFINITIONS, settings
from ottla.connect.connectors.postgres_cdc.source import PostgresCdc

__all__ = ["DEFINITIONS", "check_offset", "make"]


def make(config: Config, alias: str) -> PostgresCdc:
    return PostgresCdc(settings(config), config)

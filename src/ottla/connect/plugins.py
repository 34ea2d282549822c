"""The table of connectors: each under Java's class names and under its own short one.

Modules are imported when they are first needed. Absent: a name that would be imported because a
request says so; connectors of others come through the entry point `ottla.connectors`.
"""

import importlib
from typing import Final

from ottla.connect.connector import Config, ConnectError, Plugin, SinkConnector, SourceConnector
from ottla.version import VERSION

PLUGINS: Final = (
    Plugin(
        kind="source",
        name="file-source",
        classes=(
            "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "FileStreamSourceConnector",
            "FileStreamSource",
        ),
        version=VERSION,
        module="ottla.connect.connectors.file_source",
    ),
    Plugin(
        kind="sink",
        name="file-sink",
        classes=(
            "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "FileStreamSinkConnector",
            "FileStreamSink",
        ),
        version=VERSION,
        module="ottla.connect.connectors.file_sink",
    ),
    Plugin(
        kind="source",
        name="jdbc-source",
        classes=(
            "io.confluent.connect.jdbc.JdbcSourceConnector",
            "io.aiven.connect.jdbc.JdbcSourceConnector",
            "JdbcSourceConnector",
            "JdbcSource",
        ),
        version=VERSION,
        module="ottla.connect.connectors.jdbc.source",
    ),
    Plugin(
        kind="sink",
        name="jdbc-sink",
        classes=(
            "io.confluent.connect.jdbc.JdbcSinkConnector",
            "io.aiven.connect.jdbc.JdbcSinkConnector",
            "io.debezium.connector.jdbc.JdbcSinkConnector",
            "JdbcSinkConnector",
            "JdbcSink",
        ),
        version=VERSION,
        module="ottla.connect.connectors.jdbc.sink",
    ),
    Plugin(
        kind="source",
        name="postgres-cdc",
        classes=(
            "io.debezium.connector.postgresql.PostgresConnector",
            "PostgresConnector",
            "Postgres",
        ),
        version=VERSION,
        module="ottla.connect.connectors.postgres_cdc",
    ),
)


def find(name: str) -> Plugin:
    """By any of its names; ConnectError lists what there is."""
    for one in PLUGINS:
        if name == one.name or name in one.classes:
            return one
    served = ", ".join(one.classes[0] for one in PLUGINS)
    raise ConnectError(
        f"Failed to find any class that implements Connector and which name matches {name}. "
        f"Java's plugins do not run here; served are: {served}."
    )


def source(config: Config) -> SourceConnector:
    alias = config["connector.class"]
    made: SourceConnector = importlib.import_module(find(alias).module).make(config, alias)
    return made


def sink(config: Config) -> SinkConnector:
    alias = config["connector.class"]
    made: SinkConnector = importlib.import_module(find(alias).module).make(config, alias)
    return made

"""The table of connectors: each under Java's class names and under its own short one.

Modules are imported when they are first needed. Absent: a name that would be imported because a
request says so; connectors of others come through the entry point `ottla.connectors`.
"""

import functools
import importlib
import logging
import operator
from importlib.metadata import entry_points
from typing import Any, Final

from ottla.connect.connector import Config, ConnectError, Plugin, SinkConnector, SourceConnector
from ottla.connect.data_sources import DataSourceModule, is_data_source, plugins_of
from ottla.connect.definitions import Key, Kind
from ottla.connect.own import MARK, OwnConnector
from ottla.version import VERSION

ENTRY_POINTS = "ottla.connectors"
_log = logging.getLogger(__name__)

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
        knows_its_offsets=False,
    ),
    Plugin(
        kind="source",
        name="mysql-cdc",
        classes=(
            "io.debezium.connector.mysql.MySqlConnector",
            "MySqlConnector",
            "MySql",
            "io.debezium.connector.mariadb.MariaDbConnector",
            "MariaDbConnector",
            "MariaDb",
        ),
        version=VERSION,
        module="ottla.connect.connectors.mysql_cdc",
        knows_its_offsets=False,
    ),
    Plugin(
        kind="sink",
        name="elasticsearch-sink",
        classes=(
            "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector",
            "ElasticsearchSinkConnector",
            "ElasticsearchSink",
        ),
        version=VERSION,
        module="ottla.connect.connectors.elasticsearch.sink",
    ),
    Plugin(
        kind="sink",
        name="s3-sink",
        classes=("io.confluent.connect.s3.S3SinkConnector", "S3SinkConnector", "S3Sink"),
        version=VERSION,
        module="ottla.connect.connectors.s3_sink",
    ),
    Plugin(
        kind="sink",
        name="hdfs-sink",
        classes=(
            "io.confluent.connect.hdfs.HdfsSinkConnector",
            "io.confluent.connect.hdfs3.Hdfs3SinkConnector",
            "HdfsSinkConnector",
            "HdfsSink",
        ),
        version=VERSION,
        module="ottla.connect.connectors.hdfs_sink",
    ),
)


def served() -> tuple[Plugin, ...]:
    """Ours, and those of installed packages."""
    return (*PLUGINS, *_installed())


def find(name: str) -> Plugin:
    """By any of its names; ConnectError lists what there is."""
    for one in served():
        if name == one.name or name in one.classes:
            return one
    listed = ", ".join(one.classes[0] for one in served())
    raise ConnectError(
        f"Failed to find any class that implements Connector and which name matches {name}. "
        f"Java's plugins do not run here; served are: {listed}."
    )


def module_of(plugin: Plugin) -> Any:
    """What has `DEFINITIONS` and `make`: a module, or what a decorator made of a function.

    A data source of PySpark's is dressed as one.
    """
    module, _, attribute = plugin.module.partition(":")
    found = importlib.import_module(module)
    if not attribute:
        return found
    named = operator.attrgetter(attribute)(found)
    return DataSourceModule(named, plugin.kind) if is_data_source(named) else getattr(named, MARK)


def passwords(plugin: Plugin) -> list[str]:
    """Those of its keys whose values are shown to nobody."""
    keys: tuple[Key, ...] = module_of(plugin).DEFINITIONS.keys
    return [one.name for one in keys if one.kind is Kind.PASSWORD]


def source(config: Config) -> SourceConnector:
    alias = config["connector.class"]
    made: SourceConnector = module_of(find(alias)).make(config, alias)
    return made


def sink(config: Config) -> SinkConnector:
    alias = config["connector.class"]
    made: SinkConnector = module_of(find(alias)).make(config, alias)
    return made


@functools.cache
def _installed() -> tuple[Plugin, ...]:
    """One that cannot be loaded is told in the log: the others are served all the same."""
    found: list[Plugin] = []
    for one in entry_points(group=ENTRY_POINTS):
        try:
            named = one.load()
            if is_data_source(named):
                found += plugins_of(named, one.value)
            else:
                own: OwnConnector = getattr(named, MARK)
                found.append(own.plugin(one.value))
        except Exception as error:
            _log.error("The connector %s (%s) is not served: %r", one.name, one.value, error)
    return tuple(found)

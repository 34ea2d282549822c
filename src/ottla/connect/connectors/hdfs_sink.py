"""hdfs-sink: files of HDFS, under the keys of Confluent's HDFS connector."""

from ottla.connect.connector import Config
from ottla.connect.connectors.object_files.keys import SHARED, check_served
from ottla.connect.connectors.object_files.making import files_sink
from ottla.connect.connectors.object_files.sink import FilesSink
from ottla.connect.connectors.object_files.stores import HdfsStore
from ottla.connect.definitions import Definitions, InvalidConfig, Key, Kind

DEFINITIONS = SHARED | Definitions(
    (
        Key(
            name="hdfs.url",
            kind=Kind.STRING,
            default=None,
            importance="HIGH",
            doc="The name node, as hdfs://host:port; store.url says the same.",
            group="HDFS",
        ),
    )
)
_IGNORED = frozenset({"storage.class", "logs.dir", "retry.backoff.ms", "shutdown.timeout.ms"})


def make(config: Config, alias: str) -> FilesSink:
    values = DEFINITIONS.parse(config)
    check_served(config, DEFINITIONS, _IGNORED)
    url = values["hdfs.url"] or values["store.url"]
    if not url:
        raise InvalidConfig({"hdfs.url": ["The name node is missing: hdfs.url or store.url."]})
    return files_sink(config, values, HdfsStore(url), gzipped=False, end_offset=True)

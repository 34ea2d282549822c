"""A sink made of its keys' values and a store."""

from collections.abc import Mapping
from typing import Any

from ottla.connect.connector import Config
from ottla.connect.connectors.object_files.formats import format_of
from ottla.connect.connectors.object_files.partitioning import extractor, partitioner
from ottla.connect.connectors.object_files.sink import FilesSink, FilesTask, Naming
from ottla.connect.connectors.object_files.stores import Store


def files_sink(
    config: Config, values: Mapping[str, Any], store: Store, *, gzipped: bool, end_offset: bool
) -> FilesSink:
    naming = Naming(
        topics=values["topics.dir"],
        directory_delimiter=values["directory.delim"],
        delimiter=values["file.delim"],
        width=values["filename.offset.zero.pad.width"],
        end_offset=end_offset,
    )
    return FilesSink(
        config,
        FilesTask(
            store=store,
            format=format_of(values, gzipped),
            naming=naming,
            folder=partitioner(values),
            time=extractor(values),
            flush_size=values["flush.size"],
            rotate_interval_ms=values["rotate.interval.ms"],
            ignore_null=values["behavior.on.null.values"].lower() == "ignore",
        ),
    )

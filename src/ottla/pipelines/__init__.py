"""Streams and tables over topics, run by Spark.

This tower reaches brokers only as a client, so an application runs against Apache Kafka as it runs
against Ottla. Importing it starts nothing: Spark comes when an application runs, or at `.df`.
"""

from ottla.pipelines.api.app import App
from ottla.pipelines.api.expressions import expr
from ottla.pipelines.api.grouping import Grouped
from ottla.pipelines.api.processors import Context, Processor
from ottla.pipelines.api.streams import Stream
from ottla.pipelines.api.tables import GlobalTable, Table
from ottla.pipelines.api.windows import hopping, session, sliding, tumbling
from ottla.pipelines.formats import avro, bytes, json, json_schema, long, protobuf, string
from ottla.pipelines.runtime.where import DefinitionError

__all__ = [
    "App",
    "Context",
    "DefinitionError",
    "GlobalTable",
    "Grouped",
    "Processor",
    "Stream",
    "Table",
    "avro",
    "bytes",
    "expr",
    "hopping",
    "json",
    "json_schema",
    "long",
    "protobuf",
    "session",
    "sliding",
    "string",
    "tumbling",
]

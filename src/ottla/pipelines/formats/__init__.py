"""Formats of keys and values. Each is a file with its class and the function that users call.

A new one is a file like those below and a line in `FORMATS`; its function is handed out here and
by `ottla.pipelines`. What only stages read (`row_format`) is not named here.
"""

from collections.abc import Mapping

from ottla.pipelines.formats.avro_format import Avro, avro
from ottla.pipelines.formats.bytes_format import Bytes, bytes
from ottla.pipelines.formats.format import Format
from ottla.pipelines.formats.json_format import Json, json
from ottla.pipelines.formats.json_schema_format import JsonSchema, json_schema
from ottla.pipelines.formats.long_format import Long, long
from ottla.pipelines.formats.protobuf_format import Protobuf, protobuf
from ottla.pipelines.formats.string_format import String, string

__all__ = ["avro", "bytes", "json", "json_schema", "long", "protobuf", "string"]

FORMATS: Mapping[str, type[Format]] = {
    kind.name: kind for kind in (Avro, Bytes, Json, JsonSchema, Long, Protobuf, String)
}


def default_format(columns: list[str], types: Mapping[str, str]) -> Format:
    """What rows are written in when nothing is said: JSON, but a lone column `value` as it is."""
    if columns == ["value"] and types["value"] in ("string", "binary"):
        return bytes()
    return json()

"""SimpleHeaderConverter: headers as text whose form tells what they are."""

import logging
from collections.abc import Mapping
from typing import Any

from ottla.connect.converters.converter import SchemaAndValue
from ottla.connect.data import BYTES_SCHEMA, Schema
from ottla.connect.definitions import Definitions
from ottla.connect.values_parsing import parsed
from ottla.connect.values_text import header_text

_log = logging.getLogger(__name__)


class SimpleHeaderConverter:
    DEFINITIONS = Definitions()

    def __init__(self, settings: Mapping[str, str]) -> None:
        pass

    def from_header(self, topic: str, name: str, schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else header_text(value, schema).encode(errors="replace")

    def to_header(self, topic: str, name: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return None, None
        try:
            return parsed(data.decode(errors="replace"))
        except Exception as error:
            _log.warning("The header %r of topic %r is left as bytes: %s", name, topic, error)
            return BYTES_SCHEMA, data

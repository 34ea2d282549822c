"""Converters by Kafka's class names: between Connect's values and bytes. A file each.

A name may be Java's whole, its last part (`JsonConverter`), or that without `Converter`.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from ottla.connect.converters.converter import Converter, HeaderConverter
from ottla.connect.definitions import Definitions, InvalidConfig

_OWN: Final = "ottla.connect.converters."
_KAFKA: Final = "org.apache.kafka.connect."
# Java's class: module, class
CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "io.confluent.connect.avro.AvroConverter": ("avro", "AvroConverter"),
    "io.confluent.connect.json.JsonSchemaConverter": ("jsonschema", "JsonSchemaConverter"),
    "io.confluent.connect.protobuf.ProtobufConverter": ("protobuf", "ProtobufConverter"),
    f"{_KAFKA}converters.BooleanConverter": ("numbers", "BooleanConverter"),
    f"{_KAFKA}converters.ByteArrayConverter": ("plain", "ByteArrayConverter"),
    f"{_KAFKA}converters.DoubleConverter": ("numbers", "DoubleConverter"),
    f"{_KAFKA}converters.FloatConverter": ("numbers", "FloatConverter"),
    f"{_KAFKA}converters.IntegerConverter": ("numbers", "IntegerConverter"),
    f"{_KAFKA}converters.LongConverter": ("numbers", "LongConverter"),
    f"{_KAFKA}converters.ShortConverter": ("numbers", "ShortConverter"),
    f"{_KAFKA}json.JsonConverter": ("json", "JsonConverter"),
    f"{_KAFKA}storage.SimpleHeaderConverter": ("headers", "SimpleHeaderConverter"),
    f"{_KAFKA}storage.StringConverter": ("plain", "StringConverter"),
}
ROWS: Final = "ottla.connect.converters.rows.RowConverter"
# Of connectors within applications: no worker lists them.
_WITHIN: Final[Mapping[str, tuple[str, str]]] = {ROWS: ("rows", "RowConverter")}
NOT_FOR_HEADERS: Final = frozenset(one for one in CLASSES if one.startswith("io.confluent."))
HEADERS_ONLY: Final = frozenset({f"{_KAFKA}storage.SimpleHeaderConverter"})
DEFAULTS: Final[Mapping[str, str]] = {
    "key": f"{_KAFKA}json.JsonConverter",
    "value": f"{_KAFKA}json.JsonConverter",
    "header": f"{_KAFKA}storage.SimpleHeaderConverter",
}


def class_name(said: str) -> str | None:
    """Java's whole name of a converter that is here."""
    for name in CLASSES:
        short = name.rpartition(".")[2]
        if said in (name, short, short.removesuffix("Converter")):
            return name
    return None


def converter(said: str, settings: Mapping[str, str], *, is_key: bool) -> Converter:
    found = _class(said)
    if class_name(said) in HEADERS_ONLY:
        side = "key.converter" if is_key else "value.converter"
        raise InvalidConfig({side: [f"{said} converts headers only"]})
    made: Converter = found({"converter.type": "key" if is_key else "value"} | dict(settings))
    return made


def header_converter(said: str, settings: Mapping[str, str]) -> HeaderConverter:
    if class_name(said) in NOT_FOR_HEADERS:
        raise InvalidConfig({"header.converter": [f"{said} converts keys and values only"]})
    made: HeaderConverter = _class(said)({"converter.type": "header"} | dict(settings))
    return made


def definitions(said: str) -> Definitions:
    """The keys of a converter; without the prefix that they have in a connector's settings."""
    made: Definitions = _class(said).DEFINITIONS  # type: ignore[attr-defined]
    return made


def java_name(cls: type) -> str:
    known = {**CLASSES, **_WITHIN}
    return next(name for name, (_, own) in known.items() if own == cls.__name__)


def _class(said: str) -> type:
    name = said if said in _WITHIN else class_name(said)
    if name is None:
        known = ", ".join(sorted(CLASSES))
        raise InvalidConfig({"converter": [f"{said} is not a converter here; these are: {known}"]})
    module, own = {**CLASSES, **_WITHIN}[name]
    found: type = getattr(import_module(_OWN + module), own)
    return found

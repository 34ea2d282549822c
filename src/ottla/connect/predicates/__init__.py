"""Predicates by Kafka's class names: when a transform applies. A file each."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, Protocol

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, InvalidConfig


class Predicate(Protocol):
    def test(self, record: Record) -> bool: ...


_PACKAGE: Final = "org.apache.kafka.connect.transforms.predicates."
_MODULES: Final[Mapping[str, str]] = {
    "HasHeaderKey": "has_header_key",
    "RecordIsTombstone": "record_is_tombstone",
    "TopicNameMatches": "topic_name_matches",
}
CLASSES: Final = tuple(_PACKAGE + name for name in _MODULES)


def class_name(said: str) -> str | None:
    """Java's whole name of a predicate that is here."""
    return next((one for one in CLASSES if said in (one, one.removeprefix(_PACKAGE))), None)


def definitions(name: str) -> Definitions:
    made: Definitions = _module(name).DEFINITIONS
    return made


def predicate(name: str, settings: Mapping[str, str]) -> Predicate:
    """InvalidConfig, with the predicate's own keys, where they do not fit."""
    module = _module(name)
    made: Predicate = getattr(module, name.removeprefix(_PACKAGE))(
        module.DEFINITIONS.parse(settings)
    )
    return made


def _module(said: str) -> Any:
    name = class_name(said)
    if name is None:
        raise InvalidConfig({"type": [f"{said} is not a predicate here: {', '.join(CLASSES)}"]})
    return import_module(f"ottla.connect.predicates.{_MODULES[name.removeprefix(_PACKAGE)]}")

"""HasHeaderKey: whether a record has at least one header of a name."""

from collections.abc import Mapping
from typing import Any

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.validators import non_empty

DEFINITIONS = Definitions(
    (
        Key(
            name="name",
            kind=Kind.STRING,
            validator=non_empty,
            doc="The header name.",
        ),
    )
)


class HasHeaderKey:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._name: str = settings["name"]

    def test(self, record: Record) -> bool:
        return any(one.name == self._name for one in record.headers)

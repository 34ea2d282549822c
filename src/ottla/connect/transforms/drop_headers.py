"""DropHeaders: a record without headers of some names."""

from dataclasses import replace

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.transforms.transform import Settings
from ottla.connect.validators import distinct_values

DEFINITIONS = Definitions(
    (
        Key(
            name="headers",
            kind=Kind.LIST,
            importance="HIGH",
            doc="The names of the headers that are removed.",
            validator=distinct_values(empty=False),
        ),
    )
)


class DropHeaders:
    def __init__(self, settings: Settings) -> None:
        self._names = frozenset(settings["headers"])

    def apply(self, record: Record) -> Record:
        kept = tuple(one for one in record.headers if one.name not in self._names)
        return replace(record, headers=kept)

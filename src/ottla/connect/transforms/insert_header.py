"""InsertHeader: one header more, whose value is read from its text."""

from dataclasses import replace

from ottla.connect.data import Header, Record
from ottla.connect.definitions import Definitions, Key, Kind
from ottla.connect.transforms.transform import Settings
from ottla.connect.validators import non_null
from ottla.connect.values_parsing import parsed

DEFINITIONS = Definitions(
    (
        Key(
            name="header",
            kind=Kind.STRING,
            importance="HIGH",
            doc="The name of the header.",
            validator=non_null,
        ),
        Key(
            name="value.literal",
            kind=Kind.STRING,
            importance="HIGH",
            doc="The value of the header; its form tells its type.",
            validator=non_null,
        ),
    )
)


class InsertHeader:
    def __init__(self, settings: Settings) -> None:
        self._header = Header(settings["header"], *parsed(settings["value.literal"]))

    def apply(self, record: Record) -> Record:
        return replace(record, headers=(*record.headers, self._header))

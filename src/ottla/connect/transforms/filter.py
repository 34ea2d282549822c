"""Filter: drops every record that its predicate lets through to it."""

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions
from ottla.connect.transforms.transform import Settings

DEFINITIONS = Definitions()


class Filter:
    def __init__(self, settings: Settings) -> None:
        pass

    def apply(self, record: Record) -> None:
        return None

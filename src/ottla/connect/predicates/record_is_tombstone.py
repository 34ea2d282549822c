"""RecordIsTombstone: whether a record's value is null."""

from collections.abc import Mapping
from typing import Any

from ottla.connect.data import Record
from ottla.connect.definitions import Definitions

DEFINITIONS = Definitions()


class RecordIsTombstone:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        pass

    def test(self, record: Record) -> bool:
        return record.value is None

"""Ids for tests that care only that they differ."""

from ottla.ids import Uuid
from ottla.ports import chance


def new_uuid() -> Uuid:
    return chance.new_uuid(chance.SYSTEM_CHANCE)

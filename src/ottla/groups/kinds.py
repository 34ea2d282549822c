"""The kinds of group there are: one line for each, and the machine deals with it."""

from typing import TYPE_CHECKING, Any

from ottla.groups.classic.kind import Classic
from ottla.groups.consumer.kind import Consumer
from ottla.groups.kind import Kind
from ottla.groups.share.kind import Share
from ottla.groups.streams.kind import Streams

if TYPE_CHECKING:
    from ottla.groups.machine import Group

KINDS: tuple[Kind[Any], ...] = (Classic(), Consumer(), Share(), Streams())

_BY_GROUP: dict[type, Kind[Any]] = {kind.group: kind for kind in KINDS}
BY_RECORD: dict[int, Kind[Any]] = {type_: kind for kind in KINDS for type_ in kind.record_types}
"""By the type in front of a record's key."""


def kind_of(group: "Group") -> Kind[Any]:
    return _BY_GROUP[type(group)]

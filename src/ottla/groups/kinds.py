"""The kinds of group there are: one line for each, and the machine deals with it."""

from typing import TYPE_CHECKING, Any

from ottla.groups.classic.kind import ClassicKind
from ottla.groups.consumer.kind import ConsumerKind
from ottla.groups.kind import GroupKind
from ottla.groups.share.kind import ShareKind
from ottla.groups.streams.kind import StreamsKind

if TYPE_CHECKING:
    from ottla.groups.machine import Group

KINDS: tuple[GroupKind[Any], ...] = (ClassicKind(), ConsumerKind(), ShareKind(), StreamsKind())

_BY_GROUP: dict[type, GroupKind[Any]] = {kind.group: kind for kind in KINDS}
BY_RECORD: dict[int, GroupKind[Any]] = {
    type_: kind for kind in KINDS for type_ in kind.record_types
}
"""By the type in front of a record's key."""


def kind_of(group: "Group") -> GroupKind[Any]:
    return _BY_GROUP[type(group)]

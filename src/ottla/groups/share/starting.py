"""Which partitions of a share group have a state with the share coordinator.

A state is made before anyone is given the partition, and deleted before the group forgets it. The
share coordinator may be elsewhere: what was begun is noted first, and again when it is done.
"""

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share import records
from ottla.groups.share.group import Noted, ShareGroup, Topics, no_share_group
from ottla.ids import Uuid
from ottla.metadata.image import Image

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

NOTHING_NOTED = Noted()
RETRY_S = 30.0
"""A state that nobody heard of for so long is made once more."""


class ToInitialize(NamedTuple):
    """States to be made; their epoch fences leaders that know older ones."""

    group_id: str
    state_epoch: int
    topics: Topics


# -- making -----------------------------------------------------------------------------------


def missing(groups: "Groups", group: ShareGroup, now: Instant) -> Topics:
    """Partitions that somebody wants to read, and for which nobody makes a state yet."""
    noted, image = group.noted or NOTHING_NOTED, groups.image()
    under_way = {
        topic_id: indexes
        for topic_id, (_, indexes) in noted.initializing.items()
        if now.seconds - groups.share_attempts.get((group.id, topic_id), float("-inf")) < RETRY_S
    }
    found: dict[Uuid, tuple[str, frozenset[int]]] = {}
    for name in sorted(group.subscribed_topics()):
        topic = image.topics_by_name.get(name)
        if topic is None:
            continue
        known = noted.initialized.get(topic.id, (name, frozenset()))[1]
        rest = frozenset(topic.partitions) - known - under_way.get(topic.id, frozenset())
        if rest:
            found[topic.id] = (name, rest)
    return found


def begin(groups: "Groups", group: ShareGroup, topics: Topics, now: Instant) -> CoordinatorRecord:
    """Note that states are made, as of now."""
    noted = group.noted or NOTHING_NOTED
    for topic_id in topics:
        groups.share_attempts[group.id, topic_id] = now.seconds
    return records.noted(
        group.id,
        replace(
            noted,
            initializing=_with(noted.initializing, topics),
            deleting={key: name for key, name in noted.deleting.items() if key not in topics},
        ),
    )


def initialized(groups: "Groups", group_id: str, topics: Topics) -> Decision[None]:
    """The states are made: members may be given the partitions."""
    group = groups.find(group_id)
    if not isinstance(group, ShareGroup):
        return Decision((), None)
    for topic_id in topics:
        groups.share_attempts.pop((group_id, topic_id), None)
    noted = group.noted or NOTHING_NOTED
    noted = replace(
        noted,
        initialized=_with(noted.initialized, topics),
        initializing=_without(noted.initializing, topics),
    )
    return Decision([records.noted(group_id, noted)], None)


def not_initialized(groups: "Groups", group_id: str, topics: Topics) -> Decision[None]:
    """The states could not be made: the next heartbeat tries again."""
    group = groups.find(group_id)
    noted = group.noted if isinstance(group, ShareGroup) else None
    if noted is None or not noted.initializing:
        return Decision((), None)
    noted = replace(noted, initializing=_without(noted.initializing, topics))
    return Decision([records.noted(group_id, noted)], None)


def start(groups: "Groups", now: Instant, group_id: str, topics: Topics) -> Decision[ToInitialize]:
    """States are to be made anew for a group that nobody is in; it is made if need be."""
    group = groups.find(group_id)
    if group is None:
        group = ShareGroup(group_id)
    elif not isinstance(group, ShareGroup):
        no_share_group(group_id)
    _check_is_empty(group)
    entries = [begin(groups, group, topics, now)] if topics else []
    return Decision(entries, ToInitialize(group_id, group.epoch, topics))


# -- deleting ---------------------------------------------------------------------------------


class ToDelete(NamedTuple):
    topics: Topics  # whose states have to go
    unknown: list[str]  # topics that have none


def queues_to_delete(groups: "Groups", group_id: str) -> Topics:
    """Of a group that goes, which must be empty; groups of other kinds have none."""
    group = groups.find(group_id)
    if not isinstance(group, ShareGroup):
        return {}
    _check_is_empty(group)
    noted = group.noted or NOTHING_NOTED
    deleting = {
        topic_id: (name, _partitions(groups.image(), topic_id))
        for topic_id, name in noted.deleting.items()
    }
    return _with(_with(noted.initialized, noted.initializing), deleting)


def begin_to_forget(groups: "Groups", group_id: str, names: list[str]) -> Decision[ToDelete]:
    """Note that the states of topics are deleted; `forget` follows."""
    group = groups.find(group_id)
    if not isinstance(group, ShareGroup):
        no_share_group(group_id)
    _check_is_empty(group)
    noted, image = group.noted, groups.image()
    if noted is None:
        return Decision((), ToDelete({}, []))
    found: dict[Uuid, tuple[str, frozenset[int]]] = {}
    unknown: list[str] = []
    for name in names:
        topic = image.topics_by_name.get(name)
        if topic is not None and topic.id in noted.initialized:
            found[topic.id] = noted.initialized[topic.id]
        elif topic is not None and topic.id in noted.deleting:
            found[topic.id] = (name, _partitions(image, topic.id))
        else:
            unknown.append(name)
    noted = replace(
        noted,
        initialized={key: value for key, value in noted.initialized.items() if key not in found},
        deleting={**noted.deleting, **{key: name for key, (name, _) in found.items()}},
    )
    return Decision([records.noted(group_id, noted)], ToDelete(found, unknown))


def forget(groups: "Groups", group_id: str, topics: set[Uuid]) -> Decision[None]:
    """Give topics up, whose states are deleted already."""
    group = groups.find(group_id)
    noted = group.noted if isinstance(group, ShareGroup) else None
    if noted is None:
        return Decision((), None)
    deleting = {key: name for key, name in noted.deleting.items() if key not in topics}
    return Decision([records.noted(group_id, replace(noted, deleting=deleting))], None)


def without_deleted_topics(group: ShareGroup, image: Image) -> Noted | None:
    """What is noted without topics that are gone; None: none of them is."""
    noted = group.noted
    if noted is None:
        return None
    known = image.topics_by_id
    kept = Noted(
        initialized={key: value for key, value in noted.initialized.items() if key in known},
        initializing={key: value for key, value in noted.initializing.items() if key in known},
        deleting={key: name for key, name in noted.deleting.items() if key in known},
    )
    return kept if kept != noted else None


# -- asking -----------------------------------------------------------------------------------


def initialized_of(groups: "Groups", group_id: str) -> Topics:
    """None of a group that is not there, or no share group."""
    group = groups.find(group_id)
    return group.initialized if isinstance(group, ShareGroup) else {}


def _check_is_empty(group: ShareGroup) -> None:
    if not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)


def _partitions(image: Image, topic_id: Uuid) -> frozenset[int]:
    topic = image.topics_by_id.get(topic_id)
    return frozenset() if topic is None else frozenset(topic.partitions)


def _with(some: Topics, more: Topics) -> Topics:
    both = dict(some)
    for topic_id, (name, indexes) in more.items():
        both[topic_id] = (name, both.get(topic_id, (name, frozenset()))[1] | indexes)
    return both


def _without(some: Topics, gone: Topics) -> Topics:
    rest = {
        topic_id: (name, indexes - gone.get(topic_id, ("", frozenset()))[1])
        for topic_id, (name, indexes) in some.items()
    }
    return {topic_id: value for topic_id, value in rest.items() if value[1]}

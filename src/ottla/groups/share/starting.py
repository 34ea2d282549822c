"""Which partitions a share group has queues over: told, begun and given up by request."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share import records
from ottla.groups.share.group import FIRST_EPOCH, ShareGroup, no_share_group
from ottla.ids import Uuid

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

Started = dict[Uuid, tuple[str, frozenset[int]]]
"""Topics by their id: name and partitions."""


def queues_to_delete(groups: "Groups", group_id: str) -> Started:
    """Of a group that goes, which must be empty; groups of other kinds have none."""
    group = groups.find(group_id)
    return _of_empty(group) if isinstance(group, ShareGroup) else {}


def queues_to_forget(groups: "Groups", group_id: str, names: set[str]) -> Started:
    group = groups.find(group_id)
    if not isinstance(group, ShareGroup):
        no_share_group(group_id)
    return {key: value for key, value in _of_empty(group).items() if value[0] in names}


def _of_empty(group: ShareGroup) -> Started:
    if not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    return dict(group.started)


def started_by(groups: "Groups", group_id: str) -> Started:
    group = groups.find(group_id)
    return group.started if isinstance(group, ShareGroup) else no_share_group(group_id)


def start(groups: "Groups", now: Instant, group_id: str, topics: Started) -> Decision[None]:
    """Make the group if need be, and note the partitions."""
    group = groups.find(group_id)
    if group is not None and not isinstance(group, ShareGroup):
        no_share_group(group_id)
    if group is not None and not group.is_empty:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    known = {} if group is None else dict(group.started)
    for topic_id, (name, indexes) in topics.items():
        known[topic_id] = (name, known.get(topic_id, (name, frozenset()))[1] | indexes)
    entries = [records.started(group_id, known)]
    if group is None:
        entries.insert(0, records.group_epoch(group_id, FIRST_EPOCH, 0))
    return Decision(entries, None)


def forget(groups: "Groups", group_id: str, names: set[str]) -> Decision[None]:
    """Give topics up, whose states are deleted already."""
    gone = queues_to_forget(groups, group_id, names)
    kept = {key: value for key, value in started_by(groups, group_id).items() if key not in gone}
    return Decision([records.started(group_id, kept)] if gone else [], None)

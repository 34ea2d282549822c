"""When a group's epoch grows, and the target that is made for it."""

from collections import Counter
from typing import TYPE_CHECKING

from ottla.coordination.machine import Instant
from ottla.groups.consumer import records, regex
from ottla.groups.consumer.assignors import ASSIGNORS, Subscriber
from ottla.groups.consumer.draft import Draft
from ottla.groups.consumer.group import NOTHING, ConsumerGroup, ResolvedRegex
from ottla.groups.consumer.topics import metadata_hash, partition_counts
from ottla.groups.outcome import Outcome

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def refresh(
    groups: "Groups",
    draft: Draft,
    now: Instant,
    reason: str,
    *,
    bump: bool = False,
    at_once: bool = False,
) -> None:
    """Bump the epoch if anything that matters changed, and make the target for it: now, or when
    `group.consumer.assignment.interval.ms` have passed since the last one."""
    group = draft.group
    _resolve_regexes(groups, draft, now)
    names = group.subscribed_topics()
    new_hash = metadata_hash(groups.image(), names)
    if bump or new_hash != group.metadata_hash or _subscriptions_changed(groups, group):
        groups.history(group.id).begin(group.id, reason, now.seconds, now.wall_ms)
        draft.write(records.group_epoch(group.id, group.epoch + 1, new_hash))
    group.topics_seen = groups.topics_version
    groups.note_topics_seen(group.id)
    if group.epoch > group.assignment_epoch and group.members:
        interval_ms = groups.pace_of(group.id).assignment_interval_ms
        if at_once or groups.may_assign(group.id, group.assigned_at_ms, interval_ms, now):
            _make_target(groups, draft, now)


def is_due(groups: "Groups", group: ConsumerGroup, now: Instant, out: Outcome) -> None:
    """A target was put off, and its time has come."""
    draft = Draft(group)
    refresh(groups, draft, now, "its members or topics have changed")
    out.records += draft.records


def _subscriptions_changed(groups: "Groups", drafted: ConsumerGroup) -> bool:
    """Compared with the group as it is without this decision."""
    known = groups.find_consumer(drafted.id)
    if known is None:
        return bool(drafted.members)
    return {
        member.id: (drafted.topics_of(member), member.assignor, member.rack)
        for member in drafted.members.values()
    } != {
        _successor(drafted, known, member.id): (
            known.topics_of(member),
            member.assignor,
            member.rack,
        )
        for member in known.members.values()
    }


def _successor(drafted: ConsumerGroup, known: ConsumerGroup, member_id: str) -> str:
    """A static member may have come back under another id: that is no change."""
    instance_id = known.members[member_id].instance_id
    if instance_id is None:
        return member_id
    return drafted.static_ids.get(instance_id, member_id)


def _resolve_regexes(groups: "Groups", draft: Draft, now: Instant) -> None:
    group = draft.group
    wanted = {member.regex for member in group.members.values() if member.regex}
    for pattern in group.regexes.keys() - wanted:
        draft.write(records.regex_tombstone(group.id, pattern))
    image = groups.image()
    for pattern in sorted(wanted):
        known = group.regexes.get(pattern)
        if known is not None and group.topics_seen == groups.topics_version:
            continue
        topics = regex.matching(pattern, image.topics_by_name)
        if known is None or known.topics != topics:
            resolved = ResolvedRegex(topics, max(image.offset, 0), now.wall_ms)
            draft.write(records.regex(group.id, pattern, resolved))


def _make_target(groups: "Groups", draft: Draft, now: Instant) -> None:
    group, image = draft.group, groups.image()
    names = {name: group.topics_of(member) for name, member in group.members.items()}
    counts = partition_counts(image, set().union(*names.values()))
    topics = image.topics_by_name
    subscribers = [
        Subscriber(
            id=member.id,
            rank=member.instance_id or member.id,
            topics=frozenset(topics[name].id for name in names[member.id] if name in topics),
            has=frozenset(
                (topic_id, index)
                for topic_id, indexes in group.targets.get(member.id, NOTHING).items()
                for index in indexes
            ),
        )
        for member in group.members.values()
    ]
    assigned = ASSIGNORS[preferred_assignor(groups, group)](subscribers, counts)
    for member_id, partitions in assigned.items():
        target = {topic_id: frozenset(indexes) for topic_id, indexes in partitions.items()}
        if target != group.targets.get(member_id):
            draft.write(records.target(group.id, member_id, target))
    draft.write(records.target_epoch(group.id, group.epoch, now.wall_ms))


def preferred_assignor(groups: "Groups", group: ConsumerGroup) -> str:
    """The one most members ask for; the broker's first where nobody asks."""
    offered = groups.limits.consumer_assignors
    votes = Counter(m.assignor for m in group.members.values() if m.assignor in offered)
    if not votes:
        return offered[0]
    return max(votes, key=lambda name: (votes[name], -offered.index(name)))

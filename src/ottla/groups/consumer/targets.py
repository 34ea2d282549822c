"""When a group's epoch grows, and the target that is made for it."""

from collections import Counter
from typing import TYPE_CHECKING

from ottla.coordination.machine import Instant
from ottla.groups.consumer import records, regex
from ottla.groups.consumer.assignors import ASSIGNORS, Subscriber
from ottla.groups.consumer.draft import ConsumerGroupDraft
from ottla.groups.consumer.group import NOTHING, ConsumerGroup, ConsumerGroupMember, ResolvedRegex
from ottla.groups.consumer.topics import metadata_hash, partition_counts
from ottla.ids import Uuid
from ottla.metadata.image import Image

if TYPE_CHECKING:
    from ottla.groups.machine import Groups


def refresh(
    groups: "Groups",
    draft: ConsumerGroupDraft,
    now: Instant,
    reason: str,
    *,
    resubscribed: bool,
    new_regex: str = "",
) -> None:
    """Raise the epoch if a member wants other topics than before, or the topics are others. What
    else a member says of itself (rack, assignor) counts with the next change of these.

    A regex that nobody had before (`new_regex`) is resolved after the answer to the heartbeat that
    brought it: clients see the topics it has by name first, as with Kafka."""
    group = draft.group
    forget_unused_regexes(draft)
    changed = _resolve_regexes(groups, draft, now, new_regex) or resubscribed
    if changed or group.topics_seen != groups.topics_version:
        new_hash = metadata_hash(groups.image(), group.subscribed_topics())
        if changed or new_hash != group.metadata_hash:
            raise_epoch(groups, draft, now, reason, new_hash)
    group.topics_seen = groups.topics_version
    groups.note_topics_seen(group.id)


def raise_epoch(
    groups: "Groups", draft: ConsumerGroupDraft, now: Instant, reason: str, topics_hash: int
) -> None:
    group = draft.group
    groups.history(group.id).begin(group.id, reason, now.seconds, now.wall_ms)
    draft.write(records.group_epoch(group.id, group.epoch + 1, topics_hash))


def advance(groups: "Groups", draft: ConsumerGroupDraft, now: Instant) -> bool:
    """Make the target for the epoch, if `group.consumer.assignment.interval.ms` have passed since
    the last one: many who join together share one. Whether one was made."""
    group = draft.group
    is_due = group.epoch > group.assignment_epoch and may_advance(groups, group, now)
    if is_due:
        _make_target(groups, draft, now)
    return is_due


def may_advance(groups: "Groups", group: ConsumerGroup, now: Instant) -> bool:
    interval_ms = groups.pace_of(group.id).assignment_interval_ms
    since_ms = now.wall_ms - group.assigned_at_ms
    # 0: nobody knows when it was made. And a clock may have gone back.
    return group.assigned_at_ms == 0 or not 0 <= since_ms < interval_ms


def forget_unused_regexes(draft: ConsumerGroupDraft) -> None:
    group = draft.group
    wanted = {member.regex for member in group.members.values()}
    for pattern in group.regexes.keys() - wanted:
        draft.write(records.regex_tombstone(group.id, pattern))


def _resolve_regexes(
    groups: "Groups", draft: ConsumerGroupDraft, now: Instant, new_regex: str
) -> bool:
    """Whether one of them stands for other topics than before."""
    group, image = draft.group, groups.image()
    changed = False
    wanted = {member.regex for member in group.members.values()} - {"", new_regex}
    for pattern in sorted(wanted):
        known = group.regexes.get(pattern)
        if known is not None and group.topics_seen == groups.topics_version:
            continue
        topics = regex.matching(pattern, image.topics_by_name)
        changed |= topics != (known.topics if known is not None else ())
        if known is None or known.topics != topics:
            resolved = ResolvedRegex(topics, max(image.offset, 0), now.wall_ms)
            draft.write(records.regex(group.id, pattern, resolved))
    return changed


def topic_ids(image: Image, group: ConsumerGroup, member: ConsumerGroupMember) -> frozenset[Uuid]:
    """Those of the topics it wants that exist."""
    topics = image.topics_by_name
    return frozenset(topics[name].id for name in group.topics_of(member) if name in topics)


def _make_target(groups: "Groups", draft: ConsumerGroupDraft, now: Instant) -> None:
    group, image = draft.group, groups.image()
    counts = partition_counts(image, group.subscribed_topics())
    subscribers = [
        Subscriber(
            id=member.id,
            instance_id=member.instance_id,
            topics=topic_ids(image, group, member),
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

"""ShareGroupHeartbeat: members come, say what they want to read, and go.

Several members may take from one partition, so nobody has to give up anything first: a member is
at its target with its next heartbeat.
"""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.coordination.machine import Decision, Entry, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.consumer.topics import metadata_hash, partition_counts
from ottla.groups.outcome import Caller, Outcome
from ottla.groups.share import records
from ottla.groups.share.group import NOTHING, Member, Partitions, ShareGroup, no_share_group
from ottla.ids import Uuid
from ottla.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

JOINING, LEAVING = 0, -1
WAITING_INTERVAL_MS = 500
Response = ShareGroupHeartbeatResponse


class Draft:
    """A copy of a group with the records that lead there."""

    def __init__(self, group: ShareGroup) -> None:
        self.group = group.copy()
        self.records: list[Entry] = []

    def write(self, *entries: Entry) -> None:
        for entry in entries:
            records.apply(self.group, *entry)
            self.records.append(entry)


def heartbeat(
    groups: "Groups", now: Instant, request: ShareGroupHeartbeatRequest, caller: Caller
) -> Decision[Response]:
    _check(request)
    group = _group(groups, request)
    if request.member_epoch == LEAVING:
        out = Outcome()
        remove(groups, group, group.member(request.member_id), now, "left", out)
        return out.decision(Response(member_id=request.member_id, member_epoch=LEAVING))
    before = _known_or_new(groups, group, request)
    draft = Draft(group)
    names = request.subscribed_topic_names
    member = replace(
        before,
        rack=request.rack_id if request.rack_id is not None else before.rack,
        topics=tuple(sorted(names)) if names is not None else before.topics,
        client_id=caller.client_id,
        client_host=caller.client_host,
    )
    changed = member.topics != before.topics or member.id not in group.members
    if changed or member != before:
        draft.write(records.member_metadata(group.id, member))
    is_behind = group.epoch > group.assignment_epoch
    if changed or is_behind or group.topics_seen != groups.topics_version:
        reason = f"{member.id} {'joined' if before.epoch == 0 else 'changed its subscription'}"
        refresh(groups, draft, now, reason, bump=changed)
    member = _at_target(draft, member.id)
    groups.expect_member(group.id, member.id, now)
    full = request.member_epoch == JOINING or member.partitions != before.partitions
    return Decision(
        draft.records,
        Response(
            member_id=member.id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=_interval_ms(groups, draft.group),
            assignment=_assignment(member) if full else None,
        ),
    )


def _check(request: ShareGroupHeartbeatRequest) -> None:
    problem = None
    if not request.group_id:
        problem = "GroupId can't be empty."
    elif not request.member_id:
        problem = "MemberId can't be empty."
    elif request.rack_id == "":
        problem = "RackId can't be empty."
    elif request.member_epoch < LEAVING:
        problem = "MemberEpoch is invalid."
    elif request.member_epoch == JOINING and not request.subscribed_topic_names:
        problem = "SubscribedTopicNames must be set in first request."
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)


def _group(groups: "Groups", request: ShareGroupHeartbeatRequest) -> ShareGroup:
    group = groups.find(request.group_id)
    if isinstance(group, ShareGroup):
        return group
    if group is not None or request.member_epoch != JOINING:
        no_share_group(request.group_id)
    return ShareGroup(request.group_id)


def _known_or_new(
    groups: "Groups", group: ShareGroup, request: ShareGroupHeartbeatRequest
) -> Member:
    member = group.members.get(request.member_id)
    epoch = request.member_epoch
    if member is None:
        if epoch != JOINING:
            group.member(request.member_id)  # raises
        if len(group.members) >= groups.limits.share_max_size:
            raise KafkaError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                "The share group has reached its maximum capacity of "
                f"{groups.limits.share_max_size} members.",
            )
        return Member(id=request.member_id)
    if epoch not in (JOINING, member.epoch, member.previous_epoch):
        compared = "greater" if epoch > member.epoch else "smaller"
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The share group member has a {compared} member epoch ({epoch}) than the one known "
            f"by the group coordinator ({member.epoch}). The member must abandon all its "
            "partitions and rejoin.",
        )
    return member


def remove(
    groups: "Groups", group: ShareGroup, member: Member, now: Instant, why: str, out: Outcome
) -> None:
    draft = Draft(group)
    draft.write(*records.member_tombstones(group.id, member.id))
    groups.timers.cancel(("member", group.id, member.id))
    refresh(groups, draft, now, f"{member.id} {why}", bump=True)
    out.records += draft.records


def session_ended(
    groups: "Groups", group: ShareGroup, member_id: str, now: Instant, out: Outcome
) -> None:
    member = group.members.get(member_id)
    if member is not None:
        remove(groups, group, member, now, "sent no heartbeat in its session", out)


def refresh(
    groups: "Groups", draft: Draft, now: Instant, reason: str, *, bump: bool = False
) -> None:
    """Bump the epoch if anything that matters changed, and assign anew: now, or when
    `group.share.assignment.interval.ms` have passed since the last time."""
    group, image = draft.group, groups.image()
    names = group.subscribed_topics()
    new_hash = metadata_hash(image, names)
    if bump or new_hash != group.metadata_hash:
        groups.history(group.id).begin(group.id, reason, now.seconds, now.wall_ms)
        draft.write(records.group_epoch(group.id, group.epoch + 1, new_hash))
        counts = partition_counts(image, names)
        _start(draft, {topic: (image.topics_by_id[topic].name, counts[topic]) for topic in counts})
    groups.note_topics_seen(group.id)
    if group.epoch > group.assignment_epoch and group.members:
        interval_ms = groups.pace_of(group.id).share_assignment_interval_ms
        if groups.may_assign(group.id, group.assigned_at_ms, interval_ms, now):
            _make_target(groups, draft, now)


def _make_target(groups: "Groups", draft: Draft, now: Instant) -> None:
    group = draft.group
    counts = partition_counts(groups.image(), group.subscribed_topics())
    for member_id, partitions in _assign(groups, group, counts).items():
        if partitions != group.targets.get(member_id):
            draft.write(records.target(group.id, member_id, partitions))
    draft.write(records.target_epoch(group.id, group.epoch, now.wall_ms))


def is_due(groups: "Groups", group: ShareGroup, now: Instant, out: Outcome) -> None:
    """A target was put off, and its time has come."""
    draft = Draft(group)
    refresh(groups, draft, now, "its members or topics have changed")
    out.records += draft.records


def _interval_ms(groups: "Groups", group: ShareGroup) -> int:
    """Who waits for the next target asks again soon."""
    interval_ms = groups.pace_of(group.id).share_heartbeat_interval_ms
    return (
        min(interval_ms, WAITING_INTERVAL_MS)
        if group.epoch > group.assignment_epoch
        else interval_ms
    )


def _start(draft: Draft, topics: dict[Uuid, tuple[str, int]]) -> None:
    """Note which partitions have a queue from now on."""
    group = draft.group
    wanted = dict(group.started)
    for topic_id, (name, count) in topics.items():
        known = wanted.get(topic_id, (name, frozenset()))[1]
        wanted[topic_id] = (name, known | frozenset(range(count)))
    if wanted != group.started:
        draft.write(records.started(group.id, wanted))


def _assign(groups: "Groups", group: ShareGroup, counts: dict[Uuid, int]) -> dict[str, Partitions]:
    """Every partition has a member and every member a partition, dealt out in turns."""
    ids = groups.image().topics_by_name
    given: dict[str, dict[Uuid, set[int]]] = {member: {} for member in group.members}
    subscriptions: dict[frozenset[Uuid], list[str]] = {}
    for member in sorted(group.members.values(), key=lambda member: member.id):
        topics = frozenset(ids[name].id for name in member.topics if name in ids)
        subscriptions.setdefault(topics, []).append(member.id)
    for topics, members in subscriptions.items():
        places = [
            (topic, index) for topic in counts if topic in topics for index in range(counts[topic])
        ]
        if not places:
            continue
        for turn in range(max(len(places), len(members))):
            topic, index = places[turn % len(places)]
            given[members[turn % len(members)]].setdefault(topic, set()).add(index)
    return {
        member: {topic: frozenset(indexes) for topic, indexes in topics.items()}
        for member, topics in given.items()
    }


def _at_target(draft: Draft, member_id: str) -> Member:
    group = draft.group
    member = group.members[member_id]
    target = group.targets.get(member_id, NOTHING)
    if member.epoch == group.assignment_epoch and member.partitions == target:
        return member
    moved = replace(
        member,
        epoch=group.assignment_epoch,
        previous_epoch=member.epoch,
        partitions=target,
    )
    draft.write(records.current(group.id, moved))
    return moved


def _assignment(member: Member) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(indexes))
            for topic_id, indexes in member.partitions.items()
        ]
    )

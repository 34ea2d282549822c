"""ShareGroupHeartbeat: members come, say what they want to read, and go.

Several members may take from one partition, so nobody has to give up anything first: a member is
at its target with its next heartbeat. A partition is given to members once it has a state.
"""

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.consumer.topics import metadata_hash
from ottla.groups.outcome import Caller, Outcome
from ottla.groups.share import records
from ottla.groups.share.assigning import assign
from ottla.groups.share.group import NOTHING, ShareGroup, ShareGroupMember, no_share_group
from ottla.groups.share.starting import ToInitialize, begin, missing, without_deleted_topics
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
Response = ShareGroupHeartbeatResponse


class ShareGroupDraft:
    """A copy of a group with the records that lead there."""

    def __init__(self, group: ShareGroup) -> None:
        self.group = group.copy()
        self.records: list[CoordinatorRecord] = []

    def write(self, *entries: CoordinatorRecord) -> None:
        for entry in entries:
            records.apply(self.group, *entry)
            self.records.append(entry)


class ShareGroupHeartbeatResult(NamedTuple):
    """What the member is told, and which states are to be made for its group."""

    response: Response
    to_initialize: ToInitialize | None = None


def heartbeat(
    groups: "Groups", now: Instant, request: ShareGroupHeartbeatRequest, caller: Caller
) -> Decision[ShareGroupHeartbeatResult]:
    _check(request)
    group = _group(groups, request)
    if request.member_epoch == LEAVING:
        out = Outcome()
        remove(groups, group, group.member(request.member_id), now, "left", out)
        return out.decision(
            ShareGroupHeartbeatResult(Response(member_id=request.member_id, member_epoch=LEAVING))
        )
    before = _known_or_new(groups, group, request)
    draft = ShareGroupDraft(group)
    names = request.subscribed_topic_names
    member = replace(
        before,
        rack=request.rack_id if request.rack_id is not None else before.rack,
        topics=tuple(sorted(set(names))) if names is not None else before.topics,
        client_id=caller.client_id,
        client_host=caller.client_host,
    )
    if member != before or member.id not in group.members:
        draft.write(records.member_metadata(group.id, member))
    is_changed = _refresh(groups, draft, member, before, now)
    member = _at_target(groups, draft, member.id, is_changed)
    groups.expect_member(group.id, member.id, now)
    to_initialize = _begin_states(groups, draft, now)
    is_full = request.member_epoch == JOINING or names is not None
    response = Response(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=groups.pace_of(group.id).share_heartbeat_interval_ms,
        assignment=_assignment(member)
        if is_full or member.partitions != before.partitions
        else None,
    )
    return Decision(draft.records, ShareGroupHeartbeatResult(response, to_initialize))


def _check(request: ShareGroupHeartbeatRequest) -> None:
    problem = None
    if not request.member_id.strip():
        problem = "MemberId can't be empty."
    elif not request.group_id.strip():
        problem = "GroupId can't be empty."
    elif request.rack_id is not None and not request.rack_id.strip():
        problem = "RackId can't be empty."
    elif request.member_epoch == JOINING and not request.subscribed_topic_names:
        problem = "SubscribedTopicNames must be set in first request."
    elif request.member_epoch < LEAVING:
        problem = "MemberEpoch is invalid."
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
) -> ShareGroupMember:
    member = group.members.get(request.member_id)
    epoch = request.member_epoch
    if member is None:
        if len(group.members) >= groups.limits.share_max_size:
            raise KafkaError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                "The share group has reached its maximum capacity of "
                f"{groups.limits.share_max_size} members.",
            )
        if epoch != JOINING:
            group.member(request.member_id)  # raises
        return ShareGroupMember(id=request.member_id)
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
    groups: "Groups",
    group: ShareGroup,
    member: ShareGroupMember,
    now: Instant,
    why: str,
    out: Outcome,
) -> None:
    """Others get its part with their next heartbeats."""
    draft = ShareGroupDraft(group)
    draft.write(*records.member_tombstones(group.id, member.id))
    groups.timers.cancel(("member", group.id, member.id))
    _bump(groups, draft, now, f"{member.id} {why}")
    out.records += draft.records


def session_ended(
    groups: "Groups", group: ShareGroup, member_id: str, now: Instant, out: Outcome
) -> None:
    member = group.members.get(member_id)
    if member is not None:
        remove(groups, group, member, now, "sent no heartbeat in its session", out)


def _refresh(
    groups: "Groups",
    draft: ShareGroupDraft,
    member: ShareGroupMember,
    before: ShareGroupMember,
    now: Instant,
) -> bool:
    """Bump the epoch if anything that matters changed, and assign anew: now, or with a heartbeat
    when `group.share.assignment.interval.ms` have passed since the last time."""
    group = draft.group
    is_new_image = group.topics_seen != groups.topics_version
    if is_new_image:
        kept = without_deleted_topics(group, groups.image())
        if kept is not None:
            draft.write(records.noted(group.id, kept))
    is_changed = member.topics != before.topics
    if group.assignment_epoch >= group.epoch:
        is_changed |= _has_unassigned_partitions(group)
    names = group.subscribed_topics()
    if is_new_image and metadata_hash(groups.image(), names) != group.metadata_hash:
        is_changed = True
    if is_changed:
        what = "joined" if before.epoch == 0 else "or its topics have changed"
        _bump(groups, draft, now, f"{member.id} {what}")
    groups.note_topics_seen(group.id)
    if group.epoch > group.assignment_epoch:
        interval_ms = groups.pace_of(group.id).share_assignment_interval_ms
        since_ms = now.wall_ms - group.assigned_at_ms
        if group.assigned_at_ms == 0 or not 0 <= since_ms < interval_ms:
            _make_target(groups, draft, now)
    return is_changed


def _bump(groups: "Groups", draft: ShareGroupDraft, now: Instant, reason: str) -> None:
    group = draft.group
    groups.history(group.id).begin(group.id, reason, now.seconds, now.wall_ms)
    new_hash = metadata_hash(groups.image(), group.subscribed_topics())
    draft.write(records.group_epoch(group.id, group.epoch + 1, new_hash))


def _has_unassigned_partitions(group: ShareGroup) -> bool:
    """Their states were made since the last time."""
    if group.is_empty:
        return False
    assigned: dict[Uuid, frozenset[int]] = {}
    for partitions in group.targets.values():
        for topic_id, indexes in partitions.items():
            assigned[topic_id] = assigned.get(topic_id, frozenset()) | indexes
    names = group.subscribed_topics()
    return any(
        name in names and assigned.get(topic_id) != indexes
        for topic_id, (name, indexes) in group.initialized.items()
    )


def _make_target(groups: "Groups", draft: ShareGroupDraft, now: Instant) -> None:
    group, ids = draft.group, groups.image().topics_by_name
    wanted = {
        member.id: frozenset(ids[name].id for name in member.topics if name in ids)
        for member in group.members.values()
    }
    assignable = {topic_id: indexes for topic_id, (_, indexes) in group.initialized.items()}
    for member_id, partitions in assign(wanted, assignable, group.targets).items():
        if partitions != group.targets.get(member_id):
            draft.write(records.target(group.id, member_id, partitions))
    draft.write(records.target_epoch(group.id, group.epoch, now.wall_ms))


def _begin_states(groups: "Groups", draft: ShareGroupDraft, now: Instant) -> ToInitialize | None:
    group = draft.group
    topics = missing(groups, group, now)
    if not topics:
        return None
    draft.write(begin(groups, group, topics, now))
    return ToInitialize(group.id, group.epoch, topics)


def _at_target(
    groups: "Groups", draft: ShareGroupDraft, member_id: str, is_changed: bool
) -> ShareGroupMember:
    """What the target says, but for topics it does not want any more."""
    group, ids = draft.group, groups.image().topics_by_name
    member = group.members[member_id]
    if member.epoch == group.assignment_epoch and not is_changed:
        return member
    wanted = {ids[name].id for name in member.topics if name in ids}
    target = group.targets.get(member_id, NOTHING)
    moved = replace(
        member,
        partitions={topic: indexes for topic, indexes in target.items() if topic in wanted},
    )
    if member.epoch != group.assignment_epoch:
        moved = replace(moved, epoch=group.assignment_epoch, previous_epoch=member.epoch)
    if moved != member:
        draft.write(records.current(group.id, moved))
    return moved


def _assignment(member: ShareGroupMember) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=sorted(indexes))
            for topic_id, indexes in member.partitions.items()
        ]
    )

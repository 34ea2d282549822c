"""ConsumerGroupHeartbeat: a member joins, lives, changes what it wants, gives up, gets."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ottla.coordination.machine import Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.records import tombstone
from ottla.groups.consumer import leaving, migration, records, regex, targets
from ottla.groups.consumer.draft import ConsumerGroupDraft
from ottla.groups.consumer.group import (
    JOINING,
    LEAVING,
    LEAVING_STATIC,
    NOTHING,
    ConsumerGroup,
    ConsumerGroupMember,
    ConsumerMemberState,
    Held,
    no_consumer_group,
)
from ottla.groups.consumer.reconciling import Goal, Owned, reconcile
from ottla.groups.outcome import Caller, Outcome
from ottla.groups.share.group import ShareGroup
from ottla.groups.streams.group import StreamsGroup
from ottla.ids import show_uuid
from ottla.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ResponseTopicPartitions,
)

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

Response = ConsumerGroupHeartbeatResponse


def heartbeat(
    groups: "Groups", now: Instant, request: ConsumerGroupHeartbeatRequest, caller: Caller
) -> Decision[Response]:
    _check(groups, request, caller.api_version)
    if request.member_epoch in (LEAVING, LEAVING_STATIC):
        return leaving.leave(groups, now, request)
    out = Outcome()
    try:
        group = _group(groups, now, request, out)
    except KafkaError as refusal:
        if not out.answers:
            raise
        return out.decision(Response(error_code=refusal.code, error_message=refusal.message))
    check_room(groups, group, request.member_id)
    owned = _owned(request)
    if _nothing_new(groups, group, request, caller, now):
        member = group.members[request.member_id]
        groups.expect_member(group.id, member.id, now)
        return Decision((), _response(groups, group, member, request, changed=False))
    draft = ConsumerGroupDraft(group)
    before = _known_or_new(groups, draft, request, owned)
    member = _updated(before, request, caller)
    other_regex = member.regex != before.regex
    bump = member.topics != before.topics
    new_regex = ""
    if other_regex:
        bump |= not member.regex or _is_resolved(draft.group, member.regex)
        if _is_new(draft.group, member.regex):
            new_regex = member.regex
            regex.check(new_regex)
    resubscribed = bump or other_regex
    if member != before or member.id not in draft.group.members:
        draft.write(records.member_metadata(group.id, member))
    why = _why(before, member)
    targets.refresh(groups, draft, now, why, resubscribed=bump, new_regex=new_regex)
    if not targets.advance(groups, draft, now) and _is_told_first(group, member.instance_id):
        # Kafka looks for the last target under the instance id, and there is none. It is
        # not written: the next target is made from what the member had.
        draft.group.targets.pop(member.id, None)
    moved = step(groups, group, draft, member.id, owned, now, resubscribed=resubscribed)
    groups.expect_member(group.id, moved.id, now)
    out.records += draft.records
    changed = moved.held != before.held
    return out.decision(_response(groups, draft.group, moved, request, changed=changed))


def _group(
    groups: "Groups", now: Instant, request: ConsumerGroupHeartbeatRequest, out: Outcome
) -> ConsumerGroup:
    """The group; for who joins, a new one, or a classic one that becomes one of these."""
    group = groups.find(request.group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if request.member_epoch != JOINING or isinstance(group, ShareGroup | StreamsGroup):
        no_consumer_group(request.group_id)
    if group is None or group.is_empty:
        if group is not None and group.written:
            out.records.append(tombstone(group.id))
        return ConsumerGroup(request.group_id)
    return migration.upgrade(groups, group, now, out) or no_consumer_group(group.id)


def _check(groups: "Groups", request: ConsumerGroupHeartbeatRequest, api_version: int) -> None:
    epoch = request.member_epoch
    problem = None
    named = api_version >= 1 or epoch > JOINING or epoch == LEAVING
    if named and _is_blank(request.member_id):
        problem = "MemberId can't be empty."
    elif _is_blank(request.group_id):
        problem = "GroupId can't be empty."
    elif _is_blank(request.instance_id):
        problem = "InstanceId can't be empty."
    elif _is_blank(request.rack_id):
        problem = "RackId can't be empty."
    elif epoch < LEAVING_STATIC:
        problem = "MemberEpoch is invalid."
    elif epoch == LEAVING_STATIC and request.instance_id is None:
        problem = "InstanceId can't be null."
    elif epoch == JOINING:
        if request.rebalance_timeout_ms == -1:
            problem = "RebalanceTimeoutMs must be provided in first request."
        elif request.topic_partitions is None or request.topic_partitions:
            problem = "TopicPartitions must be empty when (re-)joining."
        elif request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            problem = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null."
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)
    offered = groups.limits.consumer_assignors
    if request.server_assignor is not None and request.server_assignor not in offered:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. "
            f"Supported assignors: {', '.join(offered)}.",
        )


def _is_blank(text: str | None) -> bool:
    return text is not None and not text.strip()


def check_room(groups: "Groups", group: ConsumerGroup, member_id: str) -> None:
    limit = groups.limits.consumer_max_size
    if len(group.members) >= limit and member_id not in group.members:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {limit} members.",
        )


def _is_told_first(group: ConsumerGroup, instance_id: str | None) -> bool:
    return instance_id is not None and instance_id not in group.static_ids


def _is_new(group: ConsumerGroup, pattern: str) -> bool:
    return bool(pattern) and all(member.regex != pattern for member in group.members.values())


def _is_resolved(group: ConsumerGroup, pattern: str) -> bool:
    return pattern in group.regexes and any(m.regex == pattern for m in group.members.values())


def _owned(request: ConsumerGroupHeartbeatRequest) -> Owned:
    if request.topic_partitions is None:
        return None
    return {place.topic_id: frozenset(place.partitions) for place in request.topic_partitions}


def _nothing_new(
    groups: "Groups",
    group: ConsumerGroup,
    request: ConsumerGroupHeartbeatRequest,
    caller: Caller,
    now: Instant,
) -> bool:
    """The usual heartbeat: a known member in its epoch that has what it should, and wants what it
    wanted."""
    member = group.members.get(request.member_id)
    return (
        member is not None
        and member.epoch == request.member_epoch != JOINING
        and member.instance_id == request.instance_id
        and member.classic is None
        and member.is_reconciled_to(group.assignment_epoch)
        and group.topics_seen == groups.topics_version
        and (not member.regex or member.regex in group.regexes)
        and (group.epoch == group.assignment_epoch or not targets.may_advance(groups, group, now))
        and _updated(member, request, caller) == member
    )


# -- members ----------------------------------------------------------------------------------


def _known_or_new(
    groups: "Groups",
    draft: ConsumerGroupDraft,
    request: ConsumerGroupHeartbeatRequest,
    owned: Owned,
) -> ConsumerGroupMember:
    group = draft.group
    member_id = request.member_id or show_uuid(groups.new_uuid())
    joins = request.member_epoch == JOINING
    if request.instance_id is not None:
        if not joins:
            member = group.static_member(request.instance_id, member_id)
            check_epoch(member, request.member_epoch, owned)
            return member
        known_id = group.static_ids.get(request.instance_id)
        if known_id is not None:
            return _come_back(draft, group.members[known_id], member_id)
    if joins:
        return group.members.get(member_id) or ConsumerGroupMember(id=member_id)
    member = group.member(member_id)
    check_epoch(member, request.member_epoch, owned)
    return member


def check_epoch(member: ConsumerGroupMember, epoch: int, owned: Owned) -> None:
    """The current epoch, or the one before it if the answer that told of this one was lost."""
    if epoch == member.epoch:
        return
    if epoch > member.epoch:
        compared = "greater"
    elif epoch == member.previous_epoch and _is_part_of(owned, member.held):
        return
    else:
        compared = "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {compared} member epoch ({epoch}) than the one known "
        f"by the group coordinator ({member.epoch}). The member must abandon all its partitions "
        "and rejoin.",
    )


def _is_part_of(owned: Owned, held: Held) -> bool:
    if owned is None:
        return False
    return all(parts <= held.get(topic, {}).keys() for topic, parts in owned.items())


def _come_back(
    draft: ConsumerGroupDraft, old: ConsumerGroupMember, new_id: str
) -> ConsumerGroupMember:
    """Between members of the consumer protocol an instance id goes over only when it was left."""
    if old.classic is None and old.epoch != LEAVING_STATIC:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {new_id} with instance id {old.instance_id} cannot join because the "
            f"instance id is owned by {old.id} member.",
        )
    return replace_static(draft, old, new_id)


def replace_static(
    draft: ConsumerGroupDraft, old: ConsumerGroupMember, new_id: str
) -> ConsumerGroupMember:
    """An instance that has left, or was restarted, comes back: it gets what it had."""
    group_id = draft.group.id
    target = draft.group.targets.get(old.id, NOTHING)
    member = replace(old, id=new_id, epoch=0, previous_epoch=0)
    draft.write_all(records.member_tombstones(group_id, old.id))
    draft.write(
        records.member_metadata(group_id, member),
        records.target(group_id, new_id, target),
        records.current(group_id, member),
    )
    return member


def _updated(
    member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, caller: Caller
) -> ConsumerGroupMember:
    """The member as it describes itself now; what it does not say stays."""
    names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack=member.rack if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=(
            request.rebalance_timeout_ms
            if request.rebalance_timeout_ms != -1
            else member.rebalance_timeout_ms
        ),
        assignor=request.server_assignor if request.server_assignor else member.assignor,
        topics=tuple(sorted(set(names))) if names is not None else member.topics,
        regex=pattern if pattern is not None else member.regex,
        client_id=caller.client_id,
        client_host=caller.client_host,
        classic=None,
    )


def _why(before: ConsumerGroupMember, after: ConsumerGroupMember) -> str:
    if before.epoch == 0 and not before.held:
        return f"{after.id} joined"
    if (before.topics, before.regex) != (after.topics, after.regex):
        return f"{after.id} changed its subscription"
    return "the topics it reads have changed"


# -- moving on --------------------------------------------------------------------------------


def step(
    groups: "Groups",
    before: ConsumerGroup,
    draft: ConsumerGroupDraft,
    member_id: str,
    owned: Owned,
    now: Instant,
    *,
    resubscribed: bool,
) -> ConsumerGroupMember:
    """Lead the member one step towards its target, and watch how long it takes to give up.

    Free is what nobody had `before`, not even the member itself where it has taken another's
    place since."""
    group, member = draft.group, draft.member(member_id)
    goal = Goal(
        group.targets.get(member.id, NOTHING),
        group.assignment_epoch,
        targets.topic_ids(groups.image(), group, member),
        resubscribed,
    )
    moved = reconcile(
        member, goal, owned, lambda topic_id, index: before.is_free(topic_id, index, member)
    )
    if moved == member:
        return member
    draft.write(records.current(group.id, moved))
    if moved.state is ConsumerMemberState.UNREVOKED_PARTITIONS and moved.classic is None:
        groups.expect_revocation(group.id, member.id, now, moved.rebalance_timeout_ms)
    else:
        groups.timers.cancel(("revoke", group.id, member.id))
    if moved.is_reconciled_to(group.assignment_epoch):
        groups.history(group.id).member_joined(member.id, now.seconds)
        if group.state == "Stable":
            groups.history(group.id).end(group.id, group.epoch, now.seconds)
    return moved


def _response(
    groups: "Groups",
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    request: ConsumerGroupHeartbeatRequest,
    *,
    changed: bool,
) -> Response:
    full = request.member_epoch == JOINING or (
        request.rebalance_timeout_ms != -1
        and request.topic_partitions is not None
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
    )
    return Response(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=groups.pace_of(group.id).heartbeat_interval_ms,
        assignment=_assignment(member) if full or changed else None,
    )


def _assignment(member: ConsumerGroupMember) -> Assignment:
    return Assignment(
        topic_partitions=[
            ResponseTopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in member.held.items()
            if partitions
        ]
    )

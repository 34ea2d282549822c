"""StreamsGroupHeartbeat: a member joins with its topology, lives, gives up, gets."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ottla.coordination.machine import Decision, Instant
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.classic.group import ClassicGroup
from ottla.groups.classic.records import tombstone
from ottla.groups.outcome import Caller, Outcome
from ottla.groups.streams import answers, checks, leaving, records, targets
from ottla.groups.streams.draft import StreamsGroupDraft
from ottla.groups.streams.group import (
    JOINING,
    LEAVING,
    NOTHING,
    StreamsGroup,
    StreamsGroupMember,
    StreamsMemberState,
    Task,
    Tasks,
    no_streams_group,
)
from ottla.groups.streams.reconciling import Owned, reconcile
from ottla.groups.streams.topics import Configured, MissingTopic
from ottla.groups.streams.topology import StreamsTopology, from_request
from ottla.wire.messages import streams_group_heartbeat as wire
from ottla.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

Request = StreamsGroupHeartbeatRequest
Response = StreamsGroupHeartbeatResponse


class StreamsGroupHeartbeatResult(NamedTuple):
    """What the member is told, and the topics that the broker is to make for its group."""

    response: Response
    missing: tuple[MissingTopic, ...] = ()


def heartbeat(
    groups: "Groups", now: Instant, request: Request, caller: Caller
) -> Decision[StreamsGroupHeartbeatResult]:
    checks.check(request)
    if request.member_epoch < JOINING:
        return _leave(groups, now, request)
    out = Outcome()
    group = _group(groups, request, out)
    before = _known_or_new(groups, group, request)
    topology = _topology(group, request)
    outcome = targets.configured(groups, group, topology)
    owned = _owned(request)
    if outcome.is_ready and owned is not None:
        checks.check_tasks(owned, outcome.task_counts)
    draft = StreamsGroupDraft(group)
    if group.is_empty:
        _wait_for_others(groups, group.id, now)
    reason = _note(draft, before, _updated(before, request, caller), topology)
    targets.refresh(groups, draft, topology, outcome, now, reason)
    delayed, target, epoch = _target(groups, draft, before.id, outcome, now)
    member = step(groups, draft, draft.group.members[before.id], target, epoch, owned, now)
    leaving.expect(groups, group.id, member.id, now)
    if request.shutdown_application:
        group.shutdown_by = member.id
    moved = request.member_epoch == JOINING or member.held != before.held
    response = answers.response_to(groups, group, member, owned, moved=moved)
    response.status = answers.status_of(group, topology, member, outcome, delayed)
    shown = moved and member.endpoint is not None
    answers.tell_endpoints(response, groups, group, draft, request, moved=shown)
    out.records += draft.records
    return out.decision(StreamsGroupHeartbeatResult(response, outcome.missing))


def _leave(
    groups: "Groups", now: Instant, request: Request
) -> Decision[StreamsGroupHeartbeatResult]:
    group = groups.existing(request.group_id)
    if not isinstance(group, StreamsGroup):
        no_streams_group(request.group_id)
    if request.shutdown_application:
        group.shutdown_by = request.member_id
    member = group.member(request.member_id)
    out = Outcome()
    leaving.remove(groups, group, member, now, "left", out)
    return out.decision(
        StreamsGroupHeartbeatResult(Response(member_id=member.id, member_epoch=LEAVING, status=[]))
    )


# -- the group and the member -----------------------------------------------------------------


def _group(groups: "Groups", request: Request, out: Outcome) -> StreamsGroup:
    """The group; for who joins, a new one, or an empty classic one that becomes one of these."""
    group = groups.find(request.group_id)
    if isinstance(group, StreamsGroup):
        return group
    if group is None:
        if request.member_epoch == JOINING:
            return StreamsGroup(request.group_id)
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND, f"Streams group {request.group_id} not found."
        )
    is_empty = isinstance(group, ClassicGroup) and group.is_empty
    if request.member_epoch != JOINING or not is_empty:
        no_streams_group(request.group_id)
    if isinstance(group, ClassicGroup) and group.written:
        out.records.append(tombstone(group.id))
    return StreamsGroup(request.group_id)


def _known_or_new(groups: "Groups", group: StreamsGroup, request: Request) -> StreamsGroupMember:
    if request.member_epoch != JOINING:
        member = group.member(request.member_id)
        checks.check_epoch(member, request.member_epoch, _owned(request))
        return member
    if len(group.members) >= groups.limits.streams_max_size:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            "The streams group has reached its maximum capacity of "
            f"{groups.limits.streams_max_size} members.",
        )
    return group.members.get(request.member_id) or StreamsGroupMember(id=request.member_id)


def _updated(member: StreamsGroupMember, request: Request, caller: Caller) -> StreamsGroupMember:
    """The member as it describes itself now; what it does not say stays."""
    at, tags = request.user_endpoint, request.client_tags
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        rack=member.rack if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        topology_epoch=member.topology_epoch
        if request.topology is None
        else request.topology.epoch,
        process_id=member.process_id if request.process_id is None else request.process_id,
        endpoint=member.endpoint if at is None else (at.host, at.port),
        tags=member.tags if tags is None else {one.key: one.value for one in tags},
        client_id=caller.client_id,
        client_host=caller.client_host,
    )


def _topology(group: StreamsGroup, request: Request) -> StreamsTopology:
    """The first member says what it is; the others must say the same, or be of an older epoch,
    which they are told."""
    known = group.topology
    if request.topology is None:
        if known is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The group has no topology.")
        return known
    said = from_request(request.topology)
    if known is None:
        return said
    if known.epoch <= said.epoch and known != said:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "The topology differs from the group's: topology updates are not supported yet.",
        )
    return known


def _note(
    draft: StreamsGroupDraft,
    before: StreamsGroupMember,
    after: StreamsGroupMember,
    topology: StreamsTopology,
) -> str | None:
    """Write down what is new about the member and its topology; why that means a rebalance."""
    group = draft.group
    joins = after.id not in group.members
    if joins or after != before:
        draft.write(records.member_metadata(group.id, after))
    if group.topology is None:
        draft.write(records.topology(group.id, topology))
    if joins:
        return f"{after.id} joined"
    return f"{after.id} changed what it says about itself" if after != before else None


def _owned(request: Request) -> Owned:
    if request.active_tasks is None or request.standby_tasks is None:
        return None
    return Tasks(
        _tasks(request.active_tasks),
        _tasks(request.standby_tasks),
        _tasks(request.warmup_tasks or ()),
    )


def _tasks(tasks: Iterable[wire.RequestTaskIds]) -> frozenset[Task]:
    return frozenset((one.subtopology_id, index) for one in tasks for index in one.partitions)


# -- moving on --------------------------------------------------------------------------------


def _wait_for_others(groups: "Groups", group_id: str, now: Instant) -> None:
    name = targets.initial_delay(group_id)
    delay_ms = groups.pace_of(group_id).streams_initial_delay_ms
    if delay_ms > 0 and name not in groups.timers:
        groups.timers.set(name, now.seconds + delay_ms / 1000)


def _target(
    groups: "Groups", draft: StreamsGroupDraft, member_id: str, outcome: Configured, now: Instant
) -> tuple[str | None, Tasks, int]:
    """What the member should have, in which epoch, and why that is not the newest."""
    group = draft.group
    delayed = None
    if targets.initial_delay(group.id) in groups.timers:
        return targets.delay(groups, group, now), NOTHING, group.assignment_epoch
    if group.epoch > group.assignment_epoch:
        delayed = targets.delay(groups, group, now)
        if delayed is None:
            targets.make_target(groups, draft, outcome, now)
    return delayed, group.targets.get(member_id, NOTHING), group.assignment_epoch


def step(
    groups: "Groups",
    draft: StreamsGroupDraft,
    member: StreamsGroupMember,
    target: Tasks,
    target_epoch: int,
    owned: Owned,
    now: Instant,
) -> StreamsGroupMember:
    """Lead the member one step towards its target, and watch how long it takes to give up."""
    group = draft.group
    if member.is_reconciled_to(target_epoch):
        return member
    moved = reconcile(member, target, target_epoch, owned, group.taken(member))
    if moved == member:
        return member
    draft.write(records.current(group.id, moved))
    if moved.state is StreamsMemberState.UNREVOKED_TASKS:
        groups.expect_revocation(group.id, member.id, now, moved.rebalance_timeout_ms)
    else:
        groups.timers.cancel(("revoke", group.id, member.id))
    if moved.is_reconciled_to(group.epoch):
        groups.history(group.id).member_joined(member.id, now.seconds)
        if group.state == "Stable":
            groups.history(group.id).end(group.id, group.epoch, now.seconds)
    return moved

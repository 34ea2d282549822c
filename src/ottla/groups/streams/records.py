"""The records of streams groups: written from members, applied to groups."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ottla.coordination.machine import CoordinatorRecord
from ottla.groups.streams.group import (
    FIRST_EPOCH,
    NOTHING,
    StreamsGroup,
    StreamsGroupMember,
    StreamsMemberState,
    Task,
    Tasks,
    TaskSet,
)
from ottla.groups.streams.topology import StreamsTopology
from ottla.wire.message import Message
from ottla.wire.records import streams_groups as wire

RECORDS: dict[int, tuple[type[Message], type[Message]]] = {
    17: (wire.StreamsGroupMetadataKey, wire.StreamsGroupMetadataValue),
    19: (wire.StreamsGroupMemberMetadataKey, wire.StreamsGroupMemberMetadataValue),
    20: (
        wire.StreamsGroupTargetAssignmentMetadataKey,
        wire.StreamsGroupTargetAssignmentMetadataValue,
    ),
    21: (wire.StreamsGroupTargetAssignmentMemberKey, wire.StreamsGroupTargetAssignmentMemberValue),
    22: (
        wire.StreamsGroupCurrentMemberAssignmentKey,
        wire.StreamsGroupCurrentMemberAssignmentValue,
    ),
    23: (wire.StreamsGroupTopologyKey, wire.StreamsGroupTopologyValue),
}

CurrentTasks = wire.StreamsGroupCurrentMemberAssignmentValueTaskIds
TargetTasks = wire.StreamsGroupTargetAssignmentMemberValueTaskIds


def by_subtopology(tasks: Iterable[Task]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for name, index in sorted(tasks):
        grouped.setdefault(name, []).append(index)
    return grouped


# -- writing ----------------------------------------------------------------------------------


def group_epoch(
    group_id: str, epoch: int, metadata_hash: int, validated: int, configs: Mapping[str, str]
) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.StreamsGroupMetadataKey(group_id=group_id),
        wire.StreamsGroupMetadataValue(
            epoch=epoch,
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated,
            last_assignment_configs=[
                wire.LastAssignmentConfig(key=key, value=value)
                for key, value in sorted(configs.items())
            ],
        ),
    )


def topology(group_id: str, one: StreamsTopology) -> CoordinatorRecord:
    return CoordinatorRecord(wire.StreamsGroupTopologyKey(group_id=group_id), one.written)


def member_metadata(group_id: str, member: StreamsGroupMember) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.id),
        wire.StreamsGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=None
            if member.endpoint is None
            else wire.Endpoint(host=member.endpoint[0], port=member.endpoint[1]),
            client_tags=[
                wire.KeyValue(key=key, value=value) for key, value in sorted(member.tags.items())
            ],
        ),
    )


def target_epoch(group_id: str, epoch: int, now_ms: int) -> CoordinatorRecord:
    return CoordinatorRecord(
        wire.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id),
        wire.StreamsGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=now_ms
        ),
    )


def target(group_id: str, member_id: str, tasks: Tasks) -> CoordinatorRecord:
    active, standby, warmup = (
        [
            TargetTasks(subtopology_id=name, partitions=indexes)
            for name, indexes in by_subtopology(role).items()
        ]
        for role in tasks
    )
    return CoordinatorRecord(
        wire.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        wire.StreamsGroupTargetAssignmentMemberValue(
            active_tasks=active, standby_tasks=standby, warmup_tasks=warmup
        ),
    )


def current(group_id: str, member: StreamsGroupMember) -> CoordinatorRecord:
    held, revoking = member.held, member.revoking
    return CoordinatorRecord(
        wire.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.id),
        wire.StreamsGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            active_tasks=_with_epochs(held.active, member.since),
            standby_tasks=_without_epochs(held.standby),
            warmup_tasks=_without_epochs(held.warmup),
            active_tasks_pending_revocation=_with_epochs(revoking.active, member.since),
            standby_tasks_pending_revocation=_without_epochs(revoking.standby),
            warmup_tasks_pending_revocation=_without_epochs(revoking.warmup),
        ),
    )


def _with_epochs(tasks: TaskSet, since: Mapping[Task, int]) -> list[CurrentTasks]:
    return [
        CurrentTasks(
            subtopology_id=name,
            partitions=indexes,
            assignment_epochs=[since[name, index] for index in indexes],
        )
        for name, indexes in by_subtopology(tasks).items()
    ]


def _without_epochs(tasks: TaskSet) -> list[CurrentTasks]:
    return [
        CurrentTasks(subtopology_id=name, partitions=indexes)
        for name, indexes in by_subtopology(tasks).items()
    ]


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    return [
        CoordinatorRecord(key, None)
        for key in (
            wire.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id),
            wire.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
            wire.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member_id),
        )
    ]


def group_tombstones(group: StreamsGroup) -> list[CoordinatorRecord]:
    entries = [one for member in group.members for one in member_tombstones(group.id, member)]
    keys: list[Message] = [
        wire.StreamsGroupTargetAssignmentMetadataKey(group_id=group.id),
        wire.StreamsGroupMetadataKey(group_id=group.id),
        wire.StreamsGroupTopologyKey(group_id=group.id),
    ]
    return entries + [CoordinatorRecord(key, None) for key in keys]


# -- applying ---------------------------------------------------------------------------------


def apply(group: StreamsGroup, key: Message, value: Message | None) -> None:
    match key, value:
        case _, wire.StreamsGroupMetadataValue():
            group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
            group.validated_epoch = value.validated_topology_epoch
            configs = value.last_assignment_configs or ()
            group.configs = {one.key: one.value for one in configs}
        case _, wire.StreamsGroupTopologyValue():
            group.topology, group.configured = StreamsTopology(value), None
        case wire.StreamsGroupTopologyKey(), None:
            group.topology = group.configured = None
        case wire.StreamsGroupMemberMetadataKey(), _:
            _apply_member(group, key.member_id, value)
        case _, wire.StreamsGroupTargetAssignmentMetadataValue():
            group.assignment_epoch = value.assignment_epoch
            group.assigned_at_ms = value.assignment_timestamp
        case wire.StreamsGroupTargetAssignmentMetadataKey(), None:
            group.assignment_epoch, group.assigned_at_ms = FIRST_EPOCH, 0
        case wire.StreamsGroupTargetAssignmentMemberKey(), _:
            if isinstance(value, wire.StreamsGroupTargetAssignmentMemberValue):
                group.targets[key.member_id] = Tasks(
                    _tasks(value.active_tasks),
                    _tasks(value.standby_tasks),
                    _tasks(value.warmup_tasks),
                )
            else:
                group.targets.pop(key.member_id, None)
        case wire.StreamsGroupCurrentMemberAssignmentKey(), _:
            _apply_current(group, key.member_id, value)


def _apply_member(group: StreamsGroup, member_id: str, value: Message | None) -> None:
    if not isinstance(value, wire.StreamsGroupMemberMetadataValue):
        group.members.pop(member_id, None)
        if group.is_empty:
            group.shutdown_by = None
        return
    at = value.user_endpoint
    group.members[member_id] = replace(
        group.members.get(member_id) or StreamsGroupMember(id=member_id),
        instance_id=value.instance_id,
        rack=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        endpoint=None if at is None else (at.host, at.port),
        tags={one.key: one.value for one in value.client_tags},
    )


def _apply_current(group: StreamsGroup, member_id: str, value: Message | None) -> None:
    known = group.members.get(member_id)
    if not isinstance(value, wire.StreamsGroupCurrentMemberAssignmentValue):
        if known is not None:  # the member's own tombstone may follow
            group.members[member_id] = replace(
                known, epoch=-1, previous_epoch=-1, held=NOTHING, revoking=NOTHING, since={}
            )
        return
    since: dict[Task, int] = {}
    for one in (*value.active_tasks, *value.active_tasks_pending_revocation):
        epochs = one.assignment_epochs or [value.member_epoch] * len(one.partitions)
        for index, epoch in zip(one.partitions, epochs, strict=True):
            since[one.subtopology_id, index] = epoch
    states = StreamsMemberState.__members__.values()
    group.members[member_id] = replace(
        known or StreamsGroupMember(id=member_id),
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=StreamsMemberState(value.state)
        if value.state in states
        else StreamsMemberState.UNKNOWN,
        held=Tasks(
            _tasks(value.active_tasks), _tasks(value.standby_tasks), _tasks(value.warmup_tasks)
        ),
        revoking=Tasks(
            _tasks(value.active_tasks_pending_revocation),
            _tasks(value.standby_tasks_pending_revocation),
            _tasks(value.warmup_tasks_pending_revocation),
        ),
        since=since,
    )


def _tasks(tasks: Iterable[CurrentTasks | TargetTasks]) -> TaskSet:
    return frozenset((one.subtopology_id, index) for one in tasks for index in one.partitions)

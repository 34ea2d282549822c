"""What a heartbeat may say, and in which epoch."""

from collections.abc import Mapping

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.streams import topology
from ottla.groups.streams.group import JOINING, LEAVING_STATIC, StreamsGroupMember, Tasks
from ottla.groups.streams.reconciling import Owned
from ottla.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest


def check(request: StreamsGroupHeartbeatRequest) -> None:
    problem = _not_yet(request) or _malformed(request)
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)
    if request.topology is not None:
        topology.check(request.topology)


def _not_yet(request: StreamsGroupHeartbeatRequest) -> str | None:
    """What the protocol has a place for and Apache Kafka 4.3 refuses."""
    if request.instance_id is not None:
        return "Static membership is not yet supported."
    if request.task_offsets is not None or request.task_end_offsets is not None:
        return "Offsets of tasks are not supported yet."
    if request.warmup_tasks:
        return "Warm-up tasks are not supported yet."
    if request.topology is not None:
        for one in request.topology.subtopologies:
            if one.source_topic_regex:
                return "Regular expressions for source topics are not supported yet."
    return None


def _malformed(request: StreamsGroupHeartbeatRequest) -> str | None:
    epoch = request.member_epoch
    tasks = request.active_tasks, request.standby_tasks, request.warmup_tasks
    if not request.member_id.strip():
        return "MemberId can't be empty."
    if not request.group_id.strip():
        return "GroupId can't be empty."
    if request.rack_id is not None and not request.rack_id.strip():
        return "RackId can't be empty."
    if epoch == LEAVING_STATIC:
        return "InstanceId can't be null."
    if epoch < LEAVING_STATIC:
        return f"MemberEpoch {epoch} is less than -2."
    if epoch == JOINING:
        if request.rebalance_timeout_ms == -1:
            return "RebalanceTimeoutMs must be provided in first request."
        if any(role is None or role for role in tasks):
            return "Tasks must be empty when (re-)joining."
        if request.topology is None:
            return "Topology must be non-null when (re-)joining."
    elif request.topology is not None:
        return "Topology can only be provided when (re-)joining."
    if len({role is None for role in tasks}) > 1:
        return "If one task-type is non-null, all must be non-null."
    return None


def check_tasks(owned: Tasks, task_counts: Mapping[str, int]) -> None:
    """Nobody can have tasks that there are not."""
    for role in owned:
        for name, index in role:
            if name not in task_counts:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"Subtopology {name} does not exist in the topology."
                )
            if not 0 <= index < task_counts[name]:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    f"Subtopology {name} has {task_counts[name]} tasks; {index} is none of them.",
                )


def check_epoch(member: StreamsGroupMember, epoch: int, owned: Owned) -> None:
    """The current epoch, or the one before it if the answer that told of this one was lost."""
    if epoch == member.epoch:
        return
    if epoch > member.epoch:
        compared = "greater"
    elif epoch == member.previous_epoch and owned is not None and owned.is_part_of(member.held):
        return
    else:
        compared = "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {compared} member epoch ({epoch}) than the one known "
        f"by the group coordinator ({member.epoch}). The member must abandon all its tasks "
        "and rejoin.",
    )

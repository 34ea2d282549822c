"""What a heartbeat is answered with: epoch, tasks, endpoints, and what is in the way."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ottla.groups.streams.draft import StreamsGroupDraft
from ottla.groups.streams.endpoints import partitions_by_endpoint
from ottla.groups.streams.group import StreamsGroup, StreamsGroupMember, Task
from ottla.groups.streams.reconciling import Owned
from ottla.groups.streams.records import by_subtopology
from ottla.groups.streams.topics import Configured, Status
from ottla.groups.streams.topology import StreamsTopology
from ottla.wire.messages import streams_group_heartbeat as wire

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

Response = wire.StreamsGroupHeartbeatResponse


def response_to(
    groups: "Groups", group: StreamsGroup, member: StreamsGroupMember, owned: Owned, *, moved: bool
) -> Response:
    """With its tasks if they changed, or if it has others: then an answer was lost."""
    response = Response(
        member_id=member.id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=groups.pace_of(group.id).streams_heartbeat_interval_ms,
    )
    if moved or (owned is not None and owned != member.held):
        response.active_tasks = _task_ids(member.held.active)
        response.standby_tasks = _task_ids(member.held.standby)
        response.warmup_tasks = _task_ids(member.held.warmup)
    return response


def tell_endpoints(
    response: Response,
    groups: "Groups",
    group: StreamsGroup,
    draft: StreamsGroupDraft,
    request: wire.StreamsGroupHeartbeatRequest,
    *,
    moved: bool,
) -> None:
    """`moved`: tasks of a member that has an endpoint. `group` is the one whose soft state
    counts: the copy in the draft is thrown away."""
    if moved:
        group.endpoint_epoch += 1
    if group.endpoint_epoch != request.endpoint_information_epoch:
        response.partitions_by_user_endpoint = partitions_by_endpoint(draft.group, groups.image())
    if (
        groups.find(group.id) is not None
    ):  # a new group's record makes it anew, with the first epoch of endpoints
        response.endpoint_information_epoch = group.endpoint_epoch


def _task_ids(tasks: Iterable[Task]) -> list[wire.ResponseTaskIds]:
    return [
        wire.ResponseTaskIds(subtopology_id=name, partitions=indexes)
        for name, indexes in by_subtopology(tasks).items()
    ]


def status_of(
    group: StreamsGroup,
    topology: StreamsTopology,
    member: StreamsGroupMember,
    outcome: Configured,
    delayed: str | None,
) -> list[wire.Status]:
    told: list[tuple[Status, str]] = []
    if member.topology_epoch < topology.epoch:
        detail = f"The topology of the group has epoch {topology.epoch}."
        told.append((Status.STALE_TOPOLOGY, detail))
    if delayed is not None:
        told.append((Status.ASSIGNMENT_DELAYED, f"The assignment waits: {delayed}."))
    if outcome.problem is not None:
        told.append(outcome.problem)
    if group.shutdown_by is not None:
        detail = f"Member {group.shutdown_by} asked for the shutdown of the whole application."
        told.append((Status.SHUTDOWN_APPLICATION, detail))
    return [wire.Status(status_code=code, status_detail=detail) for code, detail in told]

"""When a group's epoch grows, and the target that is made for it."""

from typing import TYPE_CHECKING

from ottla.coordination.machine import Instant
from ottla.groups.streams import records
from ottla.groups.streams.assignor import Work, Worker, assign
from ottla.groups.streams.draft import StreamsGroupDraft
from ottla.groups.streams.group import NOTHING, StreamsGroup
from ottla.groups.streams.topics import Configured, configure
from ottla.groups.streams.topology import StreamsTopology

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

STANDBYS = "num.standby.replicas"
"""The name under which Kafka writes down what a target was made with."""


def configs_of(groups: "Groups", group_id: str) -> dict[str, str]:
    return {STANDBYS: str(groups.pace_of(group_id).streams_standbys)}


def configured(groups: "Groups", group: StreamsGroup, topology: StreamsTopology) -> Configured:
    """The topology against the topics of now, kept until either changes."""
    if group.configured is None or group.topics_seen != groups.topics_version:
        group.configured = configure(topology, groups.image())
        group.topics_seen = groups.topics_version
    return group.configured


def refresh(
    groups: "Groups",
    draft: StreamsGroupDraft,
    topology: StreamsTopology,
    outcome: Configured,
    now: Instant,
    reason: str | None,
) -> None:
    """Bump the epoch if anything that matters changed; `reason`: what the member changed."""
    group = draft.group
    new_hash = outcome.metadata_hash
    validated = topology.epoch if outcome.is_ready else -1
    configs = configs_of(groups, group.id)
    if reason is None and new_hash != group.metadata_hash:
        reason = "the topics it reads have changed"
    elif reason is None and validated != group.validated_epoch:
        reason = "its topics are ready" if outcome.is_ready else "its topics are not ready"
    elif reason is None and configs != group.configs:
        reason = "the number of standby replicas has changed"
    if reason is None:
        return
    groups.history(group.id).begin(group.id, reason, now.seconds, now.wall_ms)
    draft.write(records.group_epoch(group.id, group.epoch + 1, new_hash, validated, configs))


def delay(groups: "Groups", group: StreamsGroup, now: Instant) -> str | None:
    """Why the target of this epoch has to wait, if it has to."""
    if initial_delay(group.id) in groups.timers:
        return "more members may join within the initial rebalance delay"
    since_ms = now.wall_ms - group.assigned_at_ms
    interval_ms = groups.pace_of(group.id).streams_assignment_interval_ms
    if group.assigned_at_ms and 0 <= since_ms < interval_ms:  # a clock may have gone back
        return "the last assignment is younger than the assignment interval"
    return None


def initial_delay(group_id: str) -> tuple[str, str, str]:
    """The name of its timer."""
    return "delay", group_id, ""


def make_target(
    groups: "Groups", draft: StreamsGroupDraft, outcome: Configured, now: Instant
) -> None:
    """Nobody has anything to do while topics are missing."""
    group = draft.group
    workers = [
        Worker(member.id, member.process_id, group.targets.get(member.id, NOTHING))
        for member in group.members.values()
    ]
    counts = outcome.task_counts if outcome.is_ready else {}
    standbys = int(group.configs.get(STANDBYS, "0"))
    for member_id, tasks in assign(workers, Work(counts, outcome.stateful, standbys)).items():
        if tasks != group.targets.get(member_id):
            draft.write(records.target(group.id, member_id, tasks))
    draft.write(records.target_epoch(group.id, group.epoch, now.wall_ms))

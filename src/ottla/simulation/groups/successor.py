"""What a coordinator knows, beside what another one would know that has only its log."""

from typing import Any

from ottla.coordination.loading import replay_record
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.machine import Groups
from ottla.groups.streams.group import StreamsGroup
from ottla.simulation.groups.members import GROUP
from ottla.simulation.groups.shard import GroupLog
from ottla.wire.record_batch import iterate_batches, iterate_records

IN_RECORDS: dict[type, tuple[str, ...]] = {
    ConsumerGroup: (
        "epoch",
        "metadata_hash",
        "assignment_epoch",
        "assigned_at_ms",
        "members",
        "static_ids",
        "targets",
        "owners",
        "regexes",
    ),
    StreamsGroup: (
        "epoch",
        "metadata_hash",
        "validated_epoch",
        "configs",
        "assignment_epoch",
        "assigned_at_ms",
        "topology",
        "members",
        "targets",
    ),
}
"""Of a group of this kind; the rest is not written, and need not survive."""


def forgotten_by_a_successor(groups: Groups, log: GroupLog) -> str:
    """The first thing that would be different; empty: nothing."""
    successor = Groups(groups.limits, groups.new_uuid, groups.image)
    for batch in log.batches:
        for position, header in iterate_batches(batch):
            for record in iterate_records(batch, position, header):
                replay_record(successor, header, record, "successor")
    known, loaded = _facts(groups), _facts(successor)
    for name, fact in known.items():
        if loaded.get(name) != fact:
            return f"{name} is {fact}, and {loaded.get(name)} for a successor"
    return ""


def _facts(groups: Groups) -> dict[str, Any]:
    offsets = groups.offsets
    facts: dict[str, Any] = {
        "offsets": {place: one.offset for place, one in offsets.of(GROUP).items()},
        "offsets in transactions": offsets.pending_places(GROUP),
    }
    group = groups.groups.get(GROUP)
    if isinstance(group, ClassicGroup):
        facts |= _classic(group)
    elif group is not None:
        facts |= {name: getattr(group, name) for name in IN_RECORDS[type(group)]}
    return facts


def _classic(group: ClassicGroup) -> dict[str, Any]:
    """While members join nothing is written: what was agreed on before would be loaded."""
    if group.state is not ClassicGroupState.STABLE:
        return {}
    return {
        "generation": group.generation,
        "protocol": group.protocol,
        "leader": group.leader,
        "subscribed topics": group.subscribed_topics,
        "members": {
            member.id: (
                member.metadata(group.protocol),
                member.assignment,
                member.session_timeout_ms,
                member.rebalance_timeout_ms,
                member.client_id,
                member.client_host,
            )
            for member in group.members.values()
        },
    }

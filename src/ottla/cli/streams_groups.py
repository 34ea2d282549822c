"""Streams groups as people and scripts are shown them: who has which tasks."""

from collections.abc import Iterable
from typing import Any

from ottla.cli.output import print_table
from ottla.client.members import labels
from ottla.client.streams_groups import members
from ottla.wire.messages.streams_group_describe import DescribedGroup, TaskIds


def streams_as_json(group: DescribedGroup) -> dict[str, Any]:
    return {
        "type": "streams",
        "epoch": group.group_epoch,
        "topology_epoch": group.topology.epoch if group.topology else None,
        "members": [
            {
                "member": member.member_id,
                "client": member.client_id,
                "host": member.client_host,
                "process": member.process_id,
                "epoch": member.member_epoch,
                "active": _named(member.assignment.active_tasks),
                "standby": _named(member.assignment.standby_tasks),
                "active_target": _named(member.target_assignment.active_tasks),
                "standby_target": _named(member.target_assignment.standby_tasks),
            }
            for member in group.members
        ],
    }


def print_tasks(group: DescribedGroup) -> None:
    called = labels(members(group))
    rows = [
        (
            called[member.member_id],
            member.member_epoch,
            " ".join(_named(member.assignment.active_tasks)) or "-",
            " ".join(_named(member.assignment.standby_tasks)) or "-",
        )
        for member in group.members
    ]
    print_table(("MEMBER", "EPOCH", "ACTIVE", "STANDBY"), rows, empty="It has no members.")


def _named(tasks: Iterable[TaskIds]) -> list[str]:
    """As Kafka Streams writes tasks."""
    return [f"{one.subtopology_id}_{index}" for one in tasks for index in one.partitions]

"""DescribeGroups and ListGroups: what a group looks like from outside."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from ottla.errors import ErrorCode
from ottla.groups.classic.group import ClassicGroup, State
from ottla.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from ottla.wire.messages.list_groups import ListedGroup

if TYPE_CHECKING:
    from ottla.groups.machine import Groups

NOT_FOUND_SINCE = 6
CLASSIC = "classic"


def describe(groups: "Groups", group_id: str, api_version: int) -> DescribedGroup:
    group = groups.find_classic(group_id)
    if group is None:
        return dead(group_id, api_version)
    settled = group.state is State.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol or "") if settled else "",
        members=[
            DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol) if settled else b"",
                member_assignment=member.assignment if settled else b"",
            )
            for member in group.members.values()
        ],
    )


def dead(group_id: str, api_version: int) -> DescribedGroup:
    described = DescribedGroup(group_id=group_id, group_state="Dead")
    if api_version >= NOT_FOUND_SINCE:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = f"Group {group_id} not found."
    return described


def listed(groups: "Groups", states: Collection[str], types: Collection[str]) -> list[ListedGroup]:
    """Filters are lower case; an empty one lets everything through."""
    return [
        shown
        for shown in map(_listed, groups.groups.values())
        if (not states or shown.group_state.lower() in states)
        and (not types or shown.group_type in types)
    ]


def _listed(group: ClassicGroup) -> ListedGroup:
    return ListedGroup(
        group_id=group.id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=CLASSIC,
    )

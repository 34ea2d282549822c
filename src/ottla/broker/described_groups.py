"""What a group's description may have besides: what the client may do, why it rebalanced last."""

from collections.abc import Iterable
from typing import Protocol

from ottla.broker.access import Access, Resource, authorized_operations
from ottla.broker.transport.context import RequestContext
from ottla.groups.coordinator import GroupCoordinator


class DescribedGroup(Protocol):
    group_id: str
    error_code: int
    authorized_operations: int


class WithStory(DescribedGroup, Protocol):
    rebalance: str | None


def tell_operations(
    groups: Iterable[DescribedGroup], context: RequestContext, access: Access
) -> None:
    for group in groups:
        if group.error_code == 0:
            group.authorized_operations = authorized_operations(
                access, context, Resource.GROUP, group.group_id
            )


def tell_rebalances(groups: Iterable[WithStory], coordinator: GroupCoordinator) -> None:
    for group in groups:
        if group.error_code == 0:
            group.rebalance = coordinator.rebalance_of(group.group_id)

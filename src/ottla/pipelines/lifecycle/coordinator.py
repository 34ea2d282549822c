"""What the coordinator of an application's group is asked: who is in it, and to take one out.

Over the wire, not through librdkafka's admin client. That cannot remove members, and when a broker
is away while it describes a group, it may abort the whole process once the broker is back: the
answer that comes too late finds the question gone (confluentinc/librdkafka#4605).
"""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from ottla.client.connection import Connection
from ottla.client.wire_client import WireClient
from ottla.errors import ErrorCode, OttlaError
from ottla.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

T = TypeVar("T")

DESCRIBE_S_MAX = 10.0
EVICT_S_MAX = 5.0
# A cluster that has just started makes the coordinators' topic when it is first asked.
PASSING = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Member(NamedTuple):
    member_id: str
    client_id: str


class NobodyAnswers(OttlaError):
    """Brokers are away, or the coordinator is not ready: a later question may be answered."""


def members(connection: Connection, group: str) -> list[Member]:
    """Who is in the group; NobodyAnswers, or OttlaError for a refusal."""
    try:
        wire = connection.wire()
    except OttlaError:  # a property that only librdkafka honours, a way to log in for example
        return _members_by_librdkafka(connection, group)
    return _run(_members(wire, group))


def evict(connection: Connection, group: str, instance_id: str, member_id: str) -> bool:
    """Whether a member that is gone is out, so that nobody waits for the end of its session.

    A static member does not leave by itself, and who joins under its name inherits its client id:
    brokers, Apache Kafka's too, then go on naming the dead one. Only this very one is taken out:
    who has replaced it has another member id. Where the wire client cannot honour a property of the
    connection, nothing is done: the session ends by itself.
    """
    member = MemberIdentity(
        member_id=member_id, group_instance_id=instance_id, reason="its process has ended"
    )
    try:
        wire = connection.wire()
    except OttlaError:
        return False
    return _run(_leave(wire, LeaveGroupRequest(group_id=group, members=[member])))


def _run(asking: Coroutine[Any, Any, T]) -> T:
    with ThreadPoolExecutor(1) as thread:  # notebooks have an event loop of their own
        return thread.submit(asyncio.run, asking).result()


async def _members(client: WireClient, group: str) -> list[Member]:
    answer = None
    try:
        async with asyncio.timeout(DESCRIBE_S_MAX), client as wire:
            place = await wire.coordinator(group)
            describe = DescribeGroupsRequest(groups=[group])
            answer = await wire.ask(place, describe, DescribeGroupsResponse)
    except (OttlaError, TimeoutError) as error:
        raise NobodyAnswers(_cannot_look(group, str(error) or "time-out")) from error
    if answer is None:
        raise NobodyAnswers(_cannot_look(group, "its coordinator does not answer"))
    (found,) = answer.groups
    if found.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return []
    if found.error_code:
        code = ErrorCode(found.error_code)
        refusal = NobodyAnswers if code in PASSING else OttlaError
        raise refusal(_cannot_look(group, found.error_message or code.name))
    return [Member(one.member_id, one.client_id) for one in found.members]


def _members_by_librdkafka(connection: Connection, group: str) -> list[Member]:
    """By the call that came before its admin requests, and leaves no question open behind it."""
    from confluent_kafka import KafkaException

    try:
        found = connection.admin().list_groups(group, timeout=DESCRIBE_S_MAX)
    except KafkaException as error:
        raise NobodyAnswers(_cannot_look(group, error.args[0].str())) from error
    return [Member(str(one.id), str(one.client_id)) for each in found for one in each.members]


async def _leave(client: WireClient, leave: LeaveGroupRequest) -> bool:
    try:
        async with asyncio.timeout(EVICT_S_MAX), client as wire:
            place = await wire.coordinator(leave.group_id)
            left = await wire.ask(place, leave, LeaveGroupResponse)
    except (OttlaError, TimeoutError):
        return False
    if left is None or left.error_code:
        return False
    return not any(each.error_code for each in left.members)


def _cannot_look(group: str, reason: str) -> str:
    return f"The group {group} cannot be looked at: {reason.rstrip('.')}."

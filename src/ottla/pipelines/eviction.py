"""Taking a member that is gone out of its group, so that nobody waits for the end of its session.

A static member does not leave by itself, and who joins under its name inherits its client id:
brokers, Apache Kafka's too, then go on naming the dead one. librdkafka's admin client cannot remove
members, so the brokers are asked over the wire. Where they want more than a plain connection,
nothing is done: the session ends by itself.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ottla.config.topology import host_and_port
from ottla.errors import OttlaError
from ottla.ports.network import LinkLost, TcpNetwork
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message
from ottla.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from ottla.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

M = TypeVar("M", bound=Message)

FIND_COORDINATOR_VERSION = 4
LEAVE_GROUP_VERSION = 5
SECONDS_MAX = 5.0


def evict(bootstrap: str, group: str, instance_id: str, member_id: str) -> bool:
    """Whether the member is out. Only this very one: who has replaced it has another member id."""
    member = MemberIdentity(
        member_id=member_id, group_instance_id=instance_id, reason="its process has ended"
    )
    leave = LeaveGroupRequest(group_id=group, members=[member])
    with ThreadPoolExecutor(1) as thread:  # notebooks have an event loop of their own
        return thread.submit(lambda: asyncio.run(_leave(bootstrap, leave))).result()


async def _leave(bootstrap: str, leave: LeaveGroupRequest) -> bool:
    try:
        async with asyncio.timeout(SECONDS_MAX):
            find = FindCoordinatorRequest(coordinator_keys=[leave.group_id])
            place = host_and_port("bootstrap", bootstrap.split(",")[0])
            told = await _ask(place, find, FIND_COORDINATOR_VERSION, FindCoordinatorResponse)
            (found,) = told.coordinators
            if found.error_code:
                return False
            place = found.host, found.port
            left = await _ask(place, leave, LEAVE_GROUP_VERSION, LeaveGroupResponse)
            return not left.error_code and not any(each.error_code for each in left.members)
    except (LinkLost, MalformedMessage, OttlaError, TimeoutError):
        return False


async def _ask(place: tuple[str, int], request: Message, version: int, response: type[M]) -> M:
    link = await TcpNetwork().connect(*place, lambda: None)
    try:
        return await Client(link, "ottla").ask(request, version, response)
    finally:
        link.close()

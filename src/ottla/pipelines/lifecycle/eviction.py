"""Taking a member that is gone out of its group, so that nobody waits for the end of its session.

A static member does not leave by itself, and who joins under its name inherits its client id:
brokers, Apache Kafka's too, then go on naming the dead one. librdkafka's admin client cannot remove
members, so the brokers are asked over the wire. Where they want more than a plain connection,
nothing is done: the session ends by itself.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from ottla.client.connection import Connection
from ottla.errors import OttlaError
from ottla.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

SECONDS_MAX = 5.0


def evict(connection: Connection, group: str, instance_id: str, member_id: str) -> bool:
    """Whether the member is out. Only this very one: who has replaced it has another member id."""
    member = MemberIdentity(
        member_id=member_id, group_instance_id=instance_id, reason="its process has ended"
    )
    leave = LeaveGroupRequest(group_id=group, members=[member])
    with ThreadPoolExecutor(1) as thread:  # notebooks have an event loop of their own
        return thread.submit(lambda: asyncio.run(_leave(connection, leave))).result()


async def _leave(connection: Connection, leave: LeaveGroupRequest) -> bool:
    try:
        async with asyncio.timeout(SECONDS_MAX), connection.wire() as wire:
            place = await wire.coordinator(leave.group_id)
            left = await wire.ask(place, leave, LeaveGroupResponse)
    except (OttlaError, TimeoutError):
        return False
    if left is None or left.error_code:
        return False
    return not any(each.error_code for each in left.members)

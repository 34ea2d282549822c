"""One step of one member towards its target. Pure.

It gives up before it gets: as long as it holds what it should not have, it stays in its epoch;
then it goes to the target's epoch with what is free of its target, and waits for the rest. What a
member has just unsubscribed from it gives up at once, whatever its target still says.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from msgspec.structs import replace

from ottla.errors import ErrorCode, KafkaError
from ottla.groups.consumer.group import ConsumerGroupMember, ConsumerMemberState, Held, Target
from ottla.ids import Uuid

Owned = Target | None
"""What the member says it has; None: it did not say."""
IsFree = Callable[[Uuid, int], bool]
NO_PARTITIONS: frozenset[int] = frozenset()


class Goal(NamedTuple):
    """Where a member is led."""

    target: Target
    epoch: int
    subscribed: Collection[Uuid]  # the topics it wants that exist
    resubscribed: bool  # its subscription changed with this very heartbeat


def reconcile(
    member: ConsumerGroupMember, goal: Goal, owned: Owned, is_free: IsFree
) -> ConsumerGroupMember:
    match member.state:
        case ConsumerMemberState.STABLE:
            if member.epoch != goal.epoch:
                return _next(member, goal, owned, is_free)
            return _without_unsubscribed(member, goal, owned)
        case ConsumerMemberState.UNREVOKED_PARTITIONS:
            if _still_has(member.revoking, owned):
                return _without_unsubscribed(member, goal, owned)
            return _next(member, goal, owned, is_free)
        case ConsumerMemberState.UNKNOWN if owned is None or owned:
            raise KafkaError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The consumer group member is in a unknown state. The member must abandon all its "
                "partitions and rejoin.",
            )
    return _next(member, goal, owned, is_free)


def _still_has(revoking: Held, owned: Owned) -> bool:
    if owned is None:
        return True
    return any(
        not owned.get(topic, NO_PARTITIONS).isdisjoint(revoking[topic]) for topic in revoking
    )


def _without_unsubscribed(
    member: ConsumerGroupMember, goal: Goal, owned: Owned
) -> ConsumerGroupMember:
    gone = {
        topic: dict(partitions)
        for topic, partitions in member.held.items()
        if goal.resubscribed and topic not in goal.subscribed
    }
    if not gone:
        return member
    held = {topic: parts for topic, parts in member.held.items() if topic not in gone}
    revoking = {
        topic: {**member.revoking.get(topic, {}), **gone.get(topic, {})}
        for topic in (*member.revoking, *(topic for topic in gone if topic not in member.revoking))
    }
    if _still_has(revoking, owned):
        return _moved(
            member, member.epoch, ConsumerMemberState.UNREVOKED_PARTITIONS, held, revoking
        )
    return _moved(member, member.epoch, member.state, held, member.revoking)


def _next(
    member: ConsumerGroupMember, goal: Goal, owned: Owned, is_free: IsFree
) -> ConsumerGroupMember:
    target = {topic: parts for topic, parts in goal.target.items() if topic in goal.subscribed}
    kept: dict[Uuid, dict[int, int]] = {}
    revoking: dict[Uuid, dict[int, int]] = {}
    for topic, partitions in member.held.items():
        wanted = target.get(topic, NO_PARTITIONS)
        for index, since in partitions.items():
            side = kept if index in wanted else revoking
            side.setdefault(topic, {})[index] = since
    if revoking and _still_has(revoking, owned):
        return _moved(
            member, member.epoch, ConsumerMemberState.UNREVOKED_PARTITIONS, kept, revoking
        )
    waits = False
    for topic, wanted in target.items():
        for index in wanted - kept.get(topic, {}).keys():
            if is_free(topic, index):
                kept.setdefault(topic, {})[index] = goal.epoch
            else:
                waits = True
    state = ConsumerMemberState.UNRELEASED_PARTITIONS if waits else ConsumerMemberState.STABLE
    return _moved(member, goal.epoch, state, kept, {})


def _moved(
    member: ConsumerGroupMember, epoch: int, state: ConsumerMemberState, held: Held, revoking: Held
) -> ConsumerGroupMember:
    return replace(
        member,
        epoch=epoch,
        previous_epoch=member.epoch,
        state=state,
        held=held,
        revoking=revoking,
    )

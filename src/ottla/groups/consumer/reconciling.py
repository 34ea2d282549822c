"""One step of one member towards its target. Pure.

It gives up before it gets: as long as it holds what it should not have, it stays in its epoch;
then it goes to the target's epoch with what is free of its target, and waits for the rest.
"""

from collections.abc import Callable

from msgspec.structs import replace

from ottla.groups.consumer.group import Held, Member, MemberState, Target
from ottla.ids import Uuid

Owned = Target | None
"""What the member says it has; None: it did not say."""
IsFree = Callable[[Uuid, int], bool]


def reconcile(
    member: Member, target: Target, target_epoch: int, owned: Owned, is_free: IsFree
) -> Member:
    if member.state is MemberState.STABLE and member.epoch == target_epoch:
        return member
    if member.state is MemberState.UNREVOKED_PARTITIONS:
        if _still_has(member.revoking, owned):
            return member
        return _next(member, member.epoch + 1, target, target_epoch, owned, is_free)
    return _next(member, member.epoch, target, target_epoch, owned, is_free)


def _still_has(revoking: Held, owned: Owned) -> bool:
    if owned is None:
        return True
    return any(not owned.get(topic, frozenset()).isdisjoint(revoking[topic]) for topic in revoking)


def _next(
    member: Member, epoch: int, target: Target, target_epoch: int, owned: Owned, is_free: IsFree
) -> Member:
    kept: dict[Uuid, dict[int, int]] = {}
    revoking: dict[Uuid, dict[int, int]] = {}
    for topic, partitions in member.held.items():
        wanted = target.get(topic, frozenset())
        for index, since in partitions.items():
            side = kept if index in wanted else revoking
            side.setdefault(topic, {})[index] = since
    if revoking and _still_has(revoking, owned):
        return _moved(member, epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoking)
    waits = False
    for topic, wanted in target.items():
        for index in wanted - kept.get(topic, {}).keys():
            if is_free(topic, index):
                kept.setdefault(topic, {})[index] = target_epoch
            else:
                waits = True
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return _moved(member, target_epoch, state, kept, {})


def _moved(member: Member, epoch: int, state: MemberState, held: Held, revoking: Held) -> Member:
    return replace(
        member,
        epoch=epoch,
        previous_epoch=member.epoch,
        state=state,
        held=held,
        revoking=revoking,
    )

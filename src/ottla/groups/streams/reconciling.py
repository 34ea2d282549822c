"""One step of one member towards its target. Pure.

It gives up before it gets: as long as it has what it should not have, it stays in its epoch;
then it goes to the target's epoch with what is free of its target, and waits for the rest.
"""

from msgspec.structs import replace

from ottla.groups.streams.group import (
    NOTHING,
    StreamsGroupMember,
    StreamsMemberState,
    Task,
    Tasks,
    TaskSet,
)

Owned = Tasks | None
"""What the member says it has; None: it did not say."""


def reconcile(
    member: StreamsGroupMember,
    target: Tasks,
    target_epoch: int,
    owned: Owned,
    taken: tuple[TaskSet, TaskSet],
) -> StreamsGroupMember:
    """`taken`: tasks that others have, as active ones and in the other roles."""
    if member.is_reconciled_to(target_epoch):
        return member
    if member.state is StreamsMemberState.UNREVOKED_TASKS:
        if _still_has(member.revoking, owned):
            return member
        return _next(member, member.epoch + 1, target, target_epoch, owned, taken)
    return _next(member, member.epoch, target, target_epoch, owned, taken)


def _still_has(revoking: Tasks, owned: Owned) -> bool:
    return owned is None or owned.overlaps(revoking)


def _next(
    member: StreamsGroupMember,
    epoch: int,
    target: Tasks,
    target_epoch: int,
    owned: Owned,
    taken: tuple[TaskSet, TaskSet],
) -> StreamsGroupMember:
    held = member.held
    kept = Tasks(*(has & wanted for has, wanted in zip(held, target, strict=True)))
    revoking = Tasks(*(has - wanted for has, wanted in zip(held, target, strict=True)))
    if revoking and _still_has(revoking, owned):
        return _moved(member, epoch, StreamsMemberState.UNREVOKED_TASKS, kept, revoking, epoch)
    active, others = taken
    free = Tasks(target.active - active, target.standby - others, target.warmup - others)
    gets = Tasks(*(has | new for has, new in zip(kept, free, strict=True)))
    state = StreamsMemberState.STABLE if gets == target else StreamsMemberState.UNRELEASED_TASKS
    return _moved(member, target_epoch, state, gets, NOTHING, target_epoch)


def _moved(
    member: StreamsGroupMember,
    epoch: int,
    state: StreamsMemberState,
    held: Tasks,
    revoking: Tasks,
    since: int,
) -> StreamsGroupMember:
    known = member.since
    epochs: dict[Task, int] = {
        task: known.get(task, since) for task in held.active | revoking.active
    }
    return replace(
        member,
        epoch=epoch,
        previous_epoch=member.epoch,
        state=state,
        held=held,
        revoking=revoking,
        since=epochs,
    )

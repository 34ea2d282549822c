"""Bugs that group coordinators have had, each put back on purpose: the simulation must find it."""

from collections.abc import Callable
from typing import Any

import pytest

from ottla.coordination.machine import Decision, Instant
from ottla.groups.classic import records as classic_records
from ottla.groups.classic.group import Member
from ottla.groups.consumer import reconciling
from ottla.groups.consumer import records as consumer_records
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.machine import Groups
from ottla.groups.offsets import committing

Mutant = Callable[[pytest.MonkeyPatch], None]


def partitions_are_given_while_another_still_has_them(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks whether a partition is free."""
    patch.setattr(ConsumerGroup, "is_free", lambda *_: True)


def what_is_being_given_up_counts_as_free(patch: pytest.MonkeyPatch) -> None:
    """The member was told to give it up: that it has done so is assumed."""
    right = consumer_records._apply_current

    def apply_current(group: ConsumerGroup, member_id: str, value: Any) -> None:
        right(group, member_id, value)
        member = group.members.get(member_id)
        for topic_id, partitions in member.revoking.items() if member else ():
            for index in partitions:
                group.owners.pop((topic_id, index), None)

    patch.setattr(consumer_records, "_apply_current", apply_current)


def nobody_waits_for_a_member_to_give_up(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconciling, "_still_has", lambda *_: False)


def old_epochs_may_commit(patch: pytest.MonkeyPatch) -> None:
    """A zombie's commit overwrites its successor's."""
    patch.setattr(committing, "_check_consumer", lambda *_: None)


def old_generations_may_commit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(committing, "_check_classic", lambda *_, **__: None)


def sessions_do_not_survive_a_move_of_the_coordinator(patch: pytest.MonkeyPatch) -> None:
    """Who dies while the coordinator moves is a member for ever."""
    patch.setattr(Groups, "loaded", lambda self, now: Decision((), None))


def sessions_end_at_once_after_a_move_of_the_coordinator(patch: pytest.MonkeyPatch) -> None:
    """Everyone is thrown out, and rejoins, again and again; nobody is fenced for it."""
    right = Groups.pace_of

    def pace_of(self: Groups, group_id: str) -> Any:
        return right(self, group_id)._replace(session_timeout_ms=1)

    patch.setattr(Groups, "pace_of", pace_of)


def assignments_are_lost_with_the_coordinator(patch: pytest.MonkeyPatch) -> None:
    """Members are loaded without what they were given."""
    right = classic_records._member

    def member(data: Any, protocol: str | None) -> Member:
        loaded = right(data, protocol)
        loaded.assignment = b""
        return loaded

    patch.setattr(classic_records, "_member", member)


def time_outs_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    right = Groups.tick

    def tick(self: Groups, now: Instant) -> Decision[None]:
        while self.timers.pop_due(now.seconds) is not None:
            pass
        return right(self, now)

    patch.setattr(Groups, "tick", tick)


MUTANTS: list[Mutant] = [
    partitions_are_given_while_another_still_has_them,
    what_is_being_given_up_counts_as_free,
    nobody_waits_for_a_member_to_give_up,
    old_epochs_may_commit,
    old_generations_may_commit,
    sessions_do_not_survive_a_move_of_the_coordinator,
    sessions_end_at_once_after_a_move_of_the_coordinator,
    assignments_are_lost_with_the_coordinator,
    time_outs_are_forgotten,
]

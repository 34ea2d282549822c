"""Bugs that group coordinators have had, each put back on purpose: the simulation must find it.

The numbers are those of the list of hazards that this project keeps out.
"""

from collections.abc import Callable
from typing import Any

import pytest

from ottla.coordination import loading
from ottla.coordination.committer import Committer
from ottla.coordination.loading import replay_record
from ottla.coordination.log import ShardLog
from ottla.coordination.machine import CoordinatorRecord, Decision, Instant
from ottla.coordination.shard import Phase, Shard
from ottla.groups.classic import records as classic_records
from ottla.groups.classic.group import ClassicGroup, ClassicGroupMember
from ottla.groups.classic.kind import ClassicKind
from ottla.groups.consumer import reconciling
from ottla.groups.consumer import records as consumer_records
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.consumer.kind import ConsumerKind
from ottla.groups.machine import Groups
from ottla.groups.offsets import committing, removal
from ottla.groups.offsets.store import Offsets, Place
from ottla.groups.streams import reconciling as streams_reconciling
from ottla.groups.streams.group import StreamsGroup
from ottla.groups.streams.kind import StreamsKind
from ottla.wire.record_batch import iterate_batches, iterate_records

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
    """17: a zombie's commit overwrites its successor's."""
    patch.setattr(ConsumerKind, "check_epoch", lambda *_: None)


def old_generations_may_commit(patch: pytest.MonkeyPatch) -> None:
    """17: the same in a classic group."""
    patch.setattr(ClassicKind, "_check_member", lambda *_: None)


def zombies_may_commit_in_transactions(patch: pytest.MonkeyPatch) -> None:
    """17: whoever has a transaction may commit offsets in it."""
    patch.setattr(committing, "_check_in_transaction", lambda *_: None)


def coordinators_answer_before_their_log_is_committed(patch: pytest.MonkeyPatch) -> None:
    """15: what a coordinator promised that was deposed, or dies, is gone."""

    def settle(self: Committer) -> None:
        while self.in_flight:
            self._replies.resolve(self.in_flight.popleft().answers)

    patch.setattr(Committer, "_settle", settle)


def a_new_coordinator_serves_before_it_has_loaded(patch: pytest.MonkeyPatch) -> None:
    """11: it is elected, and knows nobody."""
    right = Shard._load

    async def load(self: Shard[Any], log: ShardLog) -> None:
        self._machine, self.phase = self._new_machine(), Phase.ACTIVE
        await right(self, log)

    patch.setattr(Shard, "_load", load)


def offsets_of_living_groups_expire(patch: pytest.MonkeyPatch) -> None:
    """16: nobody asks whether the group still reads the topic."""
    patch.setattr(ClassicGroup, "is_subscribed_to", lambda *_: False)
    patch.setattr(ConsumerGroup, "is_subscribed_to", lambda *_: False)


def offsets_expire_while_they_are_loaded(patch: pytest.MonkeyPatch) -> None:
    """16: tombstones for what seemed old halfway through the log hit what came after it."""
    right_load, right_loaded = loading.load, Groups.loaded
    hasty: list[CoordinatorRecord] = []

    async def load(machine: Groups, log: ShardLog, name: str) -> int:
        hasty.clear()
        data = await log.read(0, 1 << 30) if log.log_end_offset else b""
        batches = list(iterate_batches(data))
        early = Groups(machine.limits, machine.new_uuid, machine.image)
        for position, header in batches[: len(batches) // 8]:
            for record in iterate_records(data, position, header):
                replay_record(early, header, record, name)
        now = Instant(0.0, batches[-1][1].max_timestamp if batches else 0)
        for group in early.groups.values():
            hasty.extend(removal.expire(early, group, now))
        return await right_load(machine, log, name)

    def loaded(self: Groups, now: Instant) -> Decision[None]:
        decision = right_loaded(self, now)
        return decision._replace(records=[*decision.records, *hasty])

    patch.setattr(loading, "load", load)
    patch.setattr(Groups, "loaded", loaded)


def what_is_deleted_in_a_transaction_is_half_forgotten(patch: pytest.MonkeyPatch) -> None:
    """The producer stays, without its offsets: after the transaction nothing is known of it."""

    def forget(self: Offsets, group_id: str, place: Place) -> None:
        self._by_group.get(group_id, {}).pop(place, None)
        for producer in self._open.get(group_id, ()):
            self._pending[producer].pop((group_id, place), None)

    patch.setattr(Offsets, "_forget", forget)


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

    def member(data: Any, protocol: str | None) -> ClassicGroupMember:
        loaded = right(data, protocol)
        loaded.assignment = b""
        return loaded

    patch.setattr(classic_records, "_member", member)


def later_records_of_a_member_are_half_read(patch: pytest.MonkeyPatch) -> None:
    """After a restart it asks for what it asked for when it came."""

    def update(
        member: ClassicGroupMember, written: ClassicGroupMember, protocol: str | None
    ) -> None:
        member.assignment = written.assignment

    patch.setattr(classic_records, "_update", update)


def time_outs_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    right = Groups.tick

    def tick(self: Groups, now: Instant) -> Decision[None]:
        while self.timers.pop_due(now.seconds) is not None:
            pass
        return right(self, now)

    patch.setattr(Groups, "tick", tick)


def tasks_are_given_while_another_still_has_them(patch: pytest.MonkeyPatch) -> None:
    nothing: frozenset[Any] = frozenset()
    patch.setattr(StreamsGroup, "taken", lambda *_: (nothing, nothing))


def nobody_waits_for_a_member_to_close_its_tasks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(streams_reconciling, "_still_has", lambda *_: False)


def old_epochs_may_commit_for_tasks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StreamsKind, "check_epoch", lambda *_: None)


MUTANTS: list[Mutant] = [
    partitions_are_given_while_another_still_has_them,
    what_is_being_given_up_counts_as_free,
    nobody_waits_for_a_member_to_give_up,
    old_epochs_may_commit,
    old_generations_may_commit,
    zombies_may_commit_in_transactions,
    coordinators_answer_before_their_log_is_committed,
    a_new_coordinator_serves_before_it_has_loaded,
    offsets_of_living_groups_expire,
    offsets_expire_while_they_are_loaded,
    what_is_deleted_in_a_transaction_is_half_forgotten,
    sessions_do_not_survive_a_move_of_the_coordinator,
    sessions_end_at_once_after_a_move_of_the_coordinator,
    assignments_are_lost_with_the_coordinator,
    later_records_of_a_member_are_half_read,
    time_outs_are_forgotten,
]
STREAMS_MUTANTS: list[Mutant] = [
    tasks_are_given_while_another_still_has_them,
    nobody_waits_for_a_member_to_close_its_tasks,
    old_epochs_may_commit_for_tasks,
]

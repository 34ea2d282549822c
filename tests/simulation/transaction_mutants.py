"""Bugs that transactional brokers have had, each put back on purpose: the simulation must find it.

The numbers are those of the list of hazards that this project keeps out.
"""

from collections.abc import Callable
from typing import Any

import pytest

from ottla.broker.handlers.transactions import write_txn_markers
from ottla.broker.producing import transaction_verification
from ottla.coordination.committer import Committer
from ottla.coordination.machine import Decision, Instant, Ticket
from ottla.coordination.shard import Shard
from ottla.errors import ErrorCode
from ottla.log import partition_log, rebuilding, recovery
from ottla.log.partition_log import PartitionLog
from ottla.log.producers import ProducerStates
from ottla.log.segment import Segment
from ottla.log.verification import VerificationGuard
from ottla.transactions import machine
from ottla.transactions.coordinator import TransactionCoordinator
from ottla.transactions.ledger import Ledger

Mutant = Callable[[pytest.MonkeyPatch], None]


def everything_committed_by_replicas_is_stable(patch: pytest.MonkeyPatch) -> None:
    """12: the last stable offset runs ahead of what is decided."""
    patch.setattr(PartitionLog, "last_stable_offset", property(lambda self: self.high_watermark))


def the_stable_offset_is_one_too_far(patch: pytest.MonkeyPatch) -> None:
    """12: an offset too many."""
    defined: Any = PartitionLog.last_stable_offset
    right = defined.fget

    def last_stable_offset(self: PartitionLog) -> int:
        return min(right(self) + 1, self.high_watermark)

    patch.setattr(PartitionLog, "last_stable_offset", property(last_stable_offset))


def aborted_transactions_are_forgotten_by_recovery(patch: pytest.MonkeyPatch) -> None:
    """12: the index of aborted transactions is cut, and nobody fills it again."""
    right = rebuilding.rebuild_producers

    def rebuild(producers: Any, snapshots: Any, segments: list[Segment], *rest: Any) -> None:
        right(producers, snapshots, segments, *rest)
        for segment in segments:
            segment.aborted.truncate_to(segment.base_offset)

    patch.setattr(recovery, "rebuild_producers", rebuild)


def a_new_leader_knows_no_sequences(patch: pytest.MonkeyPatch) -> None:
    """13: no deduplication after a failover."""

    def rebuild(producers: ProducerStates, *rest: Any) -> None:
        producers.replace({}, rest[3])

    patch.setattr(partition_log, "rebuild_producers", rebuild)
    patch.setattr(recovery, "rebuild_producers", rebuild)


def late_batches_are_let_in(patch: pytest.MonkeyPatch) -> None:
    """14: a batch that comes after its transaction has ended begins one that nobody ends."""
    patch.setattr(
        machine, "verify_partitions", lambda _, pid, epoch, partitions: dict.fromkeys(partitions, 0)
    )


def a_marker_that_came_while_we_asked_is_overlooked(patch: pytest.MonkeyPatch) -> None:
    """14: verified, ended, appended."""
    patch.setattr(ProducerStates, "check_verified", lambda self, *producer: None)
    patch.setattr(ProducerStates, "_check_epoch", staticmethod(lambda header, state: None))


def the_guard_is_taken_once(patch: pytest.MonkeyPatch) -> None:
    """21: the marker of the transaction before, waited for, is taken for the end of the next."""
    right = transaction_verification.TransactionVerifier.ask

    async def ask(self: Any, *ask: Any, add: bool) -> Any:
        patience = transaction_verification.Patience(add)
        while await patience.bears(codes := await right(self, *ask, add=add)):
            pass
        return codes

    patch.setattr(transaction_verification.TransactionVerifier, "ask", ask)
    patch.setattr(VerificationGuard, "outlives_marker_of", lambda self, epoch: False)


def the_other_result_is_a_wrong_state(patch: pytest.MonkeyPatch) -> None:
    """21: an abort that comes while the markers of a commit are written is refused for good."""
    right = machine.end

    def end(current: Any, ask: machine.EndTransaction, *rest: Any) -> machine.Step:
        if current is not None and current.state.is_ending and current.state is not ask.prepared:
            raise machine.cannot_end(current, ask)
        return right(current, ask, *rest)

    patch.setattr(machine, "end", end)


def what_waited_is_not_looked_at_again(patch: pytest.MonkeyPatch) -> None:
    """14: when its turn comes this broker may lead what it did not lead before."""
    right = transaction_verification.TransactionVerification.__init__

    def init(self: Any, *arguments: Any) -> None:
        right(self, *arguments)
        first = [self._unverified()]
        self._unverified = lambda: first.pop() if first else []
        self.__class__ = Hasty

    class Hasty(transaction_verification.TransactionVerification):
        is_needed = True

    patch.setattr(transaction_verification.TransactionVerification, "__init__", init)


def late_markers_are_written(patch: pytest.MonkeyPatch) -> None:
    """14: a marker that comes again ends the transaction after its own."""
    patch.setattr(write_txn_markers, "refuse_late", lambda marker, leader: None)


def markers_go_out_before_the_decision_is_committed(patch: pytest.MonkeyPatch) -> None:
    """15: another coordinator may not have it, and decides otherwise."""

    async def finish_prepared(self: TransactionCoordinator, shard: Shard[Ledger]) -> None:
        for transaction in shard.machine:
            if transaction.state.is_ending:
                self._send_markers(shard, transaction)

    patch.setattr(TransactionCoordinator, "_finish_prepared", finish_prepared)


def coordinators_answer_before_their_log_is_committed(patch: pytest.MonkeyPatch) -> None:
    """15: what was told can be lost."""

    def settle(self: Committer) -> None:
        while self.in_flight:
            self._replies.resolve(self.in_flight.popleft().answers)

    patch.setattr(Committer, "_settle", settle)


def epochs_of_coordinators_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    """15: one that was deposed goes on ending transactions."""
    right = ProducerStates.check_marker

    def check_marker(self: ProducerStates, header: Any, marker: Any, **how: Any) -> None:
        newest = None if marker is None else marker._replace(coordinator_epoch=2**30)
        right(self, header, newest, **how)

    patch.setattr(ProducerStates, "check_marker", check_marker)


def verified_is_what_is_not_committed_yet(patch: pytest.MonkeyPatch) -> None:
    """14, 15: the partition's adding is lost, its records stay."""

    async def add_partitions(self: TransactionCoordinator, name: str, *ask: Any) -> None:
        def step(ledger: Ledger, now: Instant, _: Ticket) -> Decision[Any]:
            current = ledger.get(name)
            producer_id, epoch, partitions, *rest = ask
            version = rest[0] if rest else 0
            added = machine.add_partitions(
                current, producer_id, epoch, partitions, now.wall_ms, version
            )
            return ledger.decide(added, current)

        self.shards.of(name).submit(step).add_done_callback(lambda done: done.exception())

    right = TransactionCoordinator.add_partitions

    async def either(
        self: TransactionCoordinator, name: str, *ask: Any, client_version: int = 0
    ) -> None:
        given = [*ask, client_version] if len(ask) == 3 else ask
        await add_partitions(self, name, *given)

    assert right is not None
    patch.setattr(TransactionCoordinator, "add_partitions", either)


def zombies_may_end_transactions(patch: pytest.MonkeyPatch) -> None:
    """17: the epoch of who asks is not looked at."""
    right = machine.end

    def end(current: Any, ask: machine.EndTransaction, *rest: Any) -> machine.Step:
        if current is not None and current.producer_id == ask.producer_id:
            ask = machine.EndTransaction(
                producer_id=ask.producer_id,
                producer_epoch=current.producer_epoch,
                commit=ask.commit,
                client_version=ask.client_version,
            )
        return right(current, ask, *rest)

    patch.setattr(machine, "end", end)


def zombies_may_write(patch: pytest.MonkeyPatch) -> None:
    """17: neither the log nor the coordinator looks at the epoch of a batch."""
    right = machine.owned

    def owned(current: Any, producer_id: int, producer_epoch: int) -> Any:
        epoch = producer_epoch if current is None else current.producer_epoch
        return right(current, producer_id, epoch)

    patch.setattr(machine, "owned", owned)
    patch.setattr(ProducerStates, "_check_epoch", staticmethod(lambda header, state: None))


def sequences_are_not_checked(patch: pytest.MonkeyPatch) -> None:
    """13: what was sent twice is there twice."""
    from ottla.log import producers

    patch.setattr(producers, "_check_sequence", lambda header, state: None)
    patch.setattr(ProducerStates, "find_duplicate", lambda self, header: None)


def time_is_never_up(patch: pytest.MonkeyPatch) -> None:
    """14: a transaction whose client is gone hangs for ever."""
    patch.setattr(machine, "has_timed_out", lambda current, now_ms: False)
    patch.setattr("ottla.transactions.ledger.has_timed_out", lambda current, now_ms: False)


def nobody_is_fenced_by_a_successor(patch: pytest.MonkeyPatch) -> None:
    """17: a new producer of the same name gets the epoch that the old one still uses."""

    def bumped(current: Any, expected_epoch: int | None) -> tuple[int, int]:
        return max(current.producer_epoch, 0), -1

    patch.setattr(machine, "bumped", bumped)


def partitions_count_without_being_added(patch: pytest.MonkeyPatch) -> None:
    """14: the gate says yes to whatever comes."""

    async def yes(self: Any, *ask: Any, add: bool) -> Any:
        return dict.fromkeys(ask[3], ErrorCode.NONE)

    patch.setattr(transaction_verification.TransactionVerifier, "ask", yes)


MUTANTS: list[Mutant] = [
    everything_committed_by_replicas_is_stable,
    the_stable_offset_is_one_too_far,
    aborted_transactions_are_forgotten_by_recovery,
    a_new_leader_knows_no_sequences,
    sequences_are_not_checked,
    late_batches_are_let_in,
    a_marker_that_came_while_we_asked_is_overlooked,
    the_guard_is_taken_once,
    the_other_result_is_a_wrong_state,
    what_waited_is_not_looked_at_again,
    late_markers_are_written,
    partitions_count_without_being_added,
    time_is_never_up,
    markers_go_out_before_the_decision_is_committed,
    coordinators_answer_before_their_log_is_committed,
    verified_is_what_is_not_committed_yet,
    epochs_of_coordinators_are_not_compared,
    zombies_may_end_transactions,
    zombies_may_write,
    nobody_is_fenced_by_a_successor,
]

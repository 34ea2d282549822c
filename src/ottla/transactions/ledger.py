"""The transactions of one shard: the machine behind one partition of `__transaction_state`."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant, RecordTypes
from ottla.errors import ErrorCode, KafkaError
from ottla.transactions import records
from ottla.transactions.machine import Step, complete, fence, has_timed_out, may_expire
from ottla.transactions.states import Transaction
from ottla.wire.message import Message
from ottla.wire.records.transactions import TransactionLogKey, TransactionLogValue

Told = tuple[ErrorCode, Transaction | None]
"""What a client hears, and the transaction as it is then."""


class Ledger:
    """State changes only by `replay`; nothing here is timed: the coordinator asks who is late."""

    RECORDS: RecordTypes = records.RECORDS

    def __init__(self) -> None:
        self._transactions: dict[str, Transaction] = {}
        self._decided: dict[str, Transaction] = {}

    def get(self, transactional_id: str) -> Transaction | None:
        return self._transactions.get(transactional_id)

    def __iter__(self) -> Iterator[Transaction]:
        return iter(list(self._transactions.values()))

    def decide(self, step: Step, current: Transaction | None) -> Decision[Told]:
        if step.after is None:
            return Decision((), (step.told, current))
        return Decision([self._entry_of(step.after)], (step.told, step.after))

    def refuse(self, current: Transaction, refusal: KafkaError) -> Decision[KafkaError]:
        """Refuse for good once the state that this rests on is written again: leadership may have
        moved a moment ago, and leaders add partitions where it is now. Then nothing is committed
        here any more, and the client is sent there."""
        return Decision([self._entry_of(current)], refusal)

    def fence(
        self, expected: Transaction, now_ms: int, version: int, new_producer_id: Callable[[], int]
    ) -> Decision[Transaction | None]:
        """Abort a transaction that took too long, unless it has moved on meanwhile."""
        current = self.get(expected.transactional_id)
        if current is None or not has_timed_out(current, now_ms):
            return Decision((), None)
        after = fence(current, now_ms, version, new_producer_id)
        return Decision([self._entry_of(after)], after)

    def finish(self, prepared: Transaction, now_ms: int) -> Decision[None]:
        """All markers of `prepared` are written."""
        current = self.get(prepared.transactional_id)
        if current is None or current.state is not prepared.state:
            return Decision((), None)
        if (current.producer_id, current.producer_epoch) != (
            prepared.producer_id,
            prepared.producer_epoch,
        ):
            return Decision((), None)
        return Decision([self._entry_of(complete(current, now_ms))], None)

    def expire(self, now_ms: int, expiration_ms: int) -> Decision[int]:
        idle = [t for t in self if may_expire(t, now_ms, expiration_ms)]
        tombstones = [records.tombstone_of(t.transactional_id) for t in idle]
        return Decision(tombstones, len(idle), is_atomic=False)  # any number of them may be due

    def _entry_of(self, after: Transaction) -> CoordinatorRecord:
        """Records do not hold the epoch before a bump: remembered here, a repeated call is known
        as one; after a move of the coordinator it is refused, as Kafka does."""
        self._decided[after.transactional_id] = after
        return records.entry_of(after)

    # --- what a shard asks for

    def replay(self, offset: int, producer_id: int, key: Message, value: Message | None) -> None:
        assert isinstance(key, TransactionLogKey)
        if value is None:
            self._transactions.pop(key.transactional_id, None)
            return
        assert isinstance(value, TransactionLogValue)
        decided = self._decided.pop(key.transactional_id, None)
        transaction = records.transaction_of(key.transactional_id, value)
        if decided is not None and decided.producer_epoch == transaction.producer_epoch:
            transaction = replace(transaction, last_producer_epoch=decided.last_producer_epoch)
        self._transactions[key.transactional_id] = transaction

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """No transaction spans the log of transactions."""

    def loaded(self, now: Instant) -> Decision[None]:
        return Decision((), None)

    def deadline(self) -> float | None:
        return None

    def tick(self, now: Instant) -> Decision[None]:
        return Decision((), None)

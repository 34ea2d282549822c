"""What a partition knows of its producers: sequences, epochs, open transactions.

Deciding (`check`) changes nothing; `apply` follows once the batch is in the log, in the same way
whether it came from a client, a leader or recovery. Files of this state are in
`producer_snapshots`, which transactions hold back readers in `open_transactions`, those that the
coordinator is asked about in `verification`.
"""

from typing import NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.log.open_transactions import CompletedTransaction, OpenTransactions
from ottla.log.verification import VerificationGuard, VerificationGuards
from ottla.wire.record_batch import ABORT_MARKER, NO_SEQUENCE, BatchHeader

BATCHES_KEPT = 5
NO_TRANSACTION = -1
_SEQUENCES = 2**31


class SequencedBatch(NamedTuple):
    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class Marker(NamedTuple):
    """What a control batch says about a transaction."""

    kind: int
    coordinator_epoch: int
    timestamp: int


class ProducerState:
    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "transaction_start",
    )

    def __init__(
        self,
        epoch: int = -1,
        coordinator_epoch: int = -1,
        last_timestamp: int = -1,
        transaction_start: int = NO_TRANSACTION,
        batches: list[SequencedBatch] | None = None,
    ) -> None:
        self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_start = transaction_start
        self.batches = batches if batches is not None else []

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


def is_expired(state: ProducerState, oldest_ms: int) -> bool:
    return state.transaction_start == NO_TRANSACTION and state.last_timestamp <= oldest_ms


class ProducerStates:
    """States by producer id, with the transactions that are open and those being verified."""

    __slots__ = ("_guards", "end_offset", "states", "transactions")

    def __init__(self) -> None:
        self.states: dict[int, ProducerState] = {}
        self.end_offset = 0  # everything below has been applied
        self.transactions = OpenTransactions()
        self._guards = VerificationGuards()

    # --- verifying

    def verify(
        self, producer_id: int, epoch: int, sequence: int, *, adds: bool, now_ms: int
    ) -> VerificationGuard | None:
        """Begin to verify a transaction, or go on; None where it is open: that was verified."""
        state = self.states.get(producer_id)
        if state is not None and epoch < state.epoch:
            raise _old_epoch(producer_id, epoch, state)
        if self.has_ongoing_transaction(producer_id, epoch):
            return None
        return self._guards.begin(producer_id, epoch, sequence, adds=adds, now_ms=now_ms)

    def check_verified(self, producer_id: int, epoch: int, guard: VerificationGuard) -> None:
        """The coordinator agreed. Refuse all the same where something has ended the transaction
        meanwhile, unless another batch of it was first."""
        if self.has_ongoing_transaction(producer_id, epoch):
            return
        state = self.states.get(producer_id)
        if state is not None and epoch < state.epoch:
            raise _old_epoch(producer_id, epoch, state)
        self._guards.check(producer_id, guard)

    # --- deciding

    def find_duplicate(self, header: BatchHeader) -> SequencedBatch | None:
        state = self.states.get(header.producer_id)
        if state is None or state.epoch != header.producer_epoch:
            return None
        first = header.base_sequence
        if not state.batches or first == state.batches[-1].last_sequence + 1:
            return None  # the usual case: the next in turn
        last = header.last_sequence
        for batch in state.batches:
            if batch.first_sequence == first and batch.last_sequence == last:
                return batch
        return None

    def check(self, header: BatchHeader, *, sequenced: bool) -> None:
        """Refuse a data batch as Kafka does. Coordinators write without sequence numbers."""
        state = self.states.get(header.producer_id)
        if state is not None:
            self._check_epoch(header, state)
        if sequenced and self._guards.by_producer:
            is_unknown = state is None or not state.batches
            self._guards.check_sequence(
                header.producer_id, header.base_sequence, is_unknown=is_unknown
            )
        if state is None:
            return
        if sequenced:
            _check_sequence(header, state)
        if state.transaction_start != NO_TRANSACTION and not header.is_transactional:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"Producer {header.producer_id} has a transaction open since offset "
                f"{state.transaction_start} and wrote outside of it.",
            )

    def check_marker(
        self, header: BatchHeader, marker: Marker | None, *, strict: bool = False
    ) -> None:
        """A marker may carry the epoch of its transaction; with `strict` only a newer one."""
        state = self.states.get(header.producer_id)
        if state is None or marker is None:
            return
        self._check_epoch(header, state)
        if strict and header.producer_epoch == state.epoch:
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"A marker for producer {header.producer_id} has the epoch {state.epoch} of its "
                "transaction; it must be newer.",
            )
        if state.coordinator_epoch > marker.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"A marker for producer {header.producer_id} comes from coordinator epoch "
                f"{marker.coordinator_epoch}; epoch {state.coordinator_epoch} was seen.",
            )

    @staticmethod
    def _check_epoch(header: BatchHeader, state: ProducerState) -> None:
        if header.producer_epoch < state.epoch:
            raise _old_epoch(header.producer_id, header.producer_epoch, state)

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        state = self.states.get(producer_id)
        return (
            state is not None
            and state.transaction_start != NO_TRANSACTION
            and state.epoch == producer_epoch
        )

    # --- applying

    def apply(self, header: BatchHeader) -> None:
        """A data batch of an idempotent producer is in the log."""
        producer_id = header.producer_id
        state = self.states.get(producer_id)
        if state is None:
            state = self.states[producer_id] = ProducerState()
        if state.epoch != header.producer_epoch:
            state.epoch = header.producer_epoch
            state.batches = []
        batches = state.batches
        if len(batches) == BATCHES_KEPT:
            del batches[0]
        batches.append(sequenced(header))
        state.last_timestamp = header.max_timestamp
        if not header.is_transactional:
            return
        if self._guards.by_producer:
            self._guards.by_producer.pop(producer_id, None)
        if state.transaction_start == NO_TRANSACTION:
            state.transaction_start = header.base_offset
            self.transactions.begin(header.base_offset, producer_id)

    def apply_marker(self, header: BatchHeader, marker: Marker) -> CompletedTransaction | None:
        """A transaction ends here; None where it had written nothing to this partition."""
        producer_id = header.producer_id
        state = self.states.get(producer_id)
        if state is None:
            state = self.states[producer_id] = ProducerState()
        self._guards.marker_came(producer_id, header.producer_epoch)
        start = state.transaction_start
        if state.epoch != header.producer_epoch:
            state.epoch = header.producer_epoch
            state.batches = []
        state.coordinator_epoch = marker.coordinator_epoch
        state.last_timestamp = marker.timestamp
        state.transaction_start = NO_TRANSACTION
        if start == NO_TRANSACTION:
            return None
        return CompletedTransaction(
            producer_id, start, header.base_offset, marker.kind == ABORT_MARKER
        )

    # --- forgetting

    def expire(self, oldest_ms: int) -> None:
        """Forget who was last heard of then or before, and has no transaction open."""
        expired = [
            producer_id
            for producer_id, state in self.states.items()
            if is_expired(state, oldest_ms)
        ]
        for producer_id in expired:
            del self.states[producer_id]
        self._guards.expire(oldest_ms)

    def replace(self, states: dict[int, ProducerState], end_offset: int) -> None:
        """Take over a snapshot (or nothing) that holds up to `end_offset`."""
        self.states = states
        self.end_offset = end_offset
        self._guards = VerificationGuards()
        self.transactions = OpenTransactions(
            (state.transaction_start, producer_id)
            for producer_id, state in states.items()
            if state.transaction_start != NO_TRANSACTION
        )

    def on_log_start(self, offset: int) -> None:
        self.transactions.advance_high_watermark(offset)
        self.end_offset = max(self.end_offset, offset)


def _old_epoch(producer_id: int, epoch: int, state: ProducerState) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_PRODUCER_EPOCH,
        f"Producer {producer_id} writes with epoch {epoch}; epoch {state.epoch} was seen.",
    )


def _check_sequence(header: BatchHeader, state: ProducerState) -> None:
    first = header.base_sequence
    if header.producer_epoch != state.epoch:
        if first != 0 and state.epoch != -1:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {header.producer_id} begins epoch {header.producer_epoch} with sequence "
                f"{first} instead of 0 (epoch {state.epoch} was seen).",
            )
        return
    last = state.last_sequence
    if state.epoch != -1 and first != (last + 1) % _SEQUENCES:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Producer {header.producer_id} sends sequence {first} after {last}.",
        )


def sequenced(header: BatchHeader) -> SequencedBatch:
    base, delta, first = header.base_offset, header.last_offset_delta, header.base_sequence
    last = (first + delta) % _SEQUENCES if first >= 0 else NO_SEQUENCE
    return SequencedBatch(first, last, base, base + delta, header.max_timestamp)

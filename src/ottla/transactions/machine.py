"""What may happen to a transaction next.

Pure: `(transaction, ask, now) → Step`. A step names the transaction's next form, to be written
to the log before anyone is told, and what the client hears after that. A refusal without a write
is a `KafkaError`. Nothing here waits, so Kafka's pending transition is the state itself: while
markers are written (`TransactionState.is_ending`) nothing else may begin, and a form that could not
be written is forgotten with the shard that failed to write it.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import TopicPartition
from ottla.transactions.states import (
    LAST_EPOCH,
    MAY_BECOME,
    NO_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    TransactionState,
    epoch_exhausted,
)

EPOCH_BUMP_VERSION = 2


class Step(Struct, frozen=True):
    after: Transaction | None
    """To be written; None: nothing changes."""
    told: ErrorCode = ErrorCode.NONE
    """What the client hears once `after` is committed."""


class InitProducer(Struct, frozen=True, kw_only=True):
    transactional_id: str
    timeout_ms: int
    expected: tuple[int, int] | None = None
    """Producer id and epoch that the client believes to have."""
    server_version: int = EPOCH_BUMP_VERSION


class EndTransaction(Struct, frozen=True, kw_only=True):
    producer_id: int
    producer_epoch: int
    commit: bool
    client_version: int
    """Transaction version of the request: 2 from EndTxn v5 on."""

    @property
    def bumps_epochs(self) -> bool:
        return self.client_version >= EPOCH_BUMP_VERSION

    @property
    def prepared(self) -> TransactionState:
        return TransactionState.PREPARE_COMMIT if self.commit else TransactionState.PREPARE_ABORT

    @property
    def completed(self) -> TransactionState:
        return TransactionState.COMPLETE_COMMIT if self.commit else TransactionState.COMPLETE_ABORT


def init_producer(
    current: Transaction | None, ask: InitProducer, now_ms: int, new_producer_id: Callable[[], int]
) -> Step:
    if current is None:
        current = Transaction(
            transactional_id=ask.transactional_id,
            producer_id=new_producer_id(),
            timeout_ms=ask.timeout_ms,
            updated_ms=now_ms,
        )
    if current.state.is_ending:
        raise busy(current)
    if ask.expected is not None and not may_be_owner(current, *ask.expected):
        raise KafkaError(
            ErrorCode.PRODUCER_FENCED, "A newer producer uses this transactional id now."
        )
    if current.state is TransactionState.ONGOING:
        fenced = fence(current, now_ms, ask.server_version, new_producer_id)
        return Step(fenced, ErrorCode.CONCURRENT_TRANSACTIONS)
    expected_epoch = ask.expected[1] if ask.expected else None
    if current.epochs_exhausted and expected_epoch in (None, current.producer_epoch):
        producer_id, epoch = new_producer_id(), 0
        last_epoch = NO_EPOCH if ask.expected is None else current.producer_epoch
    else:
        producer_id = current.producer_id
        epoch, last_epoch = bumped(current, expected_epoch)
    return Step(
        become(
            current,
            TransactionState.EMPTY,
            producer_id=producer_id,
            next_producer_id=NO_PRODUCER_ID,
            producer_epoch=epoch,
            last_producer_epoch=last_epoch,
            timeout_ms=ask.timeout_ms,
            partitions=frozenset(),
            started_ms=-1,
            updated_ms=now_ms,
        )
    )


def may_be_owner(current: Transaction, producer_id: int, epoch: int) -> bool:
    """A new id, the id it has, or the id before a rotation whose answer may have been lost."""
    return (
        current.producer_epoch == NO_EPOCH
        or producer_id == current.producer_id
        or (producer_id == current.previous_producer_id and epoch_exhausted(epoch))
    )


def bumped(current: Transaction, expected_epoch: int | None) -> tuple[int, int]:
    """The next epoch and the one before it."""
    if expected_epoch is None:
        return current.producer_epoch + 1, NO_EPOCH
    if current.producer_epoch in (NO_EPOCH, expected_epoch):
        return current.producer_epoch + 1, current.producer_epoch
    if expected_epoch == current.last_producer_epoch:
        return current.producer_epoch, current.last_producer_epoch  # a repeated call
    raise KafkaError(
        ErrorCode.PRODUCER_FENCED,
        f"The producer's epoch {expected_epoch} is behind {current.producer_epoch}.",
    )


def add_partitions(
    current: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
    now_ms: int,
    client_version: int = 0,
) -> Step:
    if current is not None and current.state.is_ending:
        raise busy(current)  # first of all, see `end_in_version_2`
    transaction = owned(current, producer_id, producer_epoch)
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return Step(None)
    started = transaction.started_ms if transaction.state is TransactionState.ONGOING else now_ms
    return Step(
        become(
            transaction,
            TransactionState.ONGOING,
            partitions=transaction.partitions | partitions,
            started_ms=started,
            updated_ms=now_ms,
            next_producer_id=NO_PRODUCER_ID,
            client_version=client_version,
        )
    )


def verify_partitions(
    current: Transaction | None,
    producer_id: int,
    producer_epoch: int,
    partitions: frozenset[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """Whether a leader may append: the late messages of a finished transaction may not."""
    transaction = owned(current, producer_id, producer_epoch)
    if transaction.state.is_ending:
        raise busy(transaction)
    return {
        partition: ErrorCode.NONE
        if partition in transaction.partitions
        else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def owned(current: Transaction | None, producer_id: int, producer_epoch: int) -> Transaction:
    if current is None or current.producer_id != producer_id:
        raise unmapped(producer_id)
    if current.producer_epoch != producer_epoch:
        raise fenced_out(producer_epoch, current)
    return current


def end(
    current: Transaction | None,
    ask: EndTransaction,
    now_ms: int,
    new_producer_id: Callable[[], int],
) -> Step:
    if current is None:
        raise unmapped(ask.producer_id)
    if ask.bumps_epochs:
        return end_in_version_2(current, ask, now_ms, new_producer_id)
    return end_in_version_1(current, ask, now_ms)


def end_in_version_1(current: Transaction, ask: EndTransaction, now_ms: int) -> Step:
    """Only the transaction's own epoch counts; a repeated call has it too."""
    if current.producer_id != ask.producer_id:
        raise unmapped(ask.producer_id)
    if current.producer_epoch != ask.producer_epoch:
        raise fenced_out(ask.producer_epoch, current)
    if current.state.is_ending:
        raise busy(current)
    if current.state is TransactionState.ONGOING:
        return Step(become(current, ask.prepared, updated_ms=now_ms, client_version=0))
    if current.state is ask.completed:
        return Step(None)
    raise cannot_end(current, ask)


def end_in_version_2(
    current: Transaction, ask: EndTransaction, now_ms: int, new_producer_id: Callable[[], int]
) -> Step:
    """The epoch tells a repeated call (still the one before the bump) from the next end."""
    if current.state.is_ending:
        # First of all: the client may go on with a new producer id that is not ours yet.
        raise busy(current)
    after_rotation = is_end_before_rotation(current, ask)
    repeated = after_rotation or current.producer_epoch == ask.producer_epoch + 1
    if current.producer_id != ask.producer_id and not after_rotation:
        raise unmapped(ask.producer_id)
    may_repeat = repeated and current.state.is_complete
    if current.producer_epoch != ask.producer_epoch and not may_repeat:
        raise fenced_out(ask.producer_epoch, current)
    if current.state is TransactionState.ONGOING:
        return Step(prepare_end(current, ask.prepared, now_ms, new_producer_id))
    if repeated and current.state is ask.completed:
        return Step(None)
    if not repeated and not ask.commit:
        # An abort before any partition was added: the epoch moves on all the same.
        started = replace(current, started_ms=now_ms)
        return Step(prepare_end(started, ask.prepared, now_ms, new_producer_id))
    raise cannot_end(current, ask)


def is_end_before_rotation(current: Transaction, ask: EndTransaction) -> bool:
    """The last end of a producer id that has run out of epochs, asked again."""
    return (
        current.previous_producer_id == ask.producer_id
        and ask.producer_epoch == LAST_EPOCH - 1
        and current.producer_epoch == 0
    )


def prepare_end(
    current: Transaction, state: TransactionState, now_ms: int, new_producer_id: Callable[[], int]
) -> Transaction:
    """The decision to commit or abort in version 2: once written, nothing can change it."""
    rotated = new_producer_id() if current.epochs_exhausted else NO_PRODUCER_ID
    return become(
        current,
        state,
        producer_epoch=min(current.producer_epoch + 1, LAST_EPOCH),
        last_producer_epoch=current.producer_epoch,
        next_producer_id=rotated,
        updated_ms=now_ms,
        client_version=EPOCH_BUMP_VERSION,
    )


def fence(
    current: Transaction, now_ms: int, server_version: int, new_producer_id: Callable[[], int]
) -> Transaction:
    """Abort for a client that is gone: its epoch is bumped, so that it cannot go on."""
    if server_version >= EPOCH_BUMP_VERSION:
        return prepare_end(current, TransactionState.PREPARE_ABORT, now_ms, new_producer_id)
    return become(
        current,
        TransactionState.PREPARE_ABORT,
        producer_epoch=current.producer_epoch + 1,
        last_producer_epoch=NO_EPOCH,
        updated_ms=now_ms,
        client_version=0,
    )


def complete(current: Transaction, now_ms: int) -> Transaction:
    """All markers are written."""
    commit = current.state is TransactionState.PREPARE_COMMIT
    producer_id, epoch = current.producer_id, current.producer_epoch
    if current.bumps_epochs and current.next_producer_id != NO_PRODUCER_ID:
        producer_id, epoch = current.next_producer_id, 0
    return become(
        current,
        TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT,
        producer_id=producer_id,
        next_producer_id=NO_PRODUCER_ID,
        producer_epoch=epoch,
        partitions=frozenset(),
        updated_ms=now_ms,
    )


def has_timed_out(current: Transaction, now_ms: int) -> bool:
    return (
        current.state is TransactionState.ONGOING
        and now_ms > current.started_ms + current.timeout_ms
    )


def may_expire(current: Transaction, now_ms: int, expiration_ms: int) -> bool:
    """A transactional id nobody used for long is forgotten, unless a transaction is open."""
    at_rest = current.state is TransactionState.EMPTY or current.state.is_complete
    return at_rest and now_ms >= current.updated_ms + expiration_ms


def become(current: Transaction, state: TransactionState, **changes: object) -> Transaction:
    assert state in MAY_BECOME[current.state], (current.state, state)
    return replace(current, state=state, previous_producer_id=current.producer_id, **changes)


def unmapped(producer_id: int) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        f"Producer id {producer_id} does not belong to this transactional id.",
    )


def fenced_out(epoch: int, current: Transaction) -> KafkaError:
    return KafkaError(
        ErrorCode.PRODUCER_FENCED,
        f"The producer's epoch {epoch} is not the current one, {current.producer_epoch}.",
    )


def cannot_end(current: Transaction, ask: EndTransaction) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_TXN_STATE,
        f"The transaction is in state {current.state.title} and cannot "
        f"{'commit' if ask.commit else 'abort'}.",
    )


def busy(current: Transaction) -> KafkaError:
    return KafkaError(
        ErrorCode.CONCURRENT_TRANSACTIONS,
        f"The previous transaction is in state {current.state.title}: try again.",
    )

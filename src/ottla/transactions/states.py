"""The states of a transaction and the legal ways between them."""

from enum import IntEnum

from msgspec import Struct

from ottla.ids import TopicPartition

NO_PRODUCER_ID = -1
NO_EPOCH = -1
LAST_EPOCH = 32_767
"""Kept for fencing: a client is never given this epoch, so that it can always be fenced."""


class TransactionState(IntEnum):
    """Numbered as in the records of `__transaction_state`."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """As Kafka's tools show it."""
        return self.name.title().replace("_", "")

    @property
    def is_ending(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_complete(self) -> bool:
        return self in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


MAY_BECOME: dict[TransactionState, frozenset[TransactionState]] = {
    TransactionState.EMPTY: frozenset(
        {TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT}
    ),
    TransactionState.ONGOING: frozenset(
        {TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}
    ),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.COMPLETE_COMMIT}),
    TransactionState.PREPARE_ABORT: frozenset({TransactionState.COMPLETE_ABORT}),
    TransactionState.COMPLETE_COMMIT: frozenset(
        {TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT}
    ),
    TransactionState.COMPLETE_ABORT: frozenset(
        {TransactionState.EMPTY, TransactionState.ONGOING, TransactionState.PREPARE_ABORT}
    ),
    TransactionState.DEAD: frozenset(),
    TransactionState.PREPARE_EPOCH_FENCE: frozenset(),
}


class Transaction(Struct, frozen=True, kw_only=True):
    """All that is known of one transactional id."""

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    """Taken over when the markers are written: set when this id has run out of epochs."""
    last_producer_epoch: int = NO_EPOCH
    """The epoch before the last bump; a client that repeats its call still names this one."""
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = -1
    updated_ms: int
    client_version: int = 0

    @property
    def epochs_exhausted(self) -> bool:
        return epoch_exhausted(self.producer_epoch)

    @property
    def bumps_epochs(self) -> bool:
        """The last client to end a transaction here spoke transaction version 2."""
        return self.client_version >= 2


def epoch_exhausted(epoch: int) -> bool:
    return epoch >= LAST_EPOCH - 1

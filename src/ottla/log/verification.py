"""Transactions of which the coordinator is being asked, before their first batch is appended.

The leader's alone, and in no file: who asks the coordinator about a transaction holds a guard until
the first batch, or a marker, is in the log. Deciding refuses; nothing here touches the log.
"""

from ottla.errors import ErrorCode, KafkaError

LAST_SEQUENCE = 2**31 - 1


class VerificationGuard:
    """The first batch of a transaction is on its way while the coordinator is asked about it
    (Kafka: VerificationStateEntry with its VerificationGuard).

    A marker takes it away, for it may have ended the very transaction; so does the first batch.
    But a marker of an older epoch ended one before: coordinators repeat markers, some come late.
    From version 2 of transactions on a marker has the epoch after its transaction's: then one with
    the epoch that is asked about ended one before, too.
    """

    __slots__ = ("adds", "epoch", "lowest_sequence", "since_ms")

    def __init__(self, epoch: int, sequence: int, adds: bool, since_ms: int) -> None:
        self.epoch = epoch
        self.lowest_sequence = sequence
        """Of those that wait: what comes after it may not be appended before it."""
        self.adds = adds
        """Asking adds the partition: the client speaks version 2."""
        self.since_ms = since_ms

    def also_for(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch or self.lowest_sequence == LAST_SEQUENCE:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)

    def outlives_marker_of(self, epoch: int) -> bool:
        return epoch < self.epoch or (self.adds and epoch == self.epoch)

    def came_through(self, epoch: int) -> None:
        """A marker that it outlives. Whether the epoch it was made for is anybody's is the
        coordinator's to say, and who was refused has left it as well: nobody waits behind it."""
        if epoch < self.epoch:
            self.lowest_sequence = LAST_SEQUENCE


class VerificationGuards:
    """One for each producer whose transaction is being verified."""

    __slots__ = ("by_producer",)

    def __init__(self) -> None:
        self.by_producer: dict[int, VerificationGuard] = {}
        """Empty as a rule, which is all that hot paths look at."""

    def begin(
        self, producer_id: int, epoch: int, sequence: int, *, adds: bool, now_ms: int
    ) -> VerificationGuard:
        """The guard of this producer, made if there is none yet."""
        guard = self.by_producer.get(producer_id)
        if guard is None:
            guard = VerificationGuard(epoch, sequence, adds, now_ms)
            self.by_producer[producer_id] = guard
        else:
            guard.also_for(epoch, sequence)
        return guard

    def check(self, producer_id: int, guard: VerificationGuard) -> None:
        """Refuse where something has taken it away meanwhile."""
        if self.by_producer.get(producer_id) is not guard:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"The transaction of producer {producer_id} has ended.",
            )

    def check_sequence(self, producer_id: int, first: int, *, is_unknown: bool) -> None:
        """What comes after a batch that still waits for its verification has to wait as well.
        `is_unknown`: no batch of this producer is remembered."""
        guard = self.by_producer.get(producer_id)
        if guard is None:
            return
        if guard.adds and first != 0 and is_unknown:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {producer_id} begins with sequence {first} instead of 0.",
            )
        if first > guard.lowest_sequence:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Producer {producer_id} sends sequence {first} while "
                f"{guard.lowest_sequence} is still verified.",
            )

    def marker_came(self, producer_id: int, epoch: int) -> None:
        guard = self.by_producer.get(producer_id)
        if guard is None:
            return
        if guard.outlives_marker_of(epoch):
            guard.came_through(epoch)
        else:
            del self.by_producer[producer_id]

    def expire(self, oldest_ms: int) -> None:
        for producer_id, guard in list(self.by_producer.items()):
            if guard.since_ms <= oldest_ms:
                del self.by_producer[producer_id]

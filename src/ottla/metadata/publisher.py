"""The metadata log's follower on every node: committed records in, a current image out.

Implements the quorum's listener. Subscribers are called after every batch, in the order of their
subscription, with the image and what changed. Records of a metadata transaction are held back
until it ends, so nobody sees half of one.
"""

from collections.abc import Callable, Iterable, Sequence

from ottla.metadata.apply import apply
from ottla.metadata.difference import difference
from ottla.metadata.image import Delta, Image
from ottla.metadata.records import Record, unframe
from ottla.wire.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)

Subscriber = Callable[[Image, Delta], None]
LeaderSubscriber = Callable[[int | None, int], None]


class Publisher:
    def __init__(self) -> None:
        self.image = Image()
        self.leader_id: int | None = None
        self.leader_epoch = -1
        self.bytes_applied = 0
        """Of committed records, since the start."""
        self._held: list[Record] | None = None
        self._after_commit: list[Callable[[], None]] = []
        self._subscribers: list[Subscriber] = []
        self._leader_subscribers: list[LeaderSubscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        """From now on; what is there already is read from `image`."""
        self._subscribers.append(subscriber)

    def subscribe_leader(self, subscriber: LeaderSubscriber) -> None:
        """Called with the active controller's id (None: nobody knows) and the quorum's epoch."""
        self._leader_subscribers.append(subscriber)

    def subscribe_committed(self, subscriber: Callable[[], None]) -> None:
        """Called after every batch, whether it changed anything or not."""
        self._after_commit.append(subscriber)

    @property
    def in_transaction(self) -> bool:
        return self._held is not None

    # The quorum's listener -----------------------------------------------------------------

    def committed(
        self, base_offset: int, epoch: int, values: Sequence[bytes], timestamp_ms: int
    ) -> None:
        delta = Delta()
        for value in values:
            self.bytes_applied += len(value)
            self._take(unframe(value), delta)
        self.image.offset = base_offset + len(values) - 1
        self.image.epoch = epoch
        self._publish(delta)
        for subscriber in self._after_commit:
            subscriber()

    def load_snapshot(self, values: Iterable[bytes], end_offset: int, epoch: int) -> None:
        before, self.image, self._held = self.image, Image(), None
        scratch = Delta()
        for value in values:
            apply(self.image, unframe(value), scratch)
        self.image.offset = end_offset - 1
        self.image.epoch = epoch
        self._publish(difference(before, self.image))

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        self.leader_id, self.leader_epoch = leader_id, epoch
        for subscriber in self._leader_subscribers:
            subscriber(leader_id, epoch)

    # Inside ----------------------------------------------------------------------------------

    def _take(self, record: Record, delta: Delta) -> None:
        if isinstance(record, BeginTransactionRecord):
            self._held = []
        elif isinstance(record, AbortTransactionRecord):
            self._held = None
        elif isinstance(record, EndTransactionRecord):
            held, self._held = self._held or [], None
            for one in held:
                apply(self.image, one, delta)
        elif self._held is not None:
            self._held.append(record)
        else:
            apply(self.image, record, delta)

    def _publish(self, delta: Delta) -> None:
        if delta:
            for subscriber in self._subscribers:
                subscriber(self.image, delta)

"""What outlives the leader of a share partition: its start, and the state of records beyond it.

The machine of one shard of `__share_group_state`. A partition's state is a snapshot record and
updates on top of it, as Apache Kafka writes them; after so many updates comes the next snapshot.
What lies before the oldest snapshot that counts is not needed: who drives the shard cuts it off.
A state that nobody writes to gets a new snapshot now and then, so that it does not hold up others.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ottla.coordination.machine import CoordinatorRecord, Decision, Instant, RecordTypes
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.batches import combine
from ottla.groups.share.delivery import DeliveryState, StateBatch
from ottla.ids import Uuid, show_uuid
from ottla.wire.message import Message
from ottla.wire.records.share import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareSnapshotValueStateBatch,
    ShareUpdateKey,
    ShareUpdateValue,
    ShareUpdateValueStateBatch,
)

NOT_STARTED = -1
UPDATES_PER_SNAPSHOT = 500
COLD_INTERVAL_S = 300.0
SNAPSHOTS_PER_TICK = 200


class SharePartitionKey(NamedTuple):
    """A share partition: whose queue over which partition."""

    group_id: str
    topic_id: Uuid
    partition: int

    def key(self) -> str:
        """What its coordinator is found by."""
        return f"{self.group_id}:{show_uuid(self.topic_id)}:{self.partition}"


class SharePartitionState(NamedTuple):
    snapshot_epoch: int = 0
    state_epoch: int = 0  # grows when somebody resets the queue
    leader_epoch: int = -1
    start_offset: int = NOT_STARTED
    complete: int = -1
    created_ms: int = 0
    batches: Sequence[StateBatch] = ()
    updates: int = 0  # since the snapshot
    snapshot_offset: int = 0  # the snapshot lies there, or later


class ShareStates:
    RECORDS = RecordTypes(
        {0: (ShareSnapshotKey, ShareSnapshotValue), 1: (ShareUpdateKey, ShareUpdateValue)}, {}
    )

    def __init__(
        self,
        updates_per_snapshot: int = UPDATES_PER_SNAPSHOT,
        end_offset: Callable[[], int] = lambda: 0,
        cold_interval_s: float = COLD_INTERVAL_S,
    ) -> None:
        """`end_offset` tells where the log ends that records are appended to."""
        self.states: dict[SharePartitionKey, SharePartitionState] = {}
        self._updates_per_snapshot = updates_per_snapshot
        self._end_offset = end_offset
        self._cold_interval_s = cold_interval_s
        self._next_look = float("inf")
        self._last_deleted = 0

    # -- the machine --------------------------------------------------------------------------

    def replay(self, offset: int, producer_id: int, key: Message, value: Message | None) -> None:
        at_least = offset if offset >= 0 else self._end_offset()
        match key, value:
            case ShareSnapshotKey(), None:
                self._last_deleted = at_least
                self.states.pop(SharePartitionKey(key.group_id, key.topic_id, key.partition), None)
            case ShareSnapshotKey(), ShareSnapshotValue():
                place = SharePartitionKey(key.group_id, key.topic_id, key.partition)
                self.states[place] = SharePartitionState(
                    value.snapshot_epoch,
                    value.state_epoch,
                    value.leader_epoch,
                    value.start_offset,
                    value.delivery_complete_count,
                    value.create_timestamp,
                    _batches(value.state_batches),
                    snapshot_offset=at_least,
                )
            case ShareUpdateKey(), ShareUpdateValue():
                self._update(SharePartitionKey(key.group_id, key.topic_id, key.partition), value)

    def _update(self, place: SharePartitionKey, value: ShareUpdateValue) -> None:
        known = self.states.get(place)
        if known is None or known.snapshot_epoch != value.snapshot_epoch:
            return
        start = value.start_offset if value.start_offset != NOT_STARTED else known.start_offset
        self.states[place] = known._replace(
            leader_epoch=max(known.leader_epoch, value.leader_epoch),
            start_offset=start,
            complete=value.delivery_complete_count,
            batches=combine(known.batches, _batches(value.state_batches), start),
            updates=known.updates + 1,
        )

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """Nobody writes transactions here."""

    def loaded(self, now: Instant) -> Decision[None]:
        self._next_look = now.seconds + self._cold_interval_s
        return Decision((), None)

    def deadline(self) -> float | None:
        return self._next_look

    def tick(self, now: Instant) -> Decision[None]:
        """New snapshots of those that hold up the others, some at a time."""
        needed = len(self.states) + self._updates_per_snapshot
        keep_from = self._end_offset() - needed
        cold = [place for place, state in self.states.items() if state.snapshot_offset < keep_from]
        some = cold[:SNAPSHOTS_PER_TICK]
        more_now = len(cold) > len(some)
        self._next_look = now.seconds + (0.0 if more_now else self._cold_interval_s)
        return Decision([self._renewed(place, now) for place in some], None)

    def _renewed(self, place: SharePartitionKey, now: Instant) -> CoordinatorRecord:
        state = self.states[place]
        return _snapshot(
            place, state._replace(snapshot_epoch=state.snapshot_epoch + 1), now.wall_ms
        )

    def redundant_before(self) -> int:
        """Up to here the log says nothing that still counts."""
        offsets = (state.snapshot_offset for state in self.states.values())
        return min(offsets, default=self._last_deleted)

    # -- deciding -----------------------------------------------------------------------------

    def initialize(
        self, now: Instant, place: SharePartitionKey, state_epoch: int, start_offset: int
    ) -> Decision[None]:
        known = self.states.get(place)
        if known is not None and known.state_epoch > state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        fresh = SharePartitionState(
            snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
            state_epoch=state_epoch,
            start_offset=start_offset,
            complete=NOT_STARTED if start_offset == NOT_STARTED else 0,
            created_ms=now.wall_ms,
        )
        return Decision([_snapshot(place, fresh, now.wall_ms)], None)

    def read(
        self, now: Instant, place: SharePartitionKey, leader_epoch: int
    ) -> Decision[SharePartitionState]:
        """For a leader that begins: earlier ones are fenced by it from now on."""
        known = self._initialized(place)
        if leader_epoch < known.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        if leader_epoch == known.leader_epoch:
            return Decision((), known)
        led = known._replace(leader_epoch=leader_epoch)
        return Decision([self._written(place, led, (), now.wall_ms)], led)

    def write(
        self,
        now: Instant,
        place: SharePartitionKey,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        complete: int,
        batches: Sequence[StateBatch],
    ) -> Decision[None]:
        known = self._initialized(place)
        if leader_epoch < known.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        if leader_epoch > known.leader_epoch or state_epoch < known.state_epoch:
            raise KafkaError(
                ErrorCode.FENCED_STATE_EPOCH,
                f"The state of {place.key()} was reset since its leader read it.",
            )
        start = start_offset if start_offset != NOT_STARTED else known.start_offset
        changed = known._replace(leader_epoch=leader_epoch, start_offset=start, complete=complete)
        return Decision([self._written(place, changed, batches, now.wall_ms)], None)

    def _initialized(self, place: SharePartitionKey) -> SharePartitionState:
        known = self.states.get(place)
        if known is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no state of {place.key()}.")
        return known

    def delete(self, place: SharePartitionKey) -> Decision[None]:
        if place not in self.states:
            return Decision((), None)
        return Decision([CoordinatorRecord(_key(ShareSnapshotKey, place), None)], None)

    def _written(
        self,
        place: SharePartitionKey,
        state: SharePartitionState,
        batches: Sequence[StateBatch],
        now_ms: int,
    ) -> CoordinatorRecord:
        if state.updates >= self._updates_per_snapshot:
            whole = combine(state.batches, batches, state.start_offset)
            return _snapshot(
                place,
                state._replace(snapshot_epoch=state.snapshot_epoch + 1, batches=whole),
                now_ms,
            )
        return CoordinatorRecord(
            _key(ShareUpdateKey, place),
            ShareUpdateValue(
                snapshot_epoch=state.snapshot_epoch,
                leader_epoch=state.leader_epoch,
                start_offset=state.start_offset,
                delivery_complete_count=state.complete,
                state_batches=[
                    ShareUpdateValueStateBatch(
                        first_offset=batch.first,
                        last_offset=batch.last,
                        delivery_state=batch.state,
                        delivery_count=batch.deliveries,
                    )
                    for batch in batches
                ],
            ),
        )


def _key(cls: type[ShareSnapshotKey] | type[ShareUpdateKey], place: SharePartitionKey) -> Message:
    return cls(group_id=place.group_id, topic_id=place.topic_id, partition=place.partition)


def _snapshot(
    place: SharePartitionKey, state: SharePartitionState, now_ms: int
) -> CoordinatorRecord:
    return CoordinatorRecord(
        _key(ShareSnapshotKey, place),
        ShareSnapshotValue(
            snapshot_epoch=state.snapshot_epoch,
            state_epoch=state.state_epoch,
            leader_epoch=state.leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=state.complete,
            create_timestamp=state.created_ms,
            write_timestamp=now_ms,
            state_batches=[
                ShareSnapshotValueStateBatch(
                    first_offset=batch.first,
                    last_offset=batch.last,
                    delivery_state=batch.state,
                    delivery_count=batch.deliveries,
                )
                for batch in state.batches
            ],
        ),
    )


def _batches(
    batches: Iterable[ShareSnapshotValueStateBatch] | Iterable[ShareUpdateValueStateBatch],
) -> list[StateBatch]:
    return [
        StateBatch(
            one.first_offset,
            one.last_offset,
            DeliveryState(one.delivery_state),
            one.delivery_count,
        )
        for one in batches
    ]

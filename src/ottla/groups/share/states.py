"""What outlives the leader of a share partition: its start, and the state of records beyond it.

The machine of one shard of `__share_group_state`. A partition's state is a snapshot record and
updates on top of it, as Apache Kafka writes them; after so many updates comes the next snapshot.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ottla.coordination.machine import Decision, Entry, Instant, RecordTypes
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.in_flight import DONE, Batch, DeliveryState
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


class Place(NamedTuple):
    """A share partition: whose queue over which partition."""

    group_id: str
    topic_id: Uuid
    partition: int

    def key(self) -> str:
        """What its coordinator is found by."""
        return f"{self.group_id}:{show_uuid(self.topic_id)}:{self.partition}"


class State(NamedTuple):
    snapshot_epoch: int = 0
    state_epoch: int = 0  # grows when somebody resets the queue
    leader_epoch: int = -1
    start_offset: int = NOT_STARTED
    complete: int = -1
    created_ms: int = 0
    batches: Sequence[Batch] = ()
    updates: int = 0  # since the snapshot

    def first_undone(self) -> "State":
        """Leaders may write that records are done before they move the start over them."""
        start = self.start_offset
        for batch in self.batches:
            if batch.first > start or batch.state not in DONE:
                break
            start = max(start, batch.last + 1)
        return self._replace(start_offset=start)


class ShareStates:
    RECORDS = RecordTypes(
        {0: (ShareSnapshotKey, ShareSnapshotValue), 1: (ShareUpdateKey, ShareUpdateValue)}, {}
    )

    def __init__(self, updates_per_snapshot: int = UPDATES_PER_SNAPSHOT) -> None:
        self.states: dict[Place, State] = {}
        self._updates_per_snapshot = updates_per_snapshot

    # -- the machine --------------------------------------------------------------------------

    def replay(self, offset: int, producer_id: int, key: Message, value: Message | None) -> None:
        match key, value:
            case ShareSnapshotKey(), None:
                self.states.pop(Place(key.group_id, key.topic_id, key.partition), None)
            case ShareSnapshotKey(), ShareSnapshotValue():
                place = Place(key.group_id, key.topic_id, key.partition)
                self.states[place] = State(
                    value.snapshot_epoch,
                    value.state_epoch,
                    value.leader_epoch,
                    value.start_offset,
                    value.delivery_complete_count,
                    value.create_timestamp,
                    _batches(value.state_batches),
                )
            case ShareUpdateKey(), ShareUpdateValue():
                self._update(Place(key.group_id, key.topic_id, key.partition), value)

    def _update(self, place: Place, value: ShareUpdateValue) -> None:
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
        return Decision((), None)

    def deadline(self) -> float | None:
        return None

    def tick(self, now: Instant) -> Decision[None]:
        return Decision((), None)

    # -- deciding -----------------------------------------------------------------------------

    def initialize(
        self, now: Instant, place: Place, state_epoch: int, start_offset: int
    ) -> Decision[None]:
        known = self.states.get(place)
        if known is not None and known.state_epoch > state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        fresh = State(
            snapshot_epoch=0 if known is None else known.snapshot_epoch + 1,
            state_epoch=state_epoch,
            start_offset=start_offset,
            created_ms=now.wall_ms,
        )
        return Decision([_snapshot(place, fresh, now.wall_ms)], None)

    def read(self, now: Instant, place: Place, leader_epoch: int) -> Decision[State]:
        """For a leader that begins: earlier ones are fenced by it from now on."""
        known = self.states.get(place)
        if known is None:
            return Decision((), State())
        if leader_epoch < known.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        if leader_epoch == known.leader_epoch:
            return Decision((), known)
        led = known._replace(leader_epoch=leader_epoch)
        return Decision([self._written(place, led, (), now.wall_ms)], led)

    def write(
        self,
        now: Instant,
        place: Place,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        complete: int,
        batches: Sequence[Batch],
    ) -> Decision[None]:
        known = self.states.get(place)
        if known is None:
            known = State(snapshot_epoch=-1, state_epoch=state_epoch, created_ms=now.wall_ms)
            known = known._replace(updates=self._updates_per_snapshot)  # begin with a snapshot
        if leader_epoch < known.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        if state_epoch < known.state_epoch:
            raise KafkaError(ErrorCode.FENCED_STATE_EPOCH)
        start = start_offset if start_offset != NOT_STARTED else known.start_offset
        changed = known._replace(leader_epoch=leader_epoch, start_offset=start, complete=complete)
        return Decision([self._written(place, changed, batches, now.wall_ms)], None)

    def delete(self, place: Place) -> Decision[None]:
        if place not in self.states:
            return Decision((), None)
        return Decision([Entry(_key(ShareSnapshotKey, place), None)], None)

    def _written(self, place: Place, state: State, batches: Sequence[Batch], now_ms: int) -> Entry:
        if state.updates >= self._updates_per_snapshot:
            whole = combine(state.batches, batches, state.start_offset)
            return _snapshot(
                place,
                state._replace(snapshot_epoch=state.snapshot_epoch + 1, batches=whole),
                now_ms,
            )
        return Entry(
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


def _key(cls: type[ShareSnapshotKey] | type[ShareUpdateKey], place: Place) -> Message:
    return cls(group_id=place.group_id, topic_id=place.topic_id, partition=place.partition)


def _snapshot(place: Place, state: State, now_ms: int) -> Entry:
    return Entry(
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
) -> list[Batch]:
    return [
        Batch(
            one.first_offset,
            one.last_offset,
            DeliveryState(one.delivery_state),
            one.delivery_count,
        )
        for one in batches
    ]


def combine(old: Sequence[Batch], new: Sequence[Batch], start_offset: int) -> list[Batch]:
    """The new ones on top of the old ones, without what is done, neighbours joined."""
    kept = list(old)
    for top in new:
        beneath: list[Batch] = []
        for batch in kept:
            if batch.last < top.first or batch.first > top.last:
                beneath.append(batch)
                continue
            if batch.first < top.first:
                beneath.append(batch._replace(last=top.first - 1))
            if batch.last > top.last:
                beneath.append(batch._replace(first=top.last + 1))
        kept = [*beneath, top]
    combined: list[Batch] = []
    for batch in sorted(kept):
        if batch.last < start_offset:
            continue
        batch = batch._replace(first=max(batch.first, start_offset))
        before = combined[-1] if combined else None
        if before is not None and before[2:] == batch[2:] and before.last + 1 == batch.first:
            combined[-1] = before._replace(last=batch.last)
        else:
            combined.append(batch)
    return combined

"""Committed offsets of one shard, and those that wait for their transaction to end."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ottla.ids import ZERO_UUID, Uuid
from ottla.wire.records.offsets import OffsetCommitKey, OffsetCommitValue

Place = tuple[str, int]
"""Topic and partition."""


class Committed(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_ms: int
    expire_ms: int  # -1: as the broker's retention says
    topic_id: Uuid
    order: int  # grows with the position in the log


_NOTHING: Mapping[Place, Committed] = {}


class Offsets:
    def __init__(self) -> None:
        self._by_group: dict[str, dict[Place, Committed]] = {}
        self._pending: dict[int, dict[tuple[str, Place], Committed]] = {}  # by producer id
        self._open: dict[str, set[int]] = {}  # producers with pending offsets, by group
        self._order = 0

    # -- looking ------------------------------------------------------------------------------

    def of(self, group_id: str) -> Mapping[Place, Committed]:
        return self._by_group.get(group_id, _NOTHING)

    def groups(self) -> Iterator[str]:
        return iter(self._by_group)

    def has_pending(self, group_id: str, place: Place) -> bool:
        key = (group_id, place)
        return any(key in self._pending[producer] for producer in self._open.get(group_id, ()))

    def has_open_transactions(self, group_id: str) -> bool:
        return group_id in self._open

    def pending_places(self, group_id: str) -> set[Place]:
        return {
            place
            for producer in self._open.get(group_id, ())
            for owner, place in self._pending[producer]
            if owner == group_id
        }

    # -- applying -----------------------------------------------------------------------------

    def apply(
        self, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue | None
    ) -> None:
        place = (key.topic, key.partition)
        if value is None:
            self._forget(key.group, place)
            return
        self._order += 1
        committed = Committed(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            value.topic_id,
            self._order,
        )
        if producer_id < 0:
            self._by_group.setdefault(key.group, {})[place] = committed
        else:
            self._pending.setdefault(producer_id, {})[key.group, place] = committed
            self._open.setdefault(key.group, set()).add(producer_id)

    def commit(
        self,
        group_id: str,
        place: Place,
        offset: int,
        leader_epoch: int,
        commit_ms: int,
        topic_id: Uuid,
    ) -> None:
        """As `apply`, of a commit without metadata outside of transactions."""
        self._order += 1
        committed = Committed(offset, leader_epoch, "", commit_ms, -1, topic_id, self._order)
        self._by_group.setdefault(group_id, {})[place] = committed

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        for (group_id, place), offset in self._pending.pop(producer_id, {}).items():
            self._close(group_id, producer_id)
            if not committed:
                continue
            known = self._by_group.setdefault(group_id, {})
            if place not in known or known[place].order < offset.order:
                known[place] = offset

    def _forget(self, group_id: str, place: Place) -> None:
        known = self._by_group.get(group_id)
        if known is not None:
            known.pop(place, None)
            if not known:
                del self._by_group[group_id]
        for producer in list(self._open.get(group_id, ())):
            pending = self._pending[producer]
            pending.pop((group_id, place), None)
            if not any(owner == group_id for owner, _ in pending):
                self._close(group_id, producer)
            if not pending:
                del self._pending[producer]

    def _close(self, group_id: str, producer_id: int) -> None:
        producers = self._open.get(group_id)
        if producers is not None:
            producers.discard(producer_id)
            if not producers:
                del self._open[group_id]


def commit_value(
    offset: int, leader_epoch: int, metadata: str | None, now_ms: int, topic_id: Uuid = ZERO_UUID
) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=offset,
        leader_epoch=leader_epoch,
        metadata=metadata or "",
        commit_timestamp=now_ms,
        topic_id=topic_id,
    )

"""The partitions that one fetcher fetches, and how each of them fares. No sockets, no clock."""

from collections.abc import Iterator

from ottla.ids import TopicPartition, Uuid
from ottla.replication.follower import FollowedPartition

NOBODY_RESUMES = float("inf")


class FetchState:
    """One partition under one leader in one epoch (Kafka: PartitionFetchState)."""

    __slots__ = ("follower", "partition", "paused_until", "trouble")

    def __init__(self, follower: FollowedPartition) -> None:
        self.follower = follower
        self.partition: TopicPartition = follower.topic_partition
        self.paused_until: float | None = None
        """None: the leader is asked for it. Else it is not named in any request until then; only
        `FetchStates` changes it."""
        self.trouble = ""
        """Why it could not be followed, as it was told last: once is enough. Never taken back:
        with the next leader or epoch comes another state."""


class FetchStates:
    """By name, as the node speaks of partitions, and by topic id, as the leader does: a state is in
    both or in none."""

    __slots__ = ("_by_id", "_by_name", "_resumes_at")

    def __init__(self) -> None:
        self._by_name: dict[TopicPartition, FetchState] = {}
        self._by_id: dict[tuple[Uuid, int], FetchState] = {}
        self._resumes_at = NOBODY_RESUMES  # <= whenever a pause ends

    def __len__(self) -> int:
        return len(self._by_name)

    def __iter__(self) -> Iterator[FetchState]:
        return iter(self._by_name.values())

    def get(self, partition: TopicPartition) -> FetchState | None:
        return self._by_name.get(partition)

    def get_by_id(self, topic_id: Uuid, index: int) -> FetchState | None:
        return self._by_id.get((topic_id, index))

    def names(self) -> Iterator[TopicPartition]:
        return iter(self._by_name)

    def add(self, follower: FollowedPartition) -> None:
        partition = follower.topic_partition
        self.remove(partition)
        state = FetchState(follower)
        self._by_name[partition] = self._by_id[follower.topic_id, partition.partition] = state

    def remove(self, partition: TopicPartition) -> None:
        state = self._by_name.pop(partition, None)
        if state is not None:
            del self._by_id[state.follower.topic_id, partition.partition]

    # --- pauses

    @property
    def all_are_paused(self) -> bool:
        for state in self._by_name.values():  # noqa: SIM110  (asked in every round: no generator)
            if state.paused_until is None:
                return False
        return True

    def pause(self, state: FetchState, until: float) -> None:
        state.paused_until = until
        self._resumes_at = min(self._resumes_at, until)

    def resume(self, now: float) -> list[FetchState]:
        """Those whose pause is over."""
        if now < self._resumes_at:
            return []
        resumed, still = [], NOBODY_RESUMES
        for state in self:
            until = state.paused_until
            if until is None:
                continue
            if until <= now:
                state.paused_until = None
                resumed.append(state)
            else:
                still = min(still, until)
        self._resumes_at = still
        return resumed

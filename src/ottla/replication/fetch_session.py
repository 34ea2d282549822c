"""A fetch session with a leader (KIP-227), as who fetches keeps it: only what changed is named."""

from collections import defaultdict
from collections.abc import Iterable

from ottla.ids import TopicPartition, Uuid
from ottla.replication.fetch_states import FetchStates
from ottla.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

EPOCH_MAX = 0x7FFFFFFF


class FetchSessionHandler:
    """Kafka: FetchSessionHandler. Ends with its link, or when the leader forgets it."""

    __slots__ = ("_epoch", "_id", "_known", "changed")

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self._id = 0
        self._epoch = 0  # 0: the leader is asked for a session; then one more with each request
        self._known: dict[TopicPartition, Uuid] = {}
        """What the leader sends without being asked again, under the topic id it was named with."""
        self.changed = dict.fromkeys(partitions)
        """What the next request must name: its offsets moved, or it is not known, not wanted any
        more, or paused. In the order in which that came about."""

    def name(self, partition: TopicPartition) -> None:
        self.changed[partition] = None

    def go_on(self, session_id: int) -> None:
        """The leader has answered, and remembers."""
        self._id = session_id
        self._epoch = self._epoch + 1 if self._epoch < EPOCH_MAX else 1

    def fill(self, request: FetchRequest, states: FetchStates, partition_bytes: int) -> None:
        """Name what changed since the request before; of a thousand partitions, mostly a few."""
        known = self._known
        asked: defaultdict[Uuid, list[FetchPartition]] = defaultdict(list)
        forgotten: defaultdict[Uuid, list[int]] = defaultdict(list)
        for partition in self.changed:
            state = states.get(partition)
            follower = None if state is None or state.paused_until is not None else state.follower
            before = known.pop(partition, None)
            if before is not None and (follower is None or follower.topic_id != before):
                forgotten[before].append(partition.partition)
            if follower is not None:
                known[partition] = follower.topic_id
                asked[follower.topic_id].append(follower.wanted(partition_bytes))
        self.changed = {}
        request.session_id = self._id
        request.session_epoch = self._epoch
        request.topics = [FetchTopic(topic_id=i, partitions=p) for i, p in asked.items()]
        request.forgotten_topics_data = [
            ForgottenTopic(topic_id=i, partitions=p) for i, p in forgotten.items()
        ]

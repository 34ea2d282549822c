"""Replicas that this node follows are fetched from their leaders, as their roles change."""

from ottla.ids import TopicPartition
from ottla.replication.fetchers import Fetchers
from ottla.replication.follower import FollowedPartition
from ottla.replication.partitions import Partitions, Replica


class Followers:
    def __init__(self, partitions: Partitions, fetchers: Fetchers) -> None:
        self._node_id = partitions.node_id
        self._fetchers = fetchers
        self._followers: dict[TopicPartition, FollowedPartition] = {}
        partitions.subscribe(self.settle, self._removed)

    def settle(self, replica: Replica) -> None:
        """Follow or not, as its role and its health say."""
        state = replica.state
        if replica.leader is not None or state.leader < 0 or replica.lost is not None:
            self._removed(replica)
            return
        known = self._followers.get(replica.topic_partition)
        if (
            known is not None
            and known.log is replica.log
            and (known.leader_id, known.epoch) == (state.leader, state.leader_epoch)
        ):
            return
        advanced = replica.standby.advanced if replica.standby is not None else lambda: None
        follower = FollowedPartition(
            replica.log,
            state.leader,
            state.leader_epoch,
            advanced,
            in_sync=self._node_id in state.isr,
        )
        self._followers[replica.topic_partition] = follower
        self._fetchers.follow(follower)

    def _removed(self, replica: Replica) -> None:
        if self._followers.pop(replica.topic_partition, None) is not None:
            self._fetchers.forget(replica.topic_partition)

"""The replicas on this node and their roles, as the metadata image says.

Every change of the image is compared with what is here: logs are made, opened and deleted, and a
replica leads, follows or rests. Whoever depends on roles (coordinators, fetchers) subscribes.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from ottla.config import Settings
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID, TopicPartition, Uuid, show_uuid
from ottla.log.config import LogConfig
from ottla.log.partition_log import PartitionLog
from ottla.metadata.image import (
    CLUSTER_DEFAULTS,
    NO_LEADER,
    ConfigResourceType,
    Delta,
    Image,
    PartitionRegistration,
    Topic,
)
from ottla.replication.in_sync import InSync
from ottla.replication.leader import Leader, Watched
from ottla.replication.readable_follower import ReadableFollower
from ottla.replication.throttles import Throttles

log = logging.getLogger(__name__)

K = TypeVar("K")

TOPIC_IDS_SINCE = 13
"""From this version on Produce and Fetch give a topic's id instead of its name (KIP-516)."""


class Logs(Protocol):
    """The log directories of this node."""

    def find(self, topic_partition: TopicPartition) -> PartitionLog | None:
        """A log that was there when the node started, or was made since."""

    def create(
        self, topic_partition: TopicPartition, topic_id: Uuid, config: LogConfig, directory: Uuid
    ) -> PartitionLog: ...

    def assign(self, partition_log: PartitionLog, topic_id: Uuid) -> None:
        """Write down whose it is, where that was not known."""

    def delete(self, partition_log: PartitionLog) -> None:
        """Away at once; its files go in the background, or stay if the disk refuses."""

    def delete_unusable(self, topic_partition: TopicPartition) -> None:
        """The same for files that could not be opened, if there are any."""


class Replica:
    """One partition's replica on this node."""

    __slots__ = ("leader", "log", "lost", "standby", "state", "topic_id", "topic_partition")

    def __init__(
        self, partition_log: PartitionLog, topic_id: Uuid, state: PartitionRegistration
    ) -> None:
        self.topic_partition = partition_log.topic_partition
        self.topic_id = topic_id
        self.log = partition_log
        self.state = state  # the controller's word
        self.leader: Leader | None = None  # None: it follows, or nobody leads
        self.standby: ReadableFollower | None = None  # while it follows
        self.lost: str | None = None  # why it takes no part, where it does not


RoleChanged = Callable[[Replica], None]


class Partitions:
    def __init__(
        self,
        node_id: int,
        logs: Logs,
        settings: Settings,
        *,
        now: Callable[[], float],
        moved: Callable[[Watched], None],
        proposed: Callable[[Leader, frozenset[int]], None],
    ) -> None:
        self.node_id = node_id
        self.image = Image()
        self.changes = 0  # of the state of replicas, as the controller would have it
        self.settings = settings  # the file's, under what was set at run time
        self.throttles = Throttles(node_id, settings)
        self._static = settings
        self._logs = logs
        self._now = now
        self._moved = moved
        self._proposed = proposed
        self._by_name: dict[str, dict[int, Replica]] = {}
        self._by_id: dict[Uuid, dict[int, Replica]] = {}
        self._offline: dict[tuple[Uuid, int], KafkaError] = {}  # placed here, but without a log
        self._subscribers: list[RoleChanged] = []
        self._removed_subscribers: list[RoleChanged] = []
        self._plain_for: Settings | None = None
        self._plain_settings: tuple[Settings, LogConfig]

    # Finding ---------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Replica]:
        for replicas in list(self._by_id.values()):
            yield from replicas.values()

    def find(self, topic: str, partition: int) -> Replica | None:
        replicas = self._by_name.get(topic)
        return None if replicas is None else replicas.get(partition)

    @property
    def offline(self) -> Iterable[tuple[Uuid, int]]:
        """Partitions placed here that have no log: the topic's id, the index."""
        return self._offline.keys()

    def replica(self, topic: str, partition: int) -> Replica:
        """Led here or not; KafkaError where this node has none."""
        found = self.find(topic, partition)
        if found is None:
            raise self._absent(self.image.topics_by_name.get(topic), topic, partition)
        return found

    def find_leader(self, name: str, topic_id: Uuid, partition: int, version: int) -> Leader:
        """As a Produce or Fetch request of this version names it."""
        if version >= TOPIC_IDS_SINCE:
            return self.leader_by_id(topic_id, partition)
        return self.leader(name, partition)

    def leader(self, topic: str, partition: int) -> Leader:
        """What produce and fetch ask for, so the usual case comes first."""
        try:
            leader = self._by_name[topic][partition].leader
        except KeyError:
            known = self.image.topics_by_name.get(topic)
            raise self._absent(known, topic, partition) from None
        if leader is None:
            raise _not_leader(topic, partition)
        return leader

    def leader_by_id(self, topic_id: Uuid, partition: int) -> Leader:
        try:
            replica = self._by_id[topic_id][partition]
        except KeyError:
            known = self.image.topics_by_id.get(topic_id)
            if known is None:
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_ID, f"No topic has the id {show_uuid(topic_id)}."
                ) from None
            raise self._absent(known, known.name, partition) from None
        if replica.leader is None:
            raise _not_leader(replica.topic_partition.topic, partition)
        return replica.leader

    def standby(self, name: str, topic_id: Uuid, partition: int) -> ReadableFollower | None:
        """For consumers that read from a follower; the topic by name where there is one."""
        replicas = self._by_name.get(name) if name else self._by_id.get(topic_id)
        replica = None if replicas is None else replicas.get(partition)
        return None if replica is None else replica.standby

    def _absent(self, known: Topic | None, topic: str, partition: int) -> KafkaError:
        if known is None or partition not in known.partitions:
            return KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {topic}-{partition}."
            )
        return self._offline.get((known.id, partition)) or _not_leader(topic, partition)

    # The image's word ------------------------------------------------------------------------

    def subscribe(self, changed: RoleChanged, removed: RoleChanged | None = None) -> None:
        """`changed` after a replica's role or leadership changed, `removed` when it goes."""
        self._subscribers.append(changed)
        if removed is not None:
            self._removed_subscribers.append(removed)

    def configure(self, image: Image) -> None:
        """What is set at run time holds for logs from the moment they are opened."""
        self.image = image
        self._refresh_settings(image)

    def load(self, image: Image) -> None:
        """The first image: every replica it places here."""
        self.configure(image)
        self.throttles.load(image)
        for topic in image.topics_by_id.values():
            for index in topic.partitions:
                self._settle(topic, index)

    def apply(self, image: Image, delta: Delta) -> None:
        self.image = image
        if any(kind == ConfigResourceType.BROKER for kind, _ in delta.configs):
            self._refresh_settings(image)
            self._reconfigure(self._by_name)
        self.throttles.apply(image, delta)
        for topic in delta.topics_removed.values():
            for index in list(self._by_id.get(topic.id, ())):
                self._remove(self._by_id[topic.id][index])
            self._forget_offline(topic)
        changed = [name for kind, name in delta.configs if kind == ConfigResourceType.TOPIC]
        self._reconfigure(name for name in changed if name in self._by_name)
        for topic_id, index in delta.partitions:
            found = image.topics_by_id.get(topic_id)
            if found is not None:
                self._settle(found, index)

    def _settle(self, topic: Topic, index: int) -> None:
        """Bring one partition's replica here into the state the image asks for."""
        self.changes += 1
        state = topic.partitions[index]
        replica = self._by_id.get(topic.id, {}).get(index)
        if self.node_id not in state.replicas:
            if replica is not None:
                self._remove(replica)
            elif self._offline.pop((topic.id, index), None) is not None:
                self._logs.delete_unusable(TopicPartition(topic.name, index))
            return
        if replica is None:
            try:
                replica = self._add(topic, index, state)
            except KafkaError as error:  # the others go on; `tick` tries again
                if (topic.id, index) not in self._offline:
                    log.error("%s-%d is offline: %s", topic.name, index, error)
                self._offline[topic.id, index] = error
                return
            self._offline.pop((topic.id, index), None)
        self._take_role(replica, state)

    def _forget_offline(self, topic: Topic) -> None:
        for topic_id, index in list(self._offline):
            if topic_id == topic.id:
                del self._offline[topic_id, index]
                self._logs.delete_unusable(TopicPartition(topic.name, index))

    def _add(self, topic: Topic, index: int, state: PartitionRegistration) -> Replica:
        topic_partition = TopicPartition(topic.name, index)
        found = self._logs.find(topic_partition)
        if found is not None and not self._is_its_log(found, topic, state):
            self._logs.delete(found)
            found = None
        if found is None:
            found = self._logs.create(
                topic_partition,
                topic.id,
                self.log_config(topic.name),
                state.directory(self.node_id) if state.directories else bytes(16),
            )
        else:
            found.reconfigure(self.log_config(topic.name))
        replica = Replica(found, topic.id, state)
        self._by_name.setdefault(topic.name, {})[index] = replica
        self._by_id.setdefault(topic.id, {})[index] = replica
        return replica

    def _is_its_log(self, found: PartitionLog, topic: Topic, state: PartitionRegistration) -> bool:
        """Not that of a topic which had the same name. Whose log it is may be lost in a power cut:
        then this replica begins anew if others have what is committed, and else keeps what it has.
        """
        if found.topic_id != ZERO_UUID:
            return found.topic_id == topic.id
        if self.node_id not in state.isr and state.leader not in (NO_LEADER, self.node_id):
            return False
        self._logs.assign(found, topic.id)
        return True

    def _take_role(self, replica: Replica, state: PartitionRegistration) -> None:
        replica.state = state
        leader = replica.leader
        leads = state.leader == self.node_id
        if leader is not None and leads and leader.epoch == state.leader_epoch:
            leader.perform(leader.in_sync.decided(self._now(), state.replicas, state.isr))
            return
        if leader is not None:
            leader.depose()
        replica.leader = self._lead(replica, state) if leads else None
        self._stand_by(replica, state)
        for subscriber in self._subscribers:
            subscriber(replica)

    def _stand_by(self, replica: Replica, state: PartitionRegistration) -> None:
        follows = replica.leader is None and state.leader >= 0
        standby = replica.standby
        if standby is not None and follows and standby.epoch == state.leader_epoch:
            return
        if standby is not None:
            standby.depose()
        epoch = state.leader_epoch
        replica.standby = ReadableFollower(replica.log, epoch, self._moved) if follows else None

    def _lead(self, replica: Replica, state: PartitionRegistration) -> Leader:
        partition_log, now = replica.log, self._now()
        end_offset = partition_log.log_end_offset
        partition_log.epochs.assign(state.leader_epoch, end_offset)
        topic = self.topic_settings(replica.topic_partition.topic)
        in_sync = InSync(
            now,
            node_id=self.node_id,
            replicas=state.replicas,
            in_sync=state.isr,
            end_offset=end_offset,
            high_watermark=partition_log.high_watermark,
            min_in_sync=topic.int("min.insync.replicas"),
            lag_s_max=self.settings.int("replica.lag.time.max.ms") / 1000,
        )
        leader = Leader(partition_log, state.leader_epoch, in_sync, self._moved, self._proposed)
        committed = in_sync.appended(now, end_offset)
        if committed is not None:
            partition_log.advance_high_watermark(committed)
        return leader

    def _remove(self, replica: Replica) -> None:
        topic, index = replica.topic_partition
        _take_out(self._by_name, topic, index)
        _take_out(self._by_id, replica.topic_id, index)
        if replica.leader is not None:
            replica.leader.depose()
            replica.leader = None
        if replica.standby is not None:
            replica.standby.depose()
            replica.standby = None
        for subscriber in self._removed_subscribers:
            subscriber(replica)
        self._logs.delete(replica.log)

    # Options ---------------------------------------------------------------------------------

    def topic_settings(self, topic: str) -> Settings:
        own = self.image.config(ConfigResourceType.TOPIC, topic)
        return self.settings.for_topic(own) if own else self._plain()[0]

    def log_config(self, topic: str) -> LogConfig:
        if self.image.config(ConfigResourceType.TOPIC, topic):
            return LogConfig.from_settings(self.topic_settings(topic))
        return self._plain()[1]

    def _plain(self) -> tuple[Settings, LogConfig]:
        """Of all topics that have no options of their own."""
        if self._plain_for is not self.settings:
            self._plain_for, plain = self.settings, self.settings.for_topic({})
            self._plain_settings = plain, LogConfig.from_settings(plain)
        return self._plain_settings

    def _refresh_settings(self, image: Image) -> None:
        self.settings = self._static.with_dynamic(
            image.configs.get(CLUSTER_DEFAULTS, {}),
            image.config(ConfigResourceType.BROKER, str(self.node_id)),
        )
        self.throttles.read_rates(self.settings)

    def _reconfigure(self, topics: Iterable[str]) -> None:
        for topic in list(topics):
            config = self.log_config(topic)
            least = self.topic_settings(topic).int("min.insync.replicas")
            for replica in self._by_name[topic].values():
                replica.log.reconfigure(config)
                if replica.leader is not None:
                    replica.leader.perform(replica.leader.in_sync.require(self._now(), least))

    # Time ------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Look for followers that lag, and for logs that can be made now; called every half of
        replica.lag.time.max.ms."""
        now = self._now()
        for replica in self:
            if replica.leader is not None and replica.leader.in_sync.followers:
                replica.leader.perform(replica.leader.in_sync.tick(now))
        for topic_id, index in list(self._offline):
            if (topic := self.image.topics_by_id.get(topic_id)) is not None:
                self._settle(topic, index)


def _take_out(table: dict[K, dict[int, Replica]], key: K, index: int) -> None:
    del table[key][index]
    if not table[key]:
        del table[key]


def _not_leader(topic: str, partition: int) -> KafkaError:
    return KafkaError(
        ErrorCode.NOT_LEADER_OR_FOLLOWER, f"This broker does not lead {topic}-{partition}."
    )

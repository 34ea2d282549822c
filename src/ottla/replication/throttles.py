"""Which replicas on this node are held to a quota while they catch up, as the options say.

Whoever moves partitions names their replicas in the topic's options and the rate in the brokers':
`kafka-reassign-partitions --throttle` does both. Only replicas that lag are ever held back, so
that nobody who waits for a record to be committed waits for a quota.
"""

from collections.abc import Mapping

from ottla.config import Settings
from ottla.ids import TopicPartition
from ottla.metadata.image import ConfigResourceType, Delta, Image
from ottla.replication.quota import ReplicationQuota


class Throttle:
    """Of what this node serves as a leader, or fetches as a follower."""

    __slots__ = ("_option", "partitions", "quota")

    def __init__(self, side: str, quota: ReplicationQuota | None = None) -> None:
        self._option = f"{side}.replication.throttled"
        self.quota = quota or ReplicationQuota()
        self.partitions: dict[str, frozenset[int] | None] = {}
        """By topic; None: all of them. Empty as a rule, which is all that hot paths look at."""

    def covers(self, partition: TopicPartition) -> bool:
        found = self.partitions.get(partition.topic, ())
        return found is None or partition.partition in found

    def read_rate(self, settings: Settings) -> None:
        self.quota.bytes_per_s = settings.int(f"{self._option}.rate")

    def read_topic(self, topic: str, options: Mapping[str, str], node_id: int) -> None:
        text = options.get(f"{self._option}.replicas", "").strip()
        if text == "*":
            self.partitions[topic] = None
            return
        pairs = [pair.split(":") for pair in text.split(",") if pair.strip()]
        found = frozenset(int(partition) for partition, node in pairs if int(node) == node_id)
        if found:
            self.partitions[topic] = found
        else:
            self.partitions.pop(topic, None)


class Throttles:
    def __init__(self, node_id: int, settings: Settings) -> None:
        self._node_id = node_id
        samples = settings.int("replication.quota.window.num")
        sample_s = settings.int("replication.quota.window.size.seconds")
        self.leader = Throttle("leader", ReplicationQuota(samples, sample_s))
        self.follower = Throttle("follower", ReplicationQuota(samples, sample_s))
        self.read_rates(settings)

    def load(self, image: Image) -> None:
        for kind, name in image.configs:
            if kind == ConfigResourceType.TOPIC:
                self._read_topic(name, image)

    def apply(self, image: Image, delta: Delta) -> None:
        """A topic that is gone has no options any more either."""
        for kind, name in delta.configs:
            if kind == ConfigResourceType.TOPIC:
                self._read_topic(name, image)

    def read_rates(self, settings: Settings) -> None:
        self.leader.read_rate(settings)
        self.follower.read_rate(settings)

    def _read_topic(self, name: str, image: Image) -> None:
        options = image.config(ConfigResourceType.TOPIC, name)
        self.leader.read_topic(name, options, self._node_id)
        self.follower.read_topic(name, options, self._node_id)

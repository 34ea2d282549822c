"""What holds for every partition while one decision is made: who may lead, and how many in sync."""

from collections.abc import Mapping, Sequence

from ottla.config.settings import Settings
from ottla.ids import UNASSIGNED_DIRECTORY, Uuid
from ottla.metadata.features import MIN_IN_SYNC
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType, Image, Topic

_UNCLEAN = "unclean.leader.election.enable"


class PartitionRules:
    def __init__(
        self,
        image: Image,
        settings: Settings,
        *,
        without: int | None = None,
        returning: int | None = None,
        came_lately: Mapping[int, float] | None = None,
    ) -> None:
        """`without` is a broker that is about to go, `returning` one that is about to be there:
        the image does not show it yet. `came_lately`: brokers that came a moment ago, and when."""
        self.image = image
        self.settings = settings.with_dynamic(image.config(*CLUSTER_DEFAULTS), {})
        self.elr_enabled = image.elr_enabled
        self.without = without
        self.returning = returning
        self._came_lately = came_lately or {}
        defaults = self.settings.for_topic({})
        self._min_isr = defaults.int(MIN_IN_SYNC)
        self._unclean = defaults.flag(_UNCLEAN)

    def min_isr(self, topic: Topic) -> int:
        """Never more than the topic has replicas, else it could never be reached."""
        own = self.image.config(ConfigResourceType.TOPIC, topic.name).get(MIN_IN_SYNC)
        wanted = self._min_isr if own is None else int(own)
        return min(wanted, len(topic.partitions[0].replicas))

    def unclean_allowed(self, topic: Topic) -> bool:
        own = self.image.config(ConfigResourceType.TOPIC, topic.name).get(_UNCLEAN)
        return self._unclean if own is None else own.lower() == "true"

    def may_lead(self, broker_id: int, directory: Uuid | None) -> bool:
        """`directory` holds its replica; None for one being added, which has none yet."""
        if broker_id == self.without:
            return False
        broker = self.image.brokers.get(broker_id)
        if broker is None or not (broker.active or broker_id == self.returning):
            return False
        return directory is None or broker.holds(directory)

    def by_preference(self, replicas: Sequence[int]) -> Sequence[int]:
        """As they are assigned, but those that came lately last: clients that lost them a moment
        ago wait before they try them again, librdkafka for up to ten seconds."""
        came = self._came_lately
        return sorted(replicas, key=lambda one: came.get(one, 0.0)) if came else replicas

    def active(self, broker_id: int) -> bool:
        broker = self.image.brokers.get(broker_id)
        return broker is not None and broker.active

    def new_directory(self, broker_id: int) -> Uuid:
        broker = self.image.brokers.get(broker_id)
        return broker.directory_for_new_replica() if broker else UNASSIGNED_DIRECTORY

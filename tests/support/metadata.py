"""A controller over a log in memory that commits at once, and brokers that register with it."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any, TypeVar

from ottla.config.settings import Settings
from ottla.controller.controller import Controller
from ottla.ids import Uuid
from ottla.metadata.features import SUPPORTED, bootstrap_values
from ottla.metadata.image import Image, PartitionRegistration
from ottla.metadata.publisher import Publisher
from ottla.metadata.records import Record, unframe
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
)
from ottla.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.ids import new_uuid

T = TypeVar("T")
CLUSTER = "qxMSOLpFR9-f3GtICWzutw"


class InstantLog:
    """Every batch is committed when it is appended, unless `hold` is set."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.batches: list[list[Record]] = []
        self.end = 0
        self.hold = False
        self.held: list[Callable[[], None]] = []

    def appended_end_offset(self) -> int:
        return self.end

    kraft_version = 0

    def append(self, values: Sequence[bytes]) -> "asyncio.Future[int]":
        base, self.end = self.end, self.end + len(values)
        self.batches.append([unframe(value) for value in values])
        future: asyncio.Future[int] = asyncio.get_event_loop().create_future()

        def commit() -> None:
            self.publisher.committed(base, 1, values, 0)
            future.set_result(base)

        if self.hold:
            self.held.append(commit)
        else:
            commit()
        return future


class Cluster:
    """The controller is active from the start; brokers come with `broker`."""

    def __init__(self, settings: dict[str, str] | None = None, node_id: int = 100) -> None:
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.now = 0.0
        self.publisher = Publisher()
        self.log = InstantLog(self.publisher)
        self.epochs: dict[int, int] = {}
        self.controller = Controller(
            self.log,
            self.publisher,
            Settings(settings or {}),
            node_id=node_id,
            cluster_id=CLUSTER,
            bootstrap=bootstrap_values(),
            now=lambda: self.now,
            now_ms=lambda: 1_700_000_000_000 + int(self.now * 1000),
            chance=Random(7),
        )
        self.publisher.leader_changed(node_id, 1)

    @property
    def image(self) -> Image:
        return self.publisher.image

    @property
    def last(self) -> list[Record]:
        return self.log.batches[-1]

    def tick(self, now: float) -> None:
        self.now = now
        self.wait(self._tick())

    async def _tick(self) -> None:
        self.controller.tick(self.now)

    def wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(coroutine)

    def close(self) -> None:
        self.loop.close()

    def register(
        self,
        broker_id: int,
        *,
        incarnation: Uuid | None = None,
        rack: str | None = None,
        directories: list[Uuid] | None = None,
        previous_epoch: int = -1,
    ) -> int:
        ask = BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=CLUSTER,
            incarnation_id=incarnation or new_uuid(),
            listeners=[Listener(name="PLAINTEXT", host="localhost", port=9000 + broker_id)],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED.items()
            ],
            rack=rack,
            log_dirs=directories or [broker_id.to_bytes(1, "big") * 16],
            previous_broker_epoch=previous_epoch,
        )
        epoch = self.wait(self.controller.broker_registration(ask)).broker_epoch
        self.epochs[broker_id] = epoch
        return epoch

    def heartbeat(self, broker_id: int, **fields: Any) -> BrokerHeartbeatResponse:
        fields.setdefault("current_metadata_offset", self.image.offset)
        ask = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=self.epochs[broker_id], **fields
        )
        return self.wait(self.controller.broker_heartbeat(ask))

    def broker(self, broker_id: int, **fields: Any) -> None:
        self.register(broker_id, **fields)
        self.heartbeat(broker_id)

    def create(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int = 1,
        configs: dict[str, str] | None = None,
    ) -> CreatableTopicResult:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replication_factor,
            configs=[
                CreatableTopicConfig(name=key, value=value)
                for key, value in (configs or {}).items()
            ],
        )
        ask = CreateTopicsRequest(topics=[topic])
        return self.wait(self.controller.create_topics(ask)).topics[0]

    def downgrade(self, feature: str) -> None:
        """To level 0, which is to do without it."""
        update = FeatureUpdateKey(feature=feature, max_version_level=0, upgrade_type=2)
        ask = UpdateFeaturesRequest(feature_updates=[update])
        assert self.wait(self.controller.update_features(ask)).error_code == 0

    def partition(self, name: str, index: int = 0) -> PartitionRegistration:
        return self.image.topics_by_name[name].partitions[index]

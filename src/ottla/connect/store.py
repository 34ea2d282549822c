"""Connect's three topics: read by every worker, written by the one that leads."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from types import TracebackType

from ottla.client.connection import Connection
from ottla.connect.records import KeyAndValue
from ottla.connect.settings import Settings
from ottla.connect.state import Change, ClusterState, Configs, Offsets, Statuses
from ottla.errors import OttlaError
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.serving.partitioning import partition_of
from ottla.serving.producing import SoleWriter
from ottla.serving.topic import Led, StateTopic, ensure
from ottla.serving.topic_state import TopicState
from ottla.wire.record_batch import NewRecord, Record

TIMEOUT_S = 30.0


class Store:
    def __init__(
        self, settings: Settings, connection: Connection, changed: Callable[[Change], None]
    ) -> None:
        """`changed` hears of every change of the configurations, once the start is read."""
        self.state = ClusterState()
        self._changed = changed
        self._started = False
        self._connection = connection
        self._fencing = connection.wire()
        self._as_offsets = _topic(settings, "offset", settings["offset.storage.partitions"])
        self._group = group = settings["group.id"]
        # A Connect that leads writes under this transactional id where it is told to be exactly
        # once: it is fenced by whoever leads here, and the other way round.
        self._configs = TopicState(
            connection,
            _topic(settings, "config", partitions=1),
            self._config,
            self._forget_configs,
            transactional_id=f"connect-cluster-{group}",
            timeout_s=TIMEOUT_S,
        )
        self._statuses = TopicState(
            connection,
            _topic(settings, "status", settings["status.storage.partitions"]),
            lambda record: self.state.status_record(record.key, record.value),
            self._forget_statuses,
            transactional_id=f"connect-cluster-{group}-statuses",
            timeout_s=TIMEOUT_S,
        )
        self._offsets = TopicState(
            connection,
            self._as_offsets,
            lambda record: self.state.offset_record(record.key, record.value),
            self._forget_offsets,
            transactional_id=f"connect-cluster-{group}-offsets",
            timeout_s=TIMEOUT_S,
        )
        self._all = (self._configs, self._statuses, self._offsets)
        self._open = AsyncExitStack()

    @property
    def cluster_id(self) -> str:
        return self._configs.cluster_id

    async def __aenter__(self) -> "Store":
        """Returns when all that was there is read; OttlaError for a topic that cannot serve."""
        await self._open.enter_async_context(self._fencing)
        try:
            for topic in self._all:
                await self._open.enter_async_context(topic)
        except BaseException:
            await self._open.aclose()
            raise
        self._started = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._open.aclose()

    # --- writing

    async def lead(self) -> None:
        await asyncio.gather(*(topic.lead() for topic in self._all))

    def follow(self) -> None:
        for topic in self._all:
            topic.follow()

    async def write_configs(self, records: Sequence[KeyAndValue]) -> None:
        await self._configs.write(records)

    async def write_statuses(self, records: Sequence[KeyAndValue]) -> None:
        await self._statuses.write(records)

    async def write_offsets(self, records: Sequence[KeyAndValue]) -> None:
        await self._offsets.write(records)

    async def ensure_own(self, topic: str) -> Led:
        """A topic with a source's own offsets, made as the worker's is."""
        try:
            return await ensure(self._fencing, replace(self._as_offsets, name=topic), TIMEOUT_S)
        except TimeoutError:
            raise OttlaError(f"Topic {topic} has no leader.") from None

    async def write_own(self, name: str, topic: str, some: Sequence[KeyAndValue]) -> None:
        led = await self.ensure_own(topic)
        writer = SoleWriter(self._fencing, topic, f"{self._group}-{name}-offsets", TIMEOUT_S)
        await writer.begin()
        now = SYSTEM_CLOCK.wall_ms()
        for key, value in some:
            await writer.write([NewRecord(now, key, value)], partition_of(key, len(led.partitions)))

    async def fence(self, transactional_ids: Iterable[str]) -> None:
        """What former tasks still write under these ids is refused from here on."""
        for one in transactional_ids:
            await SoleWriter(self._fencing, "", one, TIMEOUT_S).begin()

    # --- reading

    async def catch_up(self) -> None:
        await asyncio.gather(self._configs.catch_up(), self._statuses.catch_up())

    async def catch_up_offsets(self) -> None:
        await self._offsets.catch_up()

    def _config(self, record: Record) -> None:
        change = self.state.config_record(record.key, record.value)
        if change is not None and self._started:
            self._changed(change)

    def _forget_configs(self) -> None:
        self.state.configs = Configs()

    def _forget_statuses(self) -> None:
        self.state.statuses = Statuses()

    def _forget_offsets(self) -> None:
        self.state.offsets = Offsets()


def _topic(settings: Settings, storage: str, partitions: int) -> StateTopic:
    return StateTopic(
        settings[f"{storage}.storage.topic"],
        partitions=partitions,
        replicas=settings[f"{storage}.storage.replication.factor"],
        in_one_order=storage == "config",
        settings=settings.topic_settings(storage),
    )

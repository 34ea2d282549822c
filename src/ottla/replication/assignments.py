"""The broker tells the controller in which of its directories a replica is, or that it is in none.

With several log directories the broker chooses, and the controller must know: when a directory is
lost, only what was in it needs new leaders. A single replica that cannot be used is reported in the
same way, as one in a directory that is lost; Apache Kafka's controllers understand that too.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from ottla.errors import KafkaError
from ottla.ids import LOST_DIRECTORY, Uuid
from ottla.metadata.image import Delta, Image
from ottla.replication.controller_channel import ControllerChannel
from ottla.replication.directories import Directories
from ottla.replication.partitions import Partitions, Replica
from ottla.wire.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    RequestDirectoryData,
    RequestPartitionData,
    RequestTopicData,
)

log = logging.getLogger(__name__)

RETRY_S = 0.5
Told = dict[Uuid, dict[Uuid, list[int]]]
"""For each directory, of each topic, the partitions there."""


class Assignments:
    def __init__(
        self,
        controller: ControllerChannel,
        partitions: Partitions,
        directories: Directories,
        *,
        epoch: Callable[[], int],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._controller = controller
        self._partitions = partitions
        self._directories = directories
        self._epoch = epoch
        self._spawn = spawn

    def loaded(self) -> None:
        self.tell_of(self._partitions)
        self._tell_of_offline(self._partitions.offline)

    def image_changed(self, image: Image, delta: Delta) -> None:
        """After the replicas have followed the image."""
        found = (
            self._partitions.find(image.topics_by_id[topic_id].name, index)
            for topic_id, index in delta.partitions
            if topic_id in image.topics_by_id
        )
        self.tell_of(replica for replica in found if replica is not None)
        if self._partitions.offline:
            self._tell_of_offline(set(self._partitions.offline).intersection(delta.partitions))

    def tell_of(self, replicas: Iterable[Replica]) -> None:
        """Where they are, unless the controller knows."""
        told = self._to_tell(replicas)
        if told:
            self._spawn(self._tell(told))

    async def tell_of_now(self, replicas: Iterable[Replica]) -> None:
        """Returns once the controller has written it down."""
        told = self._to_tell(replicas)
        if told:
            await self._tell(told)

    def _to_tell(self, replicas: Iterable[Replica]) -> Told:
        told: Told = {}
        for replica in replicas:
            actual = LOST_DIRECTORY if replica.lost else self._directories.directory_of(replica.log)
            if replica.state.directory(self._partitions.node_id) != actual:
                partition = replica.topic_partition.partition
                told.setdefault(actual, {}).setdefault(replica.topic_id, []).append(partition)
        return told

    def _tell_of_offline(self, partitions: Iterable[tuple[Uuid, int]]) -> None:
        """Those without a log cannot lead, whatever the directory's health."""
        lost: dict[Uuid, list[int]] = {}
        image, me = self._partitions.image, self._partitions.node_id
        for topic_id, index in partitions:
            topic = image.topics_by_id.get(topic_id)
            if topic is not None and topic.partitions[index].directory(me) != LOST_DIRECTORY:
                lost.setdefault(topic_id, []).append(index)
        if lost:
            self._spawn(self._tell({LOST_DIRECTORY: lost}))

    async def _tell(self, told: Told) -> None:
        directories = [
            RequestDirectoryData(
                id=directory,
                topics=[
                    RequestTopicData(
                        topic_id=topic_id,
                        partitions=[RequestPartitionData(partition_index=one) for one in indexes],
                    )
                    for topic_id, indexes in topics.items()
                ],
            )
            for directory, topics in told.items()
        ]
        while True:
            ask = AssignReplicasToDirsRequest(
                broker_id=self._partitions.node_id,
                broker_epoch=self._epoch(),
                directories=directories,
            )
            try:
                await self._controller.ask(ask, AssignReplicasToDirsResponse)
                return
            except KafkaError as error:
                log.warning("the controller did not take the directories of replicas: %s", error)
            await asyncio.sleep(RETRY_S)

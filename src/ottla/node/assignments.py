"""With several log directories the broker chooses where a replica goes, and tells the controller.

The controller must know: when a directory is lost, only what was in it needs new leaders.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from ottla.errors import KafkaError
from ottla.ids import Uuid
from ottla.metadata.image import Delta, Image
from ottla.node.active_controller import ActiveController
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


class Assignments:
    def __init__(
        self,
        controller: ActiveController,
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
        self._tell_of(self._partitions)

    def image_changed(self, image: Image, delta: Delta) -> None:
        """After the replicas have followed the image."""
        if len(self._directories.ids) == 1:
            return
        changed = (
            self._partitions.find(image.topics_by_id[topic_id].name, index)
            for topic_id, index in delta.partitions
        )
        self._tell_of(replica for replica in changed if replica is not None)

    def _tell_of(self, replicas: Iterable[Replica]) -> None:
        told: dict[Uuid, dict[Uuid, list[int]]] = {}
        for replica in replicas:
            actual = self._directories.directory_of(replica.log)
            if replica.state.directory(self._partitions.node_id) != actual:
                topics = told.setdefault(actual, {})
                topics.setdefault(replica.topic_id, []).append(replica.topic_partition.partition)
        if told:
            self._spawn(self._tell(told))

    async def _tell(self, told: dict[Uuid, dict[Uuid, list[int]]]) -> None:
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

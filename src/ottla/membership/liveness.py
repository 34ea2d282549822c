"""A broker whose heartbeat connection closes may be dead: its listener tells.

A process that dies takes its sockets with it. Nobody listening where the broker should be is
proof, and the controller fences it at once. Whoever still accepts, or cannot be reached at all,
keeps its session: fencing is safe but not free.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from ottla.errors import KafkaError
from ottla.metadata.image import Endpoint, Image
from ottla.ports.network import LinkLost, LinkRefused, Network

log = logging.getLogger(__name__)

PROBES_S = (0.0, 0.01, 0.03, 0.1, 0.3)
"""Pauses before each probe: a dying process may still accept for a moment."""
PROBE_S_MAX = 0.5


class FencingController(Protocol):
    """The controller on this node, which fences while it is the active one."""

    node_id: int

    @property
    def active(self) -> bool: ...

    async def broker_lost(self, broker_id: int) -> None: ...


class Liveness:
    def __init__(
        self, controller: FencingController, image: Callable[[], Image], network: Network
    ) -> None:
        self._controller = controller
        self._network = network
        self._image = image
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """A new active controller has no connections yet: it asks who is there."""
        if self._controller.active:
            for broker in self._image().brokers.values():
                if not broker.fenced and broker.id != self._controller.node_id:
                    self.connection_closed(broker.id, broker.epoch)

    def connection_closed(self, broker_id: int, broker_epoch: int) -> None:
        if not self._controller.active or broker_id in self._tasks:
            return
        task = asyncio.get_running_loop().create_task(self._probe(broker_id, broker_epoch))
        self._tasks[broker_id] = task
        task.add_done_callback(lambda _: self._tasks.pop(broker_id, None))

    async def _probe(self, broker_id: int, broker_epoch: int) -> None:
        for pause in PROBES_S:
            await asyncio.sleep(pause)
            broker = self._image().brokers.get(broker_id)
            if broker is None or broker.fenced or broker.epoch != broker_epoch:
                return
            if broker.listeners and await refuses(self._network, broker.listeners[0]):
                log.warning("Broker %d is gone: nobody listens there any more", broker_id)
                try:
                    await self._controller.broker_lost(broker_id)
                except KafkaError as error:
                    log.info("Broker %d was not fenced here: %s", broker_id, error)
                return


async def refuses(network: Network, listener: Endpoint) -> bool:
    """Only a refused connection is proof; silence may be the network's."""
    try:
        async with asyncio.timeout(PROBE_S_MAX):
            link = await network.connect(listener.host, listener.port, lambda: None)
    except LinkRefused:
        return True
    except (LinkLost, TimeoutError):
        return False
    link.close()
    return False

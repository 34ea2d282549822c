"""Brokers that seem to have died a moment ago: what is said about them is about to change.

A client whose leader dies asks another broker at once, and takes the answer for as long as a
second. So the answer waits, a little, until the controller has said who leads now: that is the
difference between a fail-over of a quarter of a second and one of a whole one.
"""

import asyncio

from ottla.metadata.image import Delta, Image

PATIENCE_S = 0.6
REMEMBERED_S = 9.0
"""As long as Apache Kafka, waiting for a session to end, shows a broker that is dead."""


class Suspects:
    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._left: dict[int, float] = {}
        self._fenced: set[int] = set()
        self._calm = asyncio.Event()
        self._calm.set()

    @property
    def exist(self) -> bool:
        return bool(self._ids)

    def lost(self, broker_id: int) -> None:
        """The connection to it ended, and not by our doing. That is no news of one whom the
        controller has fenced: nothing more would be said of it."""
        if broker_id not in self._fenced:
            self._ids.add(broker_id)
            self._calm.clear()

    def found(self, broker_id: int) -> None:
        """It answers."""
        self._ids.discard(broker_id)
        self._look()

    def left_lately(self, now: float) -> list[int]:
        """Brokers fenced a moment ago, which clients should still be told of.

        librdkafka drops a broker that is no longer listed, and with it, for a second, the
        partitions that were just about to move from there.
        """
        if self._left:
            self._left = {each: until for each, until in self._left.items() if until > now}
        return list(self._left)

    def image_changed(self, image: Image, delta: Delta, now: float) -> None:
        """Those that the controller has fenced are suspects no longer."""
        for broker_id, before in delta.brokers.items():
            after = image.brokers.get(broker_id)
            if before is not None and not before.fenced and after is not None and after.fenced:
                self._left[broker_id] = now + REMEMBERED_S
            else:
                self._left.pop(broker_id, None)
        if delta.brokers:
            self._fenced = {each.id for each in image.brokers.values() if each.fenced}
        self._ids = {each for each in self._ids if each in image.brokers} - self._fenced
        self._look()

    async def settled(self) -> None:
        """Wait for the controller's word, but not long: it may be right as it is."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._calm.wait()
        except TimeoutError:
            self._ids.clear()  # their session decides
            self._look()

    def _look(self) -> None:
        if not self._ids:
            self._calm.set()

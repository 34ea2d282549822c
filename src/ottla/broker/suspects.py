"""Brokers that seem to have died a moment ago: what is said about them is about to change.

A client whose leader dies asks another broker at once, and takes the answer for as long as a
second. So the answer waits, a little, until the controller has said who leads now: that is the
difference between a fail-over of a quarter of a second and one of a whole one.
"""

import asyncio

from ottla.metadata.image import Image

PATIENCE_S = 0.6


class Suspects:
    def __init__(self) -> None:
        self._ids: set[int] = set()
        self._calm = asyncio.Event()
        self._calm.set()

    @property
    def exist(self) -> bool:
        return bool(self._ids)

    def lost(self, broker_id: int) -> None:
        """The connection to it ended, and not by our doing."""
        self._ids.add(broker_id)
        self._calm.clear()

    def found(self, broker_id: int) -> None:
        """It answers."""
        self._ids.discard(broker_id)
        self._look()

    def image_changed(self, image: Image) -> None:
        """Those that the controller has fenced are suspects no longer."""
        self._ids = {
            each for each in self._ids if each in image.brokers and not image.brokers[each].fenced
        }
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

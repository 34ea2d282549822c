"""Decisions become committed records, one after the other.

The writer has an image of its own that is ahead of the committed one: records count as soon as
they are appended, so requests in flight see each other. When the leadership goes, the image goes
with it, and whoever waits is told NOT_CONTROLLER.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, TypeVar

from ottla.controller.decision import RECORDS_MAX, ControllerResult
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.apply import apply_all
from ottla.metadata.image import Image
from ottla.metadata.records import Record, frames

R = TypeVar("R")


class AppendableLog(Protocol):
    """The quorum, as far as the controller needs it."""

    def append(self, values: Sequence[bytes]) -> "asyncio.Future[int]":
        """One atomic batch; the future has its first offset once it is committed."""

    def appended_end_offset(self) -> int: ...

    @property
    def kraft_version(self) -> int: ...


class RecordWriter:
    def __init__(self, log: AppendableLog) -> None:
        self._log = log
        self._image: Image | None = None
        self._last: asyncio.Future[int] | None = None

    @property
    def active(self) -> bool:
        return self._image is not None

    @property
    def image(self) -> Image:
        """With all that is appended; only the active controller has one."""
        if self._image is None:
            raise KafkaError(
                ErrorCode.NOT_CONTROLLER, "This node is not the cluster's active controller."
            )
        return self._image

    @property
    def next_offset(self) -> int:
        return self._log.appended_end_offset()

    def activate(self, committed: Image) -> None:
        self._image = committed.copy()

    def deactivate(self) -> None:
        self._image = None
        self._last = None

    async def decide(self, decide: Callable[[Image], ControllerResult[R]]) -> R:
        """Decide, write, and answer once that is committed.

        A refusal may rest on what is appended only ("exists already"), so it waits as well. What
        needs no record while none is under way is answered at once, as in Kafka: a controller that
        was deposed, and has not heard of it, then answers from what it knew.
        """
        decision = decide(self.image)
        self.append(decision.records, atomic=decision.atomic)
        await self.committed()
        return decision.reply

    def append(self, records: list[Record], *, atomic: bool = True) -> None:
        """Write without waiting; in order with everything else."""
        if not records:
            return
        image = self.image
        step = len(records) if atomic else RECORDS_MAX
        for start in range(0, len(records), step):
            batch = records[start : start + step]
            base = self._log.appended_end_offset()
            self._last = self._log.append(frames(batch))
            self._last.add_done_callback(partial(self._noted, image))
            apply_all(image, batch)
            image.offset = base + len(batch) - 1

    async def committed(self) -> None:
        """Until all that is appended now is committed."""
        if self._last is not None:
            await asyncio.shield(self._last)

    def _noted(self, image: Image, future: "asyncio.Future[int]") -> None:
        """A batch that failed makes the image that counts it a lie; a newer one does not."""
        failed = not future.cancelled() and future.exception() is not None
        if failed and self._image is image:
            self.deactivate()

"""What a broker knows of its controller from its heartbeats."""

import asyncio
from typing import Any, cast

from ottla.errors import ErrorCode, KafkaError
from ottla.membership.registration import Registration
from ottla.node.active_controller import ActiveController
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatResponse


class AnswersOnce:
    """A controller that lets a broker in, and is not heard of again."""

    def __init__(self, trouble: Exception) -> None:
        self.asked_again = asyncio.Queue[None]()
        self._trouble = trouble
        self._has_answered = False

    async def ask(self, *_: Any) -> BrokerHeartbeatResponse:
        if self._has_answered:
            self.asked_again.put_nowait(None)
            raise self._trouble
        self._has_answered = True
        return BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False)


def registration_with(controller: AnswersOnce) -> Registration:
    return Registration(
        cast(ActiveController, controller),
        node_id=1,
        interval_s=0.01,
        metadata_offset=lambda: 0,
        lost_directories=list,
        cordoned_directories=list,
        now=SYSTEM_CLOCK.monotonic,
    )


def test_silence_counts_from_the_moment_a_broker_is_let_in() -> None:
    """One that is cut off before its second heartbeat must notice too."""

    async def live() -> None:
        controller = AnswersOnce(KafkaError(ErrorCode.NOT_CONTROLLER))
        registration = registration_with(controller)
        assert registration.controller_silent_s() < 0
        await registration.unfence()
        await controller.asked_again.get()
        assert registration.controller_silent_s() > 0
        await registration.leave()

    asyncio.run(live())


def test_a_heart_beats_on_after_a_fault() -> None:
    async def live() -> None:
        controller = AnswersOnce(KeyError("a fault"))
        registration = registration_with(controller)
        await registration.unfence()
        async with asyncio.timeout(5):
            await controller.asked_again.get()
            await controller.asked_again.get()

    asyncio.run(live())

"""This node's broker towards the controller: registered, alive, and leaving in good order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from ottla.config.topology import Listener
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid
from ottla.metadata.features import SUPPORTED
from ottla.replication.controller_channel import ControllerChannel
from ottla.wire.message import Message
from ottla.wire.messages import broker_registration, controller_registration
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse

log = logging.getLogger(__name__)
M = TypeVar("M", bound=Message)

PROTOCOLS = {"PLAINTEXT": 0, "SSL": 1, "SASL_PLAINTEXT": 2, "SASL_SSL": 3}
SHUTDOWN_S_MAX = 5.0
"""For a controller that answers: it waits until the other brokers have heard of it."""
GOODBYE_S_MAX = 1.0
"""For one that does not: perhaps all nodes are being stopped."""
RETRY_S = 0.05
DUPLICATE_RETRY_S = 0.2
BEAT_S_MAX = 3.0


class Registration:
    def __init__(
        self,
        controller: ControllerChannel,
        *,
        node_id: int,
        interval_s: float,
        metadata_offset: Callable[[], int],
        lost_directories: Callable[[], list[Uuid]],
        cordoned_directories: Callable[[], list[Uuid] | None],
        now: Callable[[], float],
    ) -> None:
        self.epoch = -1
        self._controller = controller
        self._node_id = node_id
        self._interval_s = interval_s
        self._metadata_offset = metadata_offset
        self._lost_directories = lost_directories
        self._cordoned_directories = cordoned_directories
        self._now = now
        self._heart: asyncio.Task[None] | None = None
        self._hurrying = asyncio.Event()
        self._answered_at = float("inf")  # a broker that is still fenced waits for ever

    def controller_silent_s(self) -> float:
        """How long ago the controller last took a heartbeat."""
        return self._now() - self._answered_at

    async def register(
        self,
        cluster_id: str,
        advertised: Sequence[Listener],
        directory_ids: Sequence[Uuid],
        *,
        incarnation_id: Uuid,
        rack: str | None,
        previous_epoch: int,
    ) -> None:
        """Returns when the controller has taken it: an earlier life of this broker may have to
        time out first."""
        request = broker_registration.BrokerRegistrationRequest(
            broker_id=self._node_id,
            cluster_id=cluster_id,
            incarnation_id=incarnation_id,
            listeners=[
                broker_registration.Listener(
                    name=each.name,
                    host=each.host,
                    port=each.port,
                    security_protocol=PROTOCOLS[each.protocol],
                )
                for each in advertised
            ],
            features=[
                broker_registration.Feature(
                    name=name, min_supported_version=least, max_supported_version=most
                )
                for name, (least, most) in SUPPORTED.items()
            ],
            rack=rack,
            log_dirs=sorted(directory_ids),
            previous_broker_epoch=previous_epoch,
        )
        while True:
            response = await self._patiently(
                lambda: self._controller.ask(
                    request, broker_registration.BrokerRegistrationResponse
                )
            )
            code = ErrorCode(response.error_code)
            if code == ErrorCode.NONE:
                self.epoch = response.broker_epoch
                return
            if code != ErrorCode.DUPLICATE_BROKER_REGISTRATION:
                raise KafkaError(code, f"The controller refused this broker: {code.name}.")
            await asyncio.sleep(DUPLICATE_RETRY_S)

    async def unfence(self) -> None:
        """Returns when the controller lets this broker lead and be found."""
        while True:
            response = await self._patiently(self._beat)
            if not response.error_code and not response.is_fenced:
                break
            await asyncio.sleep(RETRY_S)
        self._answered_at = self._now()  # from now on silence counts
        self._heart = asyncio.get_running_loop().create_task(self._keep_alive())

    @staticmethod
    async def _patiently(ask: Callable[[], Awaitable[M]]) -> M:
        """A node that starts waits for a controller however long it takes to elect one."""
        while True:
            try:
                return await ask()
            except KafkaError as error:
                if error.code != ErrorCode.NOT_CONTROLLER:
                    raise

    async def leave(self) -> None:
        """Hand over what is led, within limits: a stop has to end."""
        if self._heart is not None:
            self._heart.cancel()
        deadline = self._now() + SHUTDOWN_S_MAX
        while self._now() < deadline:
            try:
                async with asyncio.timeout(GOODBYE_S_MAX):
                    response = await self._beat(want_shut_down=True)
            except (KafkaError, TimeoutError):
                break
            if response.error_code or response.should_shut_down:
                return
            await asyncio.sleep(RETRY_S)
        log.warning("the controller did not let go in time; stopping all the same")

    def hurry(self) -> None:
        """Tell the controller at once how far this broker has read: another waits for it."""
        self._hurrying.set()

    async def _keep_alive(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s):
                    await self._hurrying.wait()
            self._hurrying.clear()
            try:
                response = await self._beat()
            except Exception as error:  # without a heart the broker would be fenced for ever
                expected = isinstance(error, KafkaError)
                log.warning(
                    "the controller did not take a heartbeat: %s", error, exc_info=not expected
                )
                continue
            self._answered_at = self._now()
            if response.error_code:
                code = ErrorCode(response.error_code).name
                log.warning("the controller refused a heartbeat: %s", code)

    async def _beat(self, *, want_shut_down: bool = False) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self._node_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata_offset(),
            want_shut_down=want_shut_down,
            offline_log_dirs=self._lost_directories(),
            cordoned_log_dirs=self._cordoned_directories(),
        )
        return await self._controller.ask(request, BrokerHeartbeatResponse, BEAT_S_MAX)


async def register_controller(
    controller: ControllerChannel,
    node_id: int,
    listeners: Sequence[Listener],
    incarnation_id: Uuid,
) -> None:
    """Like every member of the quorum, the active one tells what it supports.

    It may be long before a majority is there to hear it.
    """
    request = controller_registration.ControllerRegistrationRequest(
        controller_id=node_id,
        incarnation_id=incarnation_id,
        listeners=[
            controller_registration.Listener(
                name=each.name,
                host=each.host,
                port=each.port,
                security_protocol=PROTOCOLS[each.protocol],
            )
            for each in listeners
        ],
        features=[
            controller_registration.Feature(
                name=name, min_supported_version=low, max_supported_version=high
            )
            for name, (low, high) in SUPPORTED.items()
        ],
    )
    while True:
        try:
            await controller.ask(request, controller_registration.ControllerRegistrationResponse)
            return
        except KafkaError as error:
            if error.code != ErrorCode.NOT_CONTROLLER:
                raise

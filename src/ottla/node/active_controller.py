"""The active controller, wherever it is: called directly on this node, asked over the wire else."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ottla.controller.controller import Controller
from ottla.errors import ErrorCode, KafkaError
from ottla.ports.network import LinkLost, Network
from ottla.quorum.driver import Quorum
from ottla.replication.peers import Peers
from ottla.wire.codec import MalformedMessage
from ottla.wire.message import Message

if TYPE_CHECKING:
    from ottla.wire.envelope import Origin

log = logging.getLogger(__name__)

M = TypeVar("M", bound=Message)

ASK_S_MAX = 5.0
"""For one question: a controller that does not answer in this time is not the active one."""


class ActiveController:
    """Finds it again when it moves. A question may be asked twice: what asks must bear that."""

    def __init__(
        self,
        local: Controller,
        quorum: Quorum,
        network: Network,
        client_id: str,
        now: Callable[[], float],
        retry_s: float,
    ) -> None:
        self._local = local
        self._quorum = quorum
        self._now = now
        self._retry_s = retry_s
        self._peers = Peers(network, self._address, client_id)

    async def ask(
        self,
        request: Message,
        response: type[M],
        timeout_s: float = 30.0,
        origin: "Origin | None" = None,
    ) -> M:
        """Its answer; NOT_CONTROLLER where nobody was active all that time. With an origin the
        request is a client's, and reaches the controller as such."""
        deadline = self._now() + timeout_s
        while True:
            try:
                answer = await self._ask_once(request, response, origin)
                if not is_not_controller(answer):
                    return answer
            except KafkaError as error:
                if error.code != ErrorCode.NOT_CONTROLLER:
                    raise
            except (LinkLost, MalformedMessage) as error:
                log.debug("the active controller does not answer: %s", error)
            if self._now() >= deadline:
                raise KafkaError(ErrorCode.NOT_CONTROLLER, "No controller is active.")
            await asyncio.sleep(self._retry_s)

    def leader_changed(self, leader_id: int | None, epoch: int) -> None:
        """Whoever waits for an answer of the one before asks the next: a heartbeat that hangs on
        a node that is cut off would have its broker fenced."""
        self._peers.close()

    def close(self) -> None:
        self._peers.close()

    async def _ask_once(self, request: Message, response: type[M], origin: "Origin | None") -> M:
        if self._local.active:
            return await self._local.ask(request, response, origin)
        leader_id = self._quorum.leader_id
        if leader_id is None or leader_id == self._quorum.node_id:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        if origin is not None:
            return await self._pass_on(leader_id, request, response, origin)
        version = request.VERSIONS[-1]
        return await self._peers.ask(leader_id, request, version, response, ASK_S_MAX)

    async def _pass_on(
        self, leader_id: int, request: Message, response: type[M], origin: "Origin"
    ) -> M:
        from ottla.wire.envelope import unwrap, wrap  # nothing on one node is passed on
        from ottla.wire.messages.envelope import EnvelopeResponse

        envelope = wrap(request, origin)
        answer = await self._peers.ask(leader_id, envelope, 0, EnvelopeResponse, ASK_S_MAX)
        if answer.error_code == ErrorCode.NOT_CONTROLLER:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        if answer.error_code or answer.response_data is None:
            log.error("the controller refused what was passed on: error %d", answer.error_code)
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "The broker failed; its log says how.")
        return unwrap(answer.response_data, response, origin)

    def _address(self, node_id: int) -> tuple[str, int] | None:
        return self._quorum.leader_address if node_id == self._quorum.leader_id else None


def is_not_controller(answer: Message) -> bool:
    """Some responses have one error for all, some one for each thing that was asked."""
    if getattr(answer, "error_code", 0) == ErrorCode.NOT_CONTROLLER:
        return True
    for name in ("topics", "responses", "results"):
        entries = getattr(answer, name, None)
        if entries and getattr(entries[0], "error_code", 0) == ErrorCode.NOT_CONTROLLER:
            return True
    return False

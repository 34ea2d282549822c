"""All routes together. What changes something goes to the worker that leads."""

import asyncio
import dataclasses
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec

from ottla.connect.rest.bodies import conflict, failed
from ottla.connect.rest.connectors import Connectors
from ottla.connect.rest.loggers import Loggers
from ottla.connect.rest.offsets import OffsetRoutes
from ottla.connect.rest.plugins import PluginRoutes
from ottla.connect.rest.validating import Validating
from ottla.connect.worker import Worker
from ottla.serving.forwarding import forward
from ottla.serving.http import Application, ContentTypes, Reply
from ottla.serving.leadership import Leadership
from ottla.serving.routing import Asked, Route, Router
from ottla.serving.users import Users
from ottla.version import VERSION

JSON = "application/json"
TYPES = ContentTypes((JSON,), (JSON, "application/*", "*/*"), 8 * 1024 * 1024, of_routes=True)
NO_LEADER = (
    "Cannot complete request momentarily due to no known leader URL, "
    "likely because a rebalance was underway."
)
NO_THIRD_HOP = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
_SETTLED_S = 5.0
_ANSWER_S = 90.0


class Routes:
    def __init__(
        self, worker: Worker, leadership: Leadership, encryption: ssl.SSLContext | None = None
    ) -> None:
        """`encryption` is for requests that are handed on to a leader at https."""
        self._worker = worker
        self._leadership = leadership
        self._encryption = encryption
        validating = Validating(worker)
        connectors, offsets = Connectors(worker, validating), OffsetRoutes(worker)
        self._loggers = Loggers(worker)
        writing = [*connectors.writes(), *offsets.writes()]
        self._writes = {route.handler for route in writing}
        self._main = [
            *connectors.reads(),
            *offsets.reads(),
            *writing,
            *PluginRoutes(validating).reads(),
            *self._about(),
        ]
        self._router = Router(self._main)

    def application(self, users: Users | None, *, admin: bool) -> Application:
        """`admin`: its listeners have /admin too."""
        router = Router([*self._main, *self._loggers.routes()]) if admin else self._router
        return Application(lambda asked: self._answer(router, asked), TYPES, users)

    def admin_application(self, users: Users | None) -> Application:
        router = Router(list(self._loggers.routes()))
        return Application(lambda asked: self._answer(router, asked), TYPES, users)

    async def _answer(self, router: Router, asked: Asked) -> Any:
        handler, asked.named = router.find(asked.method, asked.path)
        if handler not in (self._root, self._health):
            TYPES.check(asked.headers.get("content-type"))
        if handler not in self._writes and not self._loggers.is_for_all(asked):
            return await handler(asked)
        leader = await self._leadership.settled(_SETTLED_S)
        if leader == "":
            return await handler(asked)
        if leader is None:
            raise conflict(NO_LEADER)
        if asked.text("forward") == "false":
            raise conflict(NO_THIRD_HOP)
        return await self._forwarded(asked, leader)

    async def _forwarded(self, asked: Asked, leader: str) -> Reply:
        """The first hop says that there may be another, the second that there may be none."""
        further = "true" if asked.text("forward") is None else "false"
        rest = [pair for pair in asked.parameters if pair[0] != "forward"]
        handed = dataclasses.replace(asked, query=urlencode([*rest, ("forward", further)]))
        try:
            reply = await forward(handed, leader, _ANSWER_S, self._encryption)
        except OSError as error:
            raise failed(
                f"IO Error trying to forward REST request: {error} ({leader} does not answer)"
            ) from None
        if reply.status < 300:  # what was answered here can be read here
            try:
                await self._worker.store.catch_up()
            except TimeoutError:
                raise failed("Request timed out") from None
        return reply

    # --- about the worker

    def _about(self) -> Iterator[Route]:
        yield Route("GET", "/", self._root)
        yield Route("GET", "/health", self._health)

    async def _root(self, asked: Asked) -> dict[str, Any]:
        return {
            "version": VERSION,
            "commit": "ottla",
            "kafka_cluster_id": self._worker.store.cluster_id,
        }

    async def _health(self, asked: Asked) -> Any:
        try:
            async with asyncio.timeout(_ANSWER_S / 9):
                leader = await self._leadership.settled(_ANSWER_S)
                await self._worker.store.catch_up()
        except TimeoutError:
            leader = None
        if leader is not None:
            return {
                "status": "healthy",
                "message": "Worker has completed startup and is ready to handle requests.",
            }
        body = {"status": "starting", "message": "Worker is still starting up."}
        return Reply(503, msgspec.json.encode(body))

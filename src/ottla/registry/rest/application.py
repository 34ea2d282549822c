"""All routes together. What changes something goes to the registry that leads."""

import asyncio
import ssl
from collections.abc import Iterator
from typing import Any

from ottla.registry import errors
from ottla.registry.rest.contexts import without_context
from ottla.registry.rest.schemas import Schemas
from ottla.registry.rest.settings import SettingsRoutes
from ottla.registry.rest.subjects import Subjects
from ottla.registry.service import Service
from ottla.serving.forwarding import FORWARDED, forward
from ottla.serving.http import Application, ContentTypes, Reply
from ottla.serving.routing import Asked, Route, Router
from ottla.serving.users import Users
from ottla.version import VERSION

PRODUCED = (
    "application/vnd.schemaregistry.v1+json",
    "application/vnd.schemaregistry+json",
    "application/json",
)
CONSUMED = (*PRODUCED, "application/octet-stream")


class Routes:
    def __init__(self, service: Service, encryption: ssl.SSLContext | None = None) -> None:
        """`encryption` is for requests that are handed on to a leader at https."""
        self._service = service
        self._encryption = encryption
        self._subjects = Subjects(service)
        parts = (self._subjects, Schemas(service), SettingsRoutes(service))
        self._writes = {route.handler for part in parts for route in part.writes()}
        self._router = Router(
            [
                *(route for part in parts for route in (*part.reads(), *part.writes())),
                *self._about(),
            ]
        )

    def application(self, users: Users | None = None) -> Application:
        limit = self._service.settings["size.limit.filter.max.request.body.size"]
        return Application(self.answer, ContentTypes(PRODUCED, CONSUMED, limit), users)

    async def answer(self, asked: Asked) -> Any:
        path, parameters = without_context(asked.path, asked.parameters)
        handler, named = self._router.find(asked.method, path)
        asked.parameters, asked.named = parameters, named
        if handler not in self._writes:
            return await handler(asked)
        if handler == self._subjects.register:
            known = await self._subjects.without_a_write(asked)
            if known is not None:
                return known
        while True:
            leader = await self._service.leadership.settled(
                self._service.settings.seconds("kafkastore.timeout.ms")
            )
            if leader == "":
                return await handler(asked)
            if leader is None or FORWARDED in asked.headers:
                raise errors.leader_unknown()
            reply = await self._forwarded(asked, leader)
            if reply is not None:
                return reply
            if handler != self._subjects.register:  # which may come twice
                raise errors.forwarding_failed(f"Another registry leads now than {leader}")

    async def _forwarded(self, asked: Asked, leader: str) -> Reply | None:
        """None when somebody else leads before it has answered: it may sleep for ever."""
        timeout_s = self._service.settings.seconds("leader.read.timeout.ms")
        asking = asyncio.create_task(forward(asked, leader, timeout_s, self._encryption))
        moving = asyncio.create_task(self._service.leadership.moved_from(leader))
        try:
            await asyncio.wait((asking, moving), return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return None
            reply = asking.result()
        except OSError as error:
            raise errors.forwarding_failed(
                f"Unexpected error while forwarding the request to {leader}: {error}"
            ) from None
        finally:
            asking.cancel()
            moving.cancel()
        if reply.status < 300:  # what was answered here can be read here
            try:
                await self._service.topic.catch_up()
            except TimeoutError:
                raise errors.timed_out("The leader's write was not read in time.") from None
        return reply

    # --- about the server

    def _about(self) -> Iterator[Route]:
        yield Route("GET", "/", self._root)
        yield Route("POST", "/", self._root)
        yield Route("GET", "/v1/metadata/id", self._cluster)
        yield Route("GET", "/v1/metadata/version", self._version)

    async def _root(self, asked: Asked) -> dict[str, Any]:
        return {}

    async def _cluster(self, asked: Asked) -> dict[str, Any]:
        clusters = {
            "kafka-cluster": self._service.topic.cluster_id,
            "schema-registry-cluster": self._service.settings["schema.registry.group.id"],
        }
        return {"scope": {"path": [], "clusters": clusters}, "id": ""}

    async def _version(self, asked: Asked) -> dict[str, Any]:
        return {"version": VERSION, "commitId": "ottla"}

"""A REST service: an application of Starlette's kind on one runner, with one table of errors.

Which routes there are is the service's affair; here are the limits, the types of content, what
becomes of an error, and an orderly start and stop.
"""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ottla.errors import OttlaError
from ottla.serving.errors import RestError
from ottla.serving.routing import Asked, parameters_of
from ottla.serving.users import Users

_log = logging.getLogger(__name__)
_STOP_S = 5


@dataclass(frozen=True, slots=True)
class Reply:
    """What a handler answers when it is not plain JSON with 200."""

    status: int
    body: bytes | None = None
    content_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContentTypes:
    produced: Sequence[str]  # the first is the default
    consumed: Sequence[str]
    body_bytes_max: int
    of_routes: bool = False  # routes check what they consume, whether there is a body or not

    def chosen(self, accept: str | None) -> str:
        """The best of what the client accepts; 406 if there is nothing."""
        if not accept:
            return self.produced[0]
        best, quality = None, 0.0
        for wanted, weight in _accepted(accept):
            for offered in self.produced:
                if weight > quality and _covers(wanted, offered):
                    best, quality = offered, weight
        if best is None:
            raise RestError(406, 406, "HTTP 406 Not Acceptable")
        return best

    def check(self, sent: str | None) -> None:
        kind = (sent or "").partition(";")[0].strip().lower()
        if kind and kind not in self.consumed:
            raise RestError(415, 415, "HTTP 415 Unsupported Media Type")


def _accepted(header: str) -> Iterator[tuple[str, float]]:
    for one in header.lower().split(","):
        kind, *parameters = (part.strip() for part in one.split(";"))
        weight = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                with contextlib.suppress(ValueError):
                    weight = float(value)
        yield kind, weight


def _covers(wanted: str, offered: str) -> bool:
    if wanted in ("*/*", offered):
        return True
    main, _, sub = wanted.partition("/")
    return sub == "*" and offered.startswith(main + "/")


Answer = Callable[[Asked], Awaitable[Any]]


class Application:
    """An ASGI application around one function that answers."""

    def __init__(self, answer: Answer, types: ContentTypes, users: Users | None = None) -> None:
        """`users` are those who may ask; None: everybody."""
        self._answer = answer
        self._types = types
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ClientDisconnect:
            return
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> Response:
        kind = self._types.produced[0]
        try:
            if self._users is not None:
                self._users.check(request.headers.get("authorization"))
            kind = self._types.chosen(request.headers.get("accept"))
            return self._success(await self._answer(await self._asked(request)), kind)
        except RestError as error:
            response = failure(error, kind)
            if error.status == 401 and self._users is not None:
                response.headers["www-authenticate"] = self._users.challenge
            return response
        except Exception:
            _log.exception("%s %s failed", request.method, request.url.path)
            return failure(RestError(500, 500, "Internal Server Error"), kind)

    async def _asked(self, request: Request) -> Asked:
        headers = {name.lower(): value for name, value in request.headers.items()}
        raw = request.scope.get("raw_path") or request.scope["path"].encode()
        query = request.scope["query_string"].decode("latin-1")
        body = await self._body(request)
        if body and not self._types.of_routes:
            self._types.check(headers.get("content-type"))
        path = raw.partition(b"?")[0].decode("latin-1")
        parameters = parameters_of(query)
        return Asked(request.method, path, query, {}, headers, body, parameters)

    async def _body(self, request: Request) -> bytes:
        """413 as soon as it is too long, whatever its announced length."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > self._types.body_bytes_max:
                raise RestError(413, 413, "Request Entity Too Large")
        return bytes(body)

    def _success(self, answer: Any, kind: str) -> Response:
        if isinstance(answer, Reply):
            typed = {} if answer.body is None else {"content-type": answer.content_type or kind}
            return Response(answer.body, answer.status, {**typed, **answer.headers})
        return Response(msgspec.json.encode(answer), 200, {"content-type": kind})


def failure(error: RestError, kind: str) -> Response:
    body = msgspec.json.encode({"error_code": error.code, "message": error.message})
    return Response(body, error.status, {"content-type": kind})


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's affair."""
        yield


def listen(host: str, port: int) -> socket.socket:
    """OttlaError with a sentence where that is not possible. Port 0: any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise OttlaError(f"Cannot listen at {host}:{port}: {error.strerror}.") from None
    listener.setblocking(False)
    return listener


@contextlib.asynccontextmanager
async def serving(
    application: Application,
    listeners: Sequence[socket.socket],
    encryption: ssl.SSLContext | None = None,
) -> AsyncIterator[None]:
    """Serves until the block ends; then requests that are under way are answered."""
    if not listeners:
        yield
        return
    config = uvicorn.Config(
        application,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_S,
        loop="none",
        ws="none",
        ssl_context_factory=None if encryption is None else lambda *_: encryption,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=list(listeners)), name="http")
    while not server.started:
        if task.done():
            await task
            raise OttlaError("The HTTP server ended at its start.")
        await asyncio.sleep(0.001)
    try:
        yield
    finally:
        server.should_exit = True
        await task

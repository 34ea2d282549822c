"""Which handler a request is for, by the path as it was sent.

Names in a path may contain a slash, written as `%2F`: so the path is cut at its slashes first, and
each piece is decoded after that.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from ottla.serving.errors import RestError

NOT_FOUND = RestError(404, 404, "HTTP 404 Not Found")
INT32 = range(-(2**31), 2**31)


@dataclass(slots=True)
class Asked:
    """One request, as a handler sees it."""

    method: str
    path: str  # as it was sent, without what follows the question mark
    query: str
    named: dict[str, str] = field(default_factory=dict)  # what stands in the path
    headers: dict[str, str] = field(default_factory=dict)  # names in lower case
    body: bytes = b""
    parameters: list[tuple[str, str]] = field(default_factory=list)

    def flag(self, name: str) -> bool:
        """Anything but `true`, in any case, is false."""
        return (self.text(name) or "").lower() == "true"

    def text(self, name: str) -> str | None:
        return next((value for key, value in self.parameters if key == name), None)

    def texts(self, name: str) -> list[str]:
        return [value for key, value in self.parameters if key == name]

    def number(self, name: str, default: int) -> int:
        text = self.text(name)
        return default if text is None else whole_number(text)


def whole_number(text: str) -> int:
    """What is no number leads nowhere: 404, as with JAX-RS."""
    try:
        number = int(text) if text.strip() == text and "_" not in text else None
    except ValueError:
        number = None
    if number is None or number not in INT32:
        raise NOT_FOUND
    return number


Handler = Callable[[Asked], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str  # `/subjects/{subject}/versions`
    handler: Handler

    @property
    def pieces(self) -> list[str]:
        return pieces_of(self.path)


def pieces_of(path: str) -> list[str]:
    return [piece for piece in path.split("/") if piece]


def parameters_of(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True, errors="replace")


class Router:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes: dict[int, list[tuple[list[str], Route]]] = {}
        for route in routes:
            self._routes.setdefault(len(route.pieces), []).append((route.pieces, route))

    def find(self, method: str, path: str) -> tuple[Handler, dict[str, str]]:
        """404 where no route leads, 405 where one does with another method."""
        pieces = pieces_of(path)
        exists = False
        for pattern, route in self._routes.get(len(pieces), ()):
            named = _match(pattern, pieces)
            if named is None:
                continue
            if route.method == method:
                return route.handler, named
            exists = True
        if exists:
            raise RestError(405, 405, "HTTP 405 Method Not Allowed")
        raise NOT_FOUND


def _match(pattern: list[str], pieces: list[str]) -> dict[str, str] | None:
    named = {}
    for wanted, piece in zip(pattern, pieces, strict=True):
        if wanted.startswith("{"):
            named[wanted[1:-1]] = unquote(piece)
        elif wanted != piece:
            return None
    return named

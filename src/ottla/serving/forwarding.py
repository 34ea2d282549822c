"""Handing a request on to the process that leads, and its answer back."""

import asyncio
import http.client
import ssl
from urllib.parse import urlsplit

from ottla.serving.http import Reply
from ottla.serving.routing import Asked

FORWARDED = "x-forward"
"""The header of a request that was handed on: it is not handed on again."""
_PASSED = ("accept", "authorization", "content-type")


async def forward(
    asked: Asked, leader: str, timeout_s: float, encryption: ssl.SSLContext | None = None
) -> Reply:
    """OSError where the leader does not answer. `encryption` is for one at https."""
    return await asyncio.to_thread(_exchange, asked, leader, timeout_s, encryption)


def _exchange(
    asked: Asked, leader: str, timeout_s: float, encryption: ssl.SSLContext | None
) -> Reply:
    place = urlsplit(leader)
    connection: http.client.HTTPConnection
    if place.scheme == "https":
        connection = http.client.HTTPSConnection(
            place.hostname or "", place.port or 443, timeout=timeout_s, context=encryption
        )
    else:
        connection = http.client.HTTPConnection(
            place.hostname or "", place.port or 80, timeout=timeout_s
        )
    headers = {name: asked.headers[name] for name in _PASSED if name in asked.headers}
    path = asked.path + (f"?{asked.query}" if asked.query else "")
    try:
        connection.request(
            asked.method, path, body=asked.body or None, headers={**headers, "X-Forward": "true"}
        )
        answer = connection.getresponse()
        body = answer.read()
        place_of_new = answer.getheader("location")
        return Reply(
            answer.status,
            body or None,
            answer.getheader("content-type"),
            {} if place_of_new is None else {"location": place_of_new},
        )
    except http.client.HTTPException as error:
        raise OSError(f"{leader} answers nonsense: {error!r}") from None
    finally:
        connection.close()

"""A provider's keys (JWKS), fetched in a thread, kept, and fetched again from time to time.

The driver around `access_tokens`. A token with a key that is not known is refused, and the provider
is asked again soon, since it may have changed its keys; but however many such tokens come, it is
not asked more often than every `UNKNOWN_KEY_S`. A provider that does not answer leaves the keys
that are known in use.
"""

import asyncio
import logging
from collections.abc import Callable
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener, url2pathname

from ottla.security.access_tokens import Bearer, TokenRules, UnknownKey, check, parse_key_set
from ottla.security.oauth_options import KeySource

if TYPE_CHECKING:
    import jwt

log = logging.getLogger(__name__)

KEY_SET_BYTES_MAX = 1024 * 1024
FETCH_S_MAX = 10.0
UNKNOWN_KEY_S = 10.0


class KeySet:
    def __init__(self, source: KeySource, now_ms: Callable[[], int]) -> None:
        self._source = source
        self._now_ms = now_ms
        self._keys: dict[str, jwt.PyJWK] = {}
        self._wanted: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def check(self, token: str, rules: TokenRules) -> Bearer:
        """In a thread."""
        try:
            return check(token, self._keys, rules, self._now_ms())
        except UnknownKey:
            if self._loop is not None and self._wanted is not None:
                self._loop.call_soon_threadsafe(self._wanted.set)
            raise

    async def keep_fresh(self) -> None:
        """Until cancelled."""
        self._loop, self._wanted = asyncio.get_running_loop(), asyncio.Event()
        retry_s = self._source.retry_s
        while True:
            try:
                data = await self._loop.run_in_executor(None, fetch, self._source)
                self._keys = parse_key_set(data)
                wait_s, retry_s = self._source.refresh_s, self._source.retry_s
            except (OSError, ValueError) as error:
                log.warning("no keys from %s: %s", self._source.url, error)
                wait_s, retry_s = retry_s, min(self._source.retry_s_max, retry_s * 2)
            began = self._loop.time()
            try:
                async with asyncio.timeout(wait_s):
                    await self._wanted.wait()
                    # Whatever strangers send, the provider is left in peace.
                    await asyncio.sleep(max(0.0, began + UNKNOWN_KEY_S - self._loop.time()))
            except TimeoutError:
                pass
            self._wanted.clear()


def fetch(source: KeySource) -> bytes:
    """Blocks; raises OSError."""
    parts = urlsplit(source.url)
    if parts.scheme == "file":
        with open(url2pathname(parts.path), "rb") as file:
            return file.read(KEY_SET_BYTES_MAX)
    opener = build_opener(NoRedirects(), HTTPSHandler(context=source.encryption))
    request = Request(source.url, headers={"Accept": "application/json"})
    try:
        with opener.open(request, timeout=FETCH_S_MAX) as answer:
            data: bytes = answer.read(KEY_SET_BYTES_MAX + 1)
    except HTTPException as error:  # no HTTP, or half of it: no kind of OSError
        raise OSError(f"it does not speak HTTP: {type(error).__name__}") from None
    if len(data) > KEY_SET_BYTES_MAX:
        raise ValueError("it answers without an end")
    return data


class NoRedirects(HTTPRedirectHandler):
    """Who sends keys is who was named."""

    def redirect_request(self, request, file, code, message, headers, url):  # type: ignore[no-untyped-def]
        raise HTTPError(request.full_url, code, "it sends us elsewhere", headers, file)

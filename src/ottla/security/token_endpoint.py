"""Tokens of this node's own, from a provider (the grant "client credentials"): fetched in a thread,
kept until most of their time is over."""

import asyncio
import json
from base64 import b64encode
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPSHandler, Request, build_opener

from ottla.security.failures import AuthenticationFailed
from ottla.security.key_sets import FETCH_S_MAX, KEY_SET_BYTES_MAX, NoRedirects
from ottla.security.oauth_options import TokenEndpoint

KEPT = 0.8  # of a token's time
USUAL_S = 60.0
"""Of a token whose end the provider does not tell."""


class EndpointTokens:
    def __init__(self, endpoint: TokenEndpoint) -> None:
        self._endpoint = endpoint
        self._token = ""
        self._good_until = float("-inf")
        self._fetching = asyncio.Lock()

    async def token(self) -> str:
        loop = asyncio.get_running_loop()
        async with self._fetching:
            if loop.time() >= self._good_until:
                self._token, lifetime_s = await loop.run_in_executor(None, fetch, self._endpoint)
                self._good_until = loop.time() + lifetime_s * KEPT
            return self._token


def fetch(endpoint: TokenEndpoint) -> tuple[str, float]:
    """Blocks. The reasons of a failure never hold what was sent."""
    account = b64encode(f"{endpoint.client_id}:{endpoint.client_secret}".encode()).decode()
    form = {"grant_type": "client_credentials"}
    if endpoint.scope:
        form["scope"] = endpoint.scope
    request = Request(
        endpoint.url,
        urlencode(form).encode(),
        {
            "Accept": "application/json",
            "Authorization": f"Basic {account}",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    opener = build_opener(NoRedirects(), HTTPSHandler(context=endpoint.encryption))
    try:
        with opener.open(request, timeout=FETCH_S_MAX) as answer:
            said = json.loads(answer.read(KEY_SET_BYTES_MAX))
        return str(said["access_token"]), float(said.get("expires_in", USUAL_S))
    except HTTPError as error:
        raise AuthenticationFailed(f"{endpoint.url} answers with {error.code}") from None
    except (OSError, HTTPException) as error:
        raise AuthenticationFailed(f"{endpoint.url} does not answer: {error}") from None
    except (ValueError, KeyError, TypeError):
        raise AuthenticationFailed(f"{endpoint.url} gives no token") from None

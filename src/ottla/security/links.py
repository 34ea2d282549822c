"""Outgoing links that say who we are: SASL on top of another network; and what went wrong, told.

The driver of the client's side. What takes time (stretching the password) a thread does, once for
each salt: nodes find each other again in a moment.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from ottla.errors import ErrorCode
from ottla.ports.chance import Chance
from ottla.ports.network import Link, LinkUntrusted, Network
from ottla.security import plain, scram
from ottla.security.failures import AuthenticationFailed
from ottla.security.listener_options import PLAIN, NodeLogin
from ottla.security.renewed_links import RenewedLink
from ottla.wire.client import read_reply, request_frame
from ottla.wire.codec import MalformedMessage
from ottla.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ottla.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from ottla.security.kerberos import KerberosAccount
    from ottla.security.oauth_options import TokenEndpoint
    from ottla.security.token_endpoint import EndpointTokens

log = logging.getLogger(__name__)

AUTHENTICATE_VERSION = 2
HANDSHAKE_VERSION = 1
AUTHENTICATION_S_MAX = 10.0
COMPLAINT_S = 30.0
"""Nodes try again and again: one line in that time for each place."""


class AuthenticatedNetwork:
    """Every link that `connect` gives has been let in, and stays so when a session ends."""

    def __init__(self, network: Network, login: NodeLogin, chance: Chance) -> None:
        self._network = network
        self._login = login
        self._chance = chance
        self._stretched: dict[tuple[bytes, int], bytes] = {}
        self._tokens: EndpointTokens | None = None

    async def connect(self, host: str, port: int, lost: Callable[[], None]) -> Link:
        link = await self._network.connect(host, port, lost)
        session_s = await self._admit(link, host, port)
        if session_s is None:
            return link
        return RenewedLink(
            link, lambda link: self._admit(link, host, port), session_s, self._chance
        )

    async def _admit(self, link: Link, host: str, port: int) -> float | None:
        """How long the other side believes us now; None: for as long as the link is open."""
        try:
            async with asyncio.timeout(AUTHENTICATION_S_MAX):
                session_ms = await self._authenticate(link, host)
        except (AuthenticationFailed, MalformedMessage, TimeoutError) as error:
            link.close()
            raise LinkUntrusted(
                f"{host}:{port} does not let us in: {error or 'time-out'}"
            ) from None
        except BaseException:
            link.close()
            raise
        return session_ms / 1000 if session_ms > 0 else None

    async def _authenticate(self, link: Link, host: str) -> int:
        """The length of the session, as the other side has it."""
        ask = SaslHandshakeRequest(mechanism=self._login.mechanism)
        reply = await link.exchange(request_frame(ask, HANDSHAKE_VERSION, 0, b""))
        answer = read_reply(reply, SaslHandshakeResponse, HANDSHAKE_VERSION, 0)
        if answer.error_code:
            raise AuthenticationFailed(f"{ErrorCode(answer.error_code).name}")
        if self._login.mechanism == PLAIN:
            message = plain.message(self._login.username, self._login.password)
            return (await self._send(link, message)).session_lifetime_ms
        if self._login.endpoint is not None:
            return await self._oauth(link, self._login.endpoint)
        if self._login.kerberos is not None:
            return await self._gssapi(link, self._login.kerberos, host)
        return await self._scram(link, scram.MECHANISMS[self._login.mechanism])

    async def _oauth(self, link: Link, endpoint: "TokenEndpoint") -> int:
        from ottla.security import oauthbearer
        from ottla.security.token_endpoint import EndpointTokens

        if self._tokens is None:
            self._tokens = EndpointTokens(endpoint)
        token = await self._tokens.token()
        answer = await self._send(link, oauthbearer.message(token, endpoint.extensions))
        if answer.auth_bytes:
            refusal = answer.auth_bytes.decode(errors="replace")
            raise AuthenticationFailed(f"the token is refused: {refusal}")
        return answer.session_lifetime_ms

    async def _gssapi(self, link: Link, account: "KerberosAccount", host: str) -> int:
        from ottla.security.gss_exchange import choose_no_layer
        from ottla.security.kerberos import KerberosInitiator

        in_thread = asyncio.get_running_loop().run_in_executor
        context, told = KerberosInitiator(account, host), b""
        while not context.is_established:
            token = await in_thread(None, context.step, told)
            told = (await self._send(link, token)).auth_bytes
        choice = await in_thread(None, context.answer, told, choose_no_layer)
        return (await self._send(link, choice)).session_lifetime_ms

    async def _scram(self, link: Link, mechanism: scram.Mechanism) -> int:
        client = scram.ScramClient(
            mechanism,
            self._login.username,
            self._login.password,
            nonce=self._chance.randbytes(18).hex(),
        )
        stretching = client.challenge((await self._send(link, client.first())).auth_bytes)
        key = stretching.salt, stretching.iterations
        if key not in self._stretched:
            loop = asyncio.get_running_loop()
            self._stretched = {key: await loop.run_in_executor(None, stretching.run)}
        final = await self._send(link, client.prove(self._stretched[key]))
        client.check(final.auth_bytes)
        return final.session_lifetime_ms

    async def _send(self, link: Link, token: bytes) -> SaslAuthenticateResponse:
        ask = SaslAuthenticateRequest(auth_bytes=token)
        reply = await link.exchange(request_frame(ask, AUTHENTICATE_VERSION, 0, b""))
        answer = read_reply(reply, SaslAuthenticateResponse, AUTHENTICATE_VERSION, 0)
        if answer.error_code:
            raise AuthenticationFailed(answer.error_message or "no reason was given")
        return answer


class ComplainingNetwork:
    """A node whose certificate or password others refuse would try for ever without a word."""

    def __init__(self, network: Network, listener: str) -> None:
        self._network = network
        self._listener = listener
        self._complained: dict[tuple[str, int], float] = {}

    async def connect(self, host: str, port: int, lost: Callable[[], None]) -> Link:
        try:
            return await self._network.connect(host, port, lost)
        except LinkUntrusted as error:
            now = asyncio.get_running_loop().time()
            if now >= self._complained.get((host, port), float("-inf")) + COMPLAINT_S:
                self._complained[host, port] = now
                log.warning("no link by %s: %s", self._listener, error)
            raise

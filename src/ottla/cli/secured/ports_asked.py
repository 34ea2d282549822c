"""What a port speaks, found out by asking: TLS or not, SASL or not, by which certificate."""

import asyncio
import ssl
from datetime import datetime

from ottla.cli.secured.checks import ERROR, GOOD, WARNING, Finding, expiry
from ottla.config.topology import host_and_port, is_loopback
from ottla.errors import ErrorCode, KafkaError
from ottla.ports.network import LinkLost, TcpNetwork
from ottla.security.authority import describe
from ottla.wire.client import Client
from ottla.wire.codec import MalformedMessage
from ottla.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

PATIENCE_S = 5.0
HANDSHAKE_VERSION = 1


async def ask_port(address: str, now: datetime) -> list[Finding]:
    host, port = host_and_port("--bootstrap", address)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(PATIENCE_S):
            pem = await _certificate(host, port, context)
            mechanisms = await _mechanisms(host, port, context if pem is not None else None)
    except (OSError, TimeoutError) as error:
        return [Finding(ERROR, f"{address} does not answer: {error or 'time-out'}.")]
    protocol = ("SASL_" if mechanisms is not None else "") + ("SSL" if pem else "PLAINTEXT")
    found = [_verdict(address, protocol, host)]
    if mechanisms:
        found.append(Finding(GOOD, f"{address} offers {', '.join(mechanisms)}."))
    if pem is not None:
        own = describe(pem)[0]
        found.append(expiry(f"{address}: the certificate of {own.subject}", own, now))
        if host not in own.names:
            names = ", ".join(sorted(own.names)) or "no host"
            found.append(Finding(ERROR, f"{address}: its certificate is for {names}."))
    return found


def _verdict(address: str, protocol: str, host: str) -> Finding:
    is_open = protocol == "PLAINTEXT" and not is_loopback(host)
    level = GOOD if protocol.endswith("SSL") else ERROR if is_open else WARNING
    return Finding(level, f"{address} speaks {protocol}.")


async def _certificate(host: str, port: int, context: ssl.SSLContext) -> str | None:
    """In PEM; None where no TLS is spoken. A server that wants one of ours shows its own first."""
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.create_connection(asyncio.Protocol, host, port, ssl=context)
    except ssl.SSLError:
        return None
    except ConnectionResetError:
        return None
    shown = transport.get_extra_info("ssl_object").getpeercert(True)
    transport.close()
    return ssl.DER_cert_to_PEM_cert(shown)


async def _mechanisms(host: str, port: int, context: ssl.SSLContext | None) -> list[str] | None:
    """Those that are offered; None where nobody is asked for a password."""
    try:
        link = await TcpNetwork(PATIENCE_S, None if context is None else lambda: context).connect(
            host, port, lambda: None
        )
    except LinkLost:
        return None
    try:
        ask = SaslHandshakeRequest(mechanism="?")
        answer = await Client(link, "ottla").ask(ask, HANDSHAKE_VERSION, SaslHandshakeResponse)
    except (LinkLost, KafkaError, MalformedMessage):
        return None
    finally:
        link.close()
    is_sasl = answer.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    return list(answer.mechanisms) if is_sasl else None

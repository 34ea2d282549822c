"""A client's request that a broker passes on to the controller: wrapped with who asked, and opened
there (KIP-590). The controller answers as if it had been asked directly, at the client's version.
"""

from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple, TypeVar

from ottla.wire.client import read_reply, request_frame
from ottla.wire.codec import MalformedMessage, decode, encode_into
from ottla.wire.message import Message
from ottla.wire.messages.envelope import EnvelopeRequest
from ottla.wire.records.principals import DefaultPrincipalData

M = TypeVar("M", bound=Message)

VERSION = Struct(">h")
NOWHERE = "0.0.0.0"  # for a client without an address: Kafka refuses an envelope that has none


class Origin(NamedTuple):
    """Who asked, from where, and in which words the answer must be."""

    principal: str  # type:name
    host: str
    client_id: str | None
    version: int
    correlation_id: int
    by_token: bool = False  # a delegation token proved who asked


def wrap(request: Message, origin: Origin) -> EnvelopeRequest:
    client_id = (origin.client_id or "").encode()
    return EnvelopeRequest(
        request_data=request_frame(request, origin.version, origin.correlation_id, client_id),
        request_principal=principal_bytes(origin.principal, by_token=origin.by_token),
        client_host_address=ip_address(origin.host or NOWHERE).packed,
    )


def unwrap(data: bytes, response: type[M], origin: Origin) -> M:
    """The answer that came back in an envelope."""
    return read_reply(data, response, origin.version, origin.correlation_id)


def principal_bytes(principal: str, *, by_token: bool = False) -> bytes:
    kind, _, name = principal.partition(":")
    out = bytearray(VERSION.pack(0))
    encode_into(DefaultPrincipalData(type=kind, name=name, token_authenticated=by_token), 0, out)
    return bytes(out)


def read_principal(data: bytes | None) -> tuple[str, bool]:
    """And whether a delegation token proved it. As Kafka's own builder of principals writes it;
    there is no other without a plugin."""
    if data is None or len(data) < VERSION.size or VERSION.unpack_from(data)[0] != 0:
        raise MalformedMessage("a principal of an unknown version")
    principal, _ = decode(DefaultPrincipalData, 0, data, VERSION.size)
    return f"{principal.type}:{principal.name}", principal.token_authenticated


def read_host(address: bytes) -> str:
    try:
        return str(ip_address(address))
    except ValueError:
        raise MalformedMessage(f"an address of {len(address)} bytes") from None

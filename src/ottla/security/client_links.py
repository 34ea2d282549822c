"""Links of our own clients, as client properties ask for them.

`client.connection` asks here, on demand, for what librdkafka does by itself where it is the client.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ottla.client import kerberos_properties as kerberos
from ottla.client.oauth_properties import provider_of
from ottla.config.options import BROKER_OPTIONS
from ottla.errors import OttlaError
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.network import Network, TcpNetwork
from ottla.security.links import AuthenticatedNetwork
from ottla.security.listener_options import MECHANISMS, OAUTHBEARER, NodeLogin
from ottla.security.tls import TlsOptions, client_context

if TYPE_CHECKING:
    from ottla.security.kerberos import KerberosAccount

CONNECT_S_MAX = 5.0


def client_network(kept: Mapping[str, str], java: Mapping[str, str]) -> Network:
    """The same properties in librdkafka's names and in Java's: logins are plain in the former,
    stores in the latter."""
    protocol = kept.get("security.protocol", "PLAINTEXT").upper()
    encryption = client_context(_tls(java)) if protocol.endswith("SSL") else None
    network: Network = TcpNetwork(CONNECT_S_MAX, None if encryption is None else lambda: encryption)
    return (
        AuthenticatedNetwork(network, _login(kept), SYSTEM_CHANCE)
        if "SASL" in protocol
        else network
    )


def _tls(java: Mapping[str, str]) -> TlsOptions:
    values = {
        name: java.get(name, option.default)
        for name, option in BROKER_OPTIONS.items()
        if name.startswith("ssl.")
    }
    return TlsOptions("the client", values, are_of_a_client=True)


def _login(kept: Mapping[str, str]) -> NodeLogin:
    mechanism = kept.get("sasl.mechanisms", kerberos.MECHANISM).upper()
    if mechanism == kerberos.MECHANISM:
        return NodeLogin(mechanism, "", "", kerberos=_account(kept))
    if mechanism == OAUTHBEARER:
        from ottla.security.oauth_options import client_endpoint

        return NodeLogin(mechanism, "", "", client_endpoint(*provider_of(kept)))
    if mechanism not in MECHANISMS:
        known = ", ".join((*MECHANISMS, OAUTHBEARER, kerberos.MECHANISM))
        raise OttlaError(f"sasl.mechanism={mechanism} cannot be honoured here; one of {known} can.")
    if "sasl.username" not in kept or "sasl.password" not in kept:
        raise OttlaError(f"{mechanism} needs sasl.username and sasl.password.")
    return NodeLogin(mechanism, kept["sasl.username"], kept["sasl.password"])


def _account(kept: Mapping[str, str]) -> "KerberosAccount":
    from ottla.security.kerberos import KerberosAccount, need_library

    need_library()
    return KerberosAccount(
        kept.get(kerberos.SERVICE, kerberos.SERVICE_DEFAULT),
        kept.get(kerberos.PRINCIPAL, ""),
        kept.get(kerberos.KEYTAB, ""),
    )

"""OAUTHBEARER in client properties: how a token of a provider is asked for, in both names.

librdkafka is told by properties of their own (`sasl.oauthbearer.method=oidc`), Java by its login
line, which every version of its clients understands; newer ones have properties, too. Both ask for
a token by client id and secret (the grant "client credentials"). Pure.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ottla.errors import OttlaError

MECHANISM = "OAUTHBEARER"
PACKAGE = "org.apache.kafka.common.security.oauthbearer."
MODULE = f"{PACKAGE}OAuthBearerLoginModule"
LOGIN_HANDLER = f"{PACKAGE}OAuthBearerLoginCallbackHandler"
HANDLERS = (LOGIN_HANDLER, f"{PACKAGE}secured.OAuthBearerLoginCallbackHandler")
RETRIEVERS = (f"{PACKAGE}DefaultJwtRetriever", f"{PACKAGE}ClientCredentialsJwtRetriever")

METHOD = "sasl.oauthbearer.method"
BY_PROVIDER = "oidc"
URL = "sasl.oauthbearer.token.endpoint.url"
CLIENT_ID = "sasl.oauthbearer.client.id"
CLIENT_SECRET = "sasl.oauthbearer.client.secret"
SCOPE = "sasl.oauthbearer.scope"
EXTENSIONS = "sasl.oauthbearer.extensions"
GRANT = "sasl.oauthbearer.grant.type"
AUTHORITY_FILE = "https.ca.location"
AUTHORITY_PEM = "https.ca.pem"

RENAMED = {
    "sasl.oauthbearer.client.credentials.client.id": CLIENT_ID,
    "sasl.oauthbearer.client.credentials.client.secret": CLIENT_SECRET,
}
"""Java's name (newer librdkafkas know it as well), librdkafka's name."""

IN_LOGIN_LINE = {
    "clientId": CLIENT_ID,
    "clientSecret": CLIENT_SECRET,
    "scope": SCOPE,
    "ssl.truststore.location": AUTHORITY_FILE,
    "ssl.truststore.certificates": AUTHORITY_PEM,
}
EXTENSION = "extension_"
TRUSTSTORE_TYPE = "ssl.truststore.type"

TOLD_BY_LOGIN_LINE = frozenset([METHOD, GRANT, EXTENSIONS, *IN_LOGIN_LINE.values()])


class Provider(NamedTuple):
    """Where a client gets tokens, and by which account; the line is Java's."""

    url: str
    login_line: str
    extensions: Mapping[str, str]


def from_login_line(options: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's properties for what stands behind `OAuthBearerLoginModule required`; ValueError
    says what cannot be said there."""
    kept = {METHOD: BY_PROVIDER}
    extensions = {}
    for name, value in options.items():
        if name in IN_LOGIN_LINE:
            kept[IN_LOGIN_LINE[name]] = value
        elif name.startswith(EXTENSION):
            extensions[name.removeprefix(EXTENSION)] = value
        elif name != TRUSTSTORE_TYPE:
            raise ValueError(f"has {name}, which only Java's clients understand.")
    if "ssl.truststore.location" in options and options.get(TRUSTSTORE_TYPE, "").upper() != "PEM":
        raise ValueError('needs ssl.truststore.type="PEM": librdkafka reads no other form.')
    if extensions:
        kept[EXTENSIONS] = ",".join(f"{name}={value}" for name, value in extensions.items())
    return kept


def provider_of(kept: Mapping[str, str]) -> Provider:
    """Of properties in librdkafka's names."""
    if kept.get(METHOD, "").lower() != BY_PROVIDER:
        raise OttlaError(f"{MECHANISM} needs {METHOD}={BY_PROVIDER} and a provider's address here.")
    if kept.get(GRANT, "client_credentials").lower() != "client_credentials":
        raise OttlaError(f"{GRANT} cannot be honoured here: only client_credentials can.")
    for name in (URL, CLIENT_ID, CLIENT_SECRET):
        if not kept.get(name):
            raise OttlaError(f"{MECHANISM} needs {name}.")
    extensions = _extensions(kept.get(EXTENSIONS, ""))
    options = {name: kept[theirs] for name, theirs in IN_LOGIN_LINE.items() if theirs in kept}
    if AUTHORITY_FILE in kept or AUTHORITY_PEM in kept:
        options[TRUSTSTORE_TYPE] = "PEM"
    options |= {f"{EXTENSION}{name}": value for name, value in extensions.items()}
    said = "".join(f" {name}={quoted(value)}" for name, value in options.items())
    return Provider(kept[URL], f"{MODULE} required{said};", extensions)


def to_java(kept: Mapping[str, str]) -> dict[str, str]:
    return {
        "sasl.jaas.config": provider_of(kept).login_line,
        "sasl.login.callback.handler.class": LOGIN_HANDLER,
    }


def quoted(value: str) -> str:
    """As a login line has it."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


def _extensions(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(",") if pair.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}

"""What the options of a listener say about OAUTHBEARER: whose tokens are believed.

`listener.name.NAME.oauthbearer.OPTION` wins over `listener.name.NAME.OPTION`, and that over
`OPTION`. A listener starts only where keys, issuer and audience are named: Apache Kafka 4.3 takes
tokens of anybody without them. Who really wants that says so by
`sasl.oauthbearer.allow.unverified.issuer` and `….audience`; there is no such word for signatures.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from ottla.config import Settings
from ottla.config.options import BROKER_OPTIONS
from ottla.errors import OttlaError
from ottla.security import jaas
from ottla.security.access_tokens import TokenRules, need_library
from ottla.security.oauthbearer import MECHANISM
from ottla.security.tls import TlsOptions, client_context

if TYPE_CHECKING:
    from ssl import SSLContext

VALIDATORS = (
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator",
)


RETRIEVERS = (
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
    "org.apache.kafka.common.security.oauthbearer.ClientCredentialsJwtRetriever",
)


class KeySource(NamedTuple):
    url: str  # https, http or file
    refresh_s: float
    retry_s: float
    retry_s_max: float
    encryption: "SSLContext | None" = None  # None: the system's authorities


class TokenEndpoint(NamedTuple):
    """Where this node gets tokens of its own, and by which account."""

    url: str
    client_id: str
    client_secret: str
    scope: str
    encryption: "SSLContext | None" = None
    extensions: Mapping[str, str] = MappingProxyType({})  # for the broker, said beside the token


class OAuthOptions(NamedTuple):
    rules: TokenRules
    source: KeySource


def read_oauth(settings: Settings, listener: str, login: jaas.JaasLogin) -> OAuthOptions:
    need_library(MECHANISM)
    options = _Options(settings, listener)
    url = options.text("sasl.oauthbearer.jwks.endpoint.url")
    if not url:
        raise options.fault(
            "sasl.oauthbearer.jwks.endpoint.url",
            "it is missing, and without keys no signature can be checked.",
        )
    _check_url(url, options.name("sasl.oauthbearer.jwks.endpoint.url"))
    validator = options.text("sasl.oauthbearer.jwt.validator.class")
    if validator not in VALIDATORS:
        raise options.fault(
            "sasl.oauthbearer.jwt.validator.class", "classes in Java cannot be loaded here."
        )
    issuer = options.text("sasl.oauthbearer.expected.issuer") or None
    if issuer is None and not options.flag("sasl.oauthbearer.allow.unverified.issuer"):
        raise options.fault(
            "sasl.oauthbearer.expected.issuer",
            "it is missing: tokens of any issuer would do "
            "(sasl.oauthbearer.allow.unverified.issuer=true, if you mean it).",
        )
    audiences = tuple(
        filter(None, map(str.strip, options.text("sasl.oauthbearer.expected.audience").split(",")))
    )
    if not audiences and not options.flag("sasl.oauthbearer.allow.unverified.audience"):
        raise options.fault(
            "sasl.oauthbearer.expected.audience",
            "it is missing: tokens made for any other service would do "
            "(sasl.oauthbearer.allow.unverified.audience=true, if you mean it).",
        )
    return OAuthOptions(
        TokenRules(
            issuer,
            audiences,
            options.text("sasl.oauthbearer.sub.claim.name"),
            options.text("sasl.oauthbearer.scope.claim.name"),
            options.number("sasl.oauthbearer.clock.skew.seconds"),
        ),
        KeySource(
            url,
            options.number("sasl.oauthbearer.jwks.endpoint.refresh.ms") / 1000,
            options.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms") / 1000,
            options.number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms") / 1000,
            None if not url.startswith("https") else _encryption(listener, login),
        ),
    )


def read_endpoint(settings: Settings, listener: str, login: jaas.JaasLogin) -> TokenEndpoint:
    """For links to others of such a listener; the account may stand in the JAAS line, too."""
    options = _Options(settings, listener)
    url = options.text("sasl.oauthbearer.token.endpoint.url")
    if not url:
        raise options.fault(
            "sasl.oauthbearer.token.endpoint.url", "it is missing: nodes need tokens, too."
        )
    _check_url(url, options.name("sasl.oauthbearer.token.endpoint.url"))
    if options.text("sasl.oauthbearer.jwt.retriever.class") not in RETRIEVERS:
        raise options.fault(
            "sasl.oauthbearer.jwt.retriever.class", "classes in Java cannot be loaded here."
        )
    client_id = options.text("sasl.oauthbearer.client.credentials.client.id")
    secret = options.text("sasl.oauthbearer.client.credentials.client.secret")
    client_id = client_id or login.options.get("clientId", "")
    secret = secret or login.options.get("clientSecret", "")
    if not client_id or not secret:
        raise options.fault(
            "sasl.oauthbearer.client.credentials.client.id",
            "it is missing, or ….client.secret is: the provider wants to know who asks.",
        )
    return TokenEndpoint(
        url,
        client_id,
        secret,
        options.text("sasl.oauthbearer.scope") or login.options.get("scope", ""),
        None if not url.startswith("https") else _encryption(listener, login),
    )


def client_endpoint(url: str, line: str, extensions: Mapping[str, str]) -> TokenEndpoint:
    """Of a client, whose login line names the account."""
    option = "sasl.oauthbearer.token.endpoint.url"
    _check_url(url, option)
    login = jaas.parse_line(line, "sasl.jaas.config")
    return TokenEndpoint(
        url,
        login.options["clientId"],
        login.options["clientSecret"],
        login.options.get("scope", ""),
        None if not url.startswith("https") else _encryption("the client", login),
        extensions,
    )


def _check_url(url: str, option: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("https", "http", "file") or not (parts.netloc or parts.path):
        raise OttlaError(f"{option}: {url!r} is no address; https, http or file is expected.")


def _encryption(listener: str, login: jaas.JaasLogin) -> "SSLContext":
    """`ssl.*` in the JAAS line is for the provider, as in Kafka; else the system's authorities."""
    values = {
        name: login.options.get(name, option.default)
        for name, option in BROKER_OPTIONS.items()
        if name.startswith("ssl.")
    }
    return client_context(TlsOptions(f"{listener}'s JAAS line", values, are_of_a_client=True))


class _Options:
    def __init__(self, settings: Settings, listener: str) -> None:
        self._static = settings.static
        self._places = (
            f"listener.name.{listener.lower()}.{MECHANISM.lower()}.",
            f"listener.name.{listener.lower()}.",
            "",
        )

    def name(self, option: str) -> str:
        """As it stands in the file; where it does not, as it should."""
        names = [f"{place}{option}" for place in self._places]
        return next((name for name in names if name in self._static), names[0])

    def text(self, option: str) -> str:
        given = self._static.get(self.name(option))
        if given is None:
            known = BROKER_OPTIONS.get(option)
            given = known.default if known is not None else None
        return (given or "").strip()

    def number(self, option: str) -> int:
        text = self.text(option)
        if not text.isdecimal():
            raise self.fault(option, "a whole number is expected.")
        return int(text)

    def flag(self, option: str) -> bool:
        return self.text(option).lower() == "true"

    def fault(self, option: str, sentence: str) -> OttlaError:
        return OttlaError(f"{self.name(option)}: {sentence}")

"""Client properties in Java's names and in librdkafka's, and how one becomes the other.

A file that was written for Java's clients serves every tool here, all of which use librdkafka; and
what was said in librdkafka's names reaches Spark's clients, which are Java's. Kept are librdkafka's
names. Most are the same in both; this table has the others. What cannot be said in the other
library is refused with the place where it stands, never dropped: a property that is lost here is a
connection without the protection that was asked for.

Pure but for the PEM files that Java wants inside its properties, which the caller reads.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ottla.client import kerberos_properties as kerberos
from ottla.client import oauth_properties as oauth
from ottla.errors import OttlaError

CONFIG_VARIABLE = "OTTLA_CLIENT_CONFIG"
"""Names the file of properties where a command was told none."""


class Property(NamedTuple):
    name: str
    value: str
    origin: str  # where it was said, to begin a sentence with: `client.properties, line 3`


RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "sasl.mechanism": "sasl.mechanisms",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
    **oauth.RENAMED,
}
"""Java's name, librdkafka's name: the values are the same."""

JAVA_ALONE = frozenset(
    [
        "config.providers",
        "default.api.timeout.ms",
        "exclude.internal.topics",
        "interceptor.classes",
        "key.deserializer",
        "key.serializer",
        "max.block.ms",
        "max.poll.records",
        "metadata.max.idle.ms",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partitioner.class",
        "sasl.client.callback.handler.class",
        "sasl.login.class",
        "security.providers",
        "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "value.deserializer",
        "value.serializer",
    ]
)
LIBRDKAFKA_ALONE = re.compile(
    r"enable\.ssl\.certificate\.verification|ssl\.(crl|engine|providers|ca\.certificate)\b.*"
    r"|sasl\.oauthbearer\.(?!token\.endpoint\.url$|method$|client\.|scope$|extensions$|grant\.).*"
    r"|enable\.sasl\.oauthbearer\..*|sasl\.kerberos\.(kinit\.cmd|min\.time).*"
)
"""How a broker is trusted, or who asks: without these Java's clients would do something else."""

LOGIN_MODULE = "org.apache.kafka.common.security.{}LoginModule"
MODULES = {"PLAIN": "plain.Plain", "SCRAM-SHA-256": "scram.Scram", "SCRAM-SHA-512": "scram.Scram"}


def refusal(one: Property, why: str) -> OttlaError:
    """Never with the value: it may be a password."""
    return OttlaError(f"{one.origin}: {one.name} {why}")


# Java's names to librdkafka's ------------------------------------------------------------------


def to_librdkafka(given: Iterable[Property]) -> dict[str, str]:
    """Of two that say the same the later counts, whichever names they use."""
    said = list(given)
    known = {one.name: one for one in said}
    kept: dict[str, str] = {}
    for one in said:
        kept |= _translated(one, known)
    return kept


def _translated(one: Property, known: Mapping[str, Property]) -> dict[str, str]:
    if one.name in JAVA_ALONE:
        raise refusal(one, "is for Java's clients alone; librdkafka has nothing like it.")
    if one.name in RENAMED:
        return {RENAMED[one.name]: one.value}
    match one.name:
        case "sasl.jaas.config":
            return _login(one)
        case "sasl.login.callback.handler.class" | "sasl.oauthbearer.jwt.retriever.class":
            return _class(one)
        case "ssl.endpoint.identification.algorithm":
            return {one.name: one.value or "none"}
        case "ssl.truststore.location" | "ssl.truststore.password" | "ssl.truststore.type":
            return _truststore(one, _kind_of("ssl.truststore.type", known))
        case "ssl.keystore.location" | "ssl.keystore.type":
            return _keystore(one, _kind_of("ssl.keystore.type", known))
        case "request.timeout.ms":  # librdkafka knows it for producing only
            return {one.name: one.value, "socket.timeout.ms": one.value}
    return {one.name: one.value}


def _kind_of(name: str, known: Mapping[str, Property]) -> str:
    return known[name].value.upper() if name in known else ""


def _truststore(one: Property, kind: str) -> dict[str, str]:
    if kind != "PEM":
        raise refusal(
            one,
            "is for Java's clients alone unless the truststore is PEM: write "
            "ssl.truststore.type=PEM and name a file of certificates in that form.",
        )
    if one.name == "ssl.truststore.password":
        raise refusal(one, "has no meaning: certificates in PEM have no password.")
    return {"ssl.ca.location": one.value} if one.name == "ssl.truststore.location" else {}


def _keystore(one: Property, kind: str) -> dict[str, str]:
    """Without a type it is read as PKCS12, the form that Java's tools have written since 2017."""
    if kind not in ("", "PEM", "PKCS12"):
        raise refusal(
            one, "is for Java's clients alone unless the keystore is PEM or PKCS12: convert it."
        )
    if one.name == "ssl.keystore.type":
        return {}
    if kind == "PEM":  # key and certificates in one file
        return {"ssl.certificate.location": one.value, "ssl.key.location": one.value}
    return {one.name: one.value}


def _class(one: Property) -> dict[str, str]:
    """The classes that say what librdkafka is told by `sasl.oauthbearer.method`."""
    if one.value not in (*oauth.HANDLERS, *oauth.RETRIEVERS):
        raise refusal(one, "is for Java's clients alone; librdkafka has nothing like it.")
    return {oauth.METHOD: oauth.BY_PROVIDER}


_MODULE = re.compile(r"\s*([\w.$]+)\s+\w+")
_OPTION = re.compile(r"""([\w.]+)\s*=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s;]+)""")


_LINES = {oauth.MODULE: oauth.from_login_line, kerberos.MODULE: kerberos.from_login_line}


def _login(one: Property) -> dict[str, str]:
    """User and password, or a provider's account, out of the line of Java's login modules."""
    module = _MODULE.match(one.value)
    options = {name: _unquoted(value) for name, value in _OPTION.findall(one.value)}
    if module is not None and module[1] in _LINES:
        try:
            return _LINES[module[1]](options)
        except ValueError as error:
            raise refusal(one, str(error)) from None
    if module is None or not module[1].endswith(("PlainLoginModule", "ScramLoginModule")):
        raise refusal(
            one,
            "names none of PlainLoginModule, ScramLoginModule, OAuthBearerLoginModule and "
            "Krb5LoginModule.",
        )
    if not {"username", "password"} <= options.keys():
        raise refusal(one, 'lacks username="…" or password="…".')
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _unquoted(value: str) -> str:
    if value[0] not in "\"'":
        return value
    return re.sub(r"\\(.)", lambda one: _ESCAPED.get(one[1], one[1]), value[1:-1])


_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


# librdkafka's names to Java's ------------------------------------------------------------------


def to_java(kept: Mapping[str, str], read: Callable[[str], str]) -> dict[str, str]:
    """`read` gives the text of a PEM file; OttlaError for what Java's clients cannot be told."""
    for name in kept:
        if LIBRDKAFKA_ALONE.fullmatch(name):
            raise OttlaError(
                f"{name} is for librdkafka alone: Spark's clients are Java's, which have nothing "
                "like it."
            )
    java_names = {theirs: name for name, theirs in RENAMED.items()}
    told = {
        java_names.get(name, name): value
        for name, value in kept.items()
        if name not in _TOLD_OTHERWISE
    }
    if told.get("ssl.endpoint.identification.algorithm") == "none":
        told["ssl.endpoint.identification.algorithm"] = ""
    return told | _java_login(kept) | _java_truststore(kept) | _java_keystore(kept, read)


_TOLD_OTHERWISE = frozenset(
    [
        "sasl.username",
        "sasl.password",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        *kerberos.TOLD_BY_LOGIN_LINE,
        *oauth.TOLD_BY_LOGIN_LINE,
    ]
)


def _java_login(kept: Mapping[str, str]) -> dict[str, str]:
    if kept.get("sasl.mechanisms", "").upper() == oauth.MECHANISM:
        return oauth.to_java(kept)
    if kerberos.is_meant(kept):
        return kerberos.to_java(kept)
    if "sasl.username" not in kept:
        return {}
    mechanism = kept.get("sasl.mechanisms", "").upper()
    if mechanism not in MODULES:
        raise OttlaError(
            f"sasl.username needs sasl.mechanism={', '.join(MODULES)}; it is "
            f"{mechanism or 'not given'}."
        )
    module = LOGIN_MODULE.format(MODULES[mechanism])
    user, password = (
        oauth.quoted(kept.get(f"sasl.{name}", "")) for name in ("username", "password")
    )
    return {"sasl.jaas.config": f"{module} required username={user} password={password};"}


def _java_truststore(kept: Mapping[str, str]) -> dict[str, str]:
    if "ssl.ca.location" in kept:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": kept["ssl.ca.location"]}
    return {"ssl.truststore.type": "PEM"} if "ssl.ca.pem" in kept else {}


def _java_keystore(kept: Mapping[str, str], read: Callable[[str], str]) -> dict[str, str]:
    if "ssl.keystore.location" in kept:
        return {"ssl.keystore.type": "PKCS12"}
    certificate, key = kept.get("ssl.certificate.location"), kept.get("ssl.key.location")
    if certificate is not None and certificate == key:
        return {"ssl.keystore.type": "PEM", "ssl.keystore.location": certificate}
    told = {}
    if certificate is not None:
        told["ssl.keystore.certificate.chain"] = read(certificate)
    if key is not None:
        told["ssl.keystore.key"] = read(key)
    if told or "ssl.certificate.pem" in kept:
        told["ssl.keystore.type"] = "PEM"
    return told

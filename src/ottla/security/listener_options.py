"""What the options say about one listener: who may come in, and how.

`listener.name.NAME.OPTION` wins over `OPTION`, and `listener.name.NAME.MECHANISM.OPTION` is for one
mechanism. What is asked for and not served is refused when it is read, with a sentence: a node must
never be less safe than its file says.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.security import jaas, scram
from ottla.security.plain import jaas_users
from ottla.security.rules import Rules, parse_super_users

if TYPE_CHECKING:
    from ottla.security.kerberos import KerberosAccount
    from ottla.security.kerberos_options import KerberosOptions
    from ottla.security.oauth_options import OAuthOptions, TokenEndpoint

PLAIN = "PLAIN"
JAAS = "sasl.jaas.config"
OAUTHBEARER = "OAUTHBEARER"
GSSAPI = "GSSAPI"
MECHANISMS = (PLAIN, *scram.MECHANISMS)
"""By which our own clients come."""
SERVED = (*MECHANISMS, OAUTHBEARER, GSSAPI)
STANDARD_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
FRAME_BYTES_BEFORE = 64 * 1024
"""Of one who has not said yet who it is, unless sasl.server.max.receive.size is given; tickets of
Kerberos need more."""


class NodeLogin(NamedTuple):
    """As whom this node comes to others of a listener."""

    mechanism: str
    username: str
    password: str
    endpoint: "TokenEndpoint | None" = None  # of OAUTHBEARER, in place of both
    kerberos: "KerberosAccount | None" = None  # of GSSAPI, in place of both


class SaslOptions(NamedTuple):
    mechanisms: tuple[str, ...]
    passwords: Mapping[str, str]  # of PLAIN's users, from the JAAS line
    session_ms_max: Mapping[str, int]
    refusal_delay_s: float
    frame_bytes_max: int
    oauth: "OAuthOptions | None"  # where OAUTHBEARER is offered
    kerberos: "KerberosOptions | None"  # where GSSAPI is


def authorizer_rules(settings: Settings) -> Rules | None:
    """None: there is no authorizer, and everybody may do everything."""
    name = settings.text("authorizer.class.name")
    if not name:
        return None
    if name != STANDARD_AUTHORIZER:
        raise OttlaError(
            f"authorizer.class.name: classes in Java cannot be asked, but for "
            f"{STANDARD_AUTHORIZER}, whose rules are built in; {name} is none."
        )
    everyone = settings.static.get("allow.everyone.if.no.acl.found", "").strip().lower()
    return Rules(
        super_users=parse_super_users(settings.static.get("super.users", "")),
        allow_if_no_acl=everyone == "true",
    )


def read_sasl(settings: Settings, listener: str) -> SaslOptions:
    mechanisms = _mechanisms(settings, listener)
    passwords: Mapping[str, str] = {}
    if PLAIN in mechanisms:
        passwords = jaas_users(_login(settings, listener, PLAIN).options)
    return SaslOptions(
        mechanisms,
        passwords,
        {name: _session_ms(settings, listener, name) for name in mechanisms},
        settings.int("connection.failed.authentication.delay.ms") / 1000,
        _frame_bytes_max(settings, mechanisms),
        _oauth(settings, listener) if OAUTHBEARER in mechanisms else None,
        _kerberos(settings, listener) if GSSAPI in mechanisms else None,
    )


def _frame_bytes_max(settings: Settings, mechanisms: tuple[str, ...]) -> int:
    option = "sasl.server.max.receive.size"  # its default is what tickets need
    return (
        settings.int(option)
        if option in settings.static or GSSAPI in mechanisms
        else FRAME_BYTES_BEFORE
    )


def _oauth(settings: Settings, listener: str) -> "OAuthOptions":
    from ottla.security.oauth_options import read_oauth  # most nodes do without its libraries

    return read_oauth(settings, listener, _login(settings, listener, OAUTHBEARER))


def _kerberos(settings: Settings, listener: str) -> "KerberosOptions":
    from ottla.security.kerberos_options import read_kerberos

    return read_kerberos(settings, listener, _login(settings, listener, GSSAPI))


def own_login(settings: Settings, listener: str, option: str) -> NodeLogin:
    """The account of this node's own, by which it comes to others of such a listener."""
    mechanism = nodes_mechanism(settings, listener, option)
    if mechanism not in SERVED:
        raise OttlaError(
            f"{option}: {mechanism} is not supported between nodes yet; "
            f"use one of {', '.join(SERVED)}."
        )
    given = _login(settings, listener, mechanism)
    if mechanism == OAUTHBEARER:
        from ottla.security.oauth_options import read_endpoint

        return NodeLogin(mechanism, "", "", read_endpoint(settings, listener, given))
    if mechanism == GSSAPI:
        from ottla.security.kerberos_options import read_account

        return NodeLogin(mechanism, "", "", kerberos=read_account(settings, listener, given))
    if "username" not in given.options or "password" not in given.options:
        raise OttlaError(
            f"The JAAS line of {listener} and {mechanism} needs username and password: other "
            "nodes are reached by them."
        )
    return NodeLogin(mechanism, given.options["username"], given.options["password"])


def nodes_mechanism(settings: Settings, listener: str, option: str) -> str:
    """By which nodes come to such a listener."""
    return (_given(settings, listener, option) or settings.text(option)).strip()


def _mechanisms(settings: Settings, listener: str) -> tuple[str, ...]:
    given = _given(settings, listener, "sasl.enabled.mechanisms")
    text = given if given is not None else ",".join(settings.names("sasl.enabled.mechanisms"))
    names = tuple(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    unknown = [name for name in names if name not in SERVED]
    if unknown or not names:
        raise OttlaError(
            f"sasl.enabled.mechanisms of {listener}: {', '.join(unknown) or 'nothing'} is not "
            f"supported yet; name some of {', '.join(SERVED)}."
        )
    return names


def _login(settings: Settings, listener: str, mechanism: str) -> jaas.JaasLogin:
    option = f"listener.name.{listener.lower()}.{mechanism.lower()}.{JAAS}"
    text = settings.static.get(option)
    if text is None:
        raise OttlaError(
            f"{option} is missing: {mechanism} needs a login module there. (A JAAS file of the "
            "JVM's is not read.)"
        )
    login = jaas.parse_line(text, option)
    family = "SCRAM" if mechanism in scram.MECHANISMS else mechanism
    if login.family != family:
        raise OttlaError(f"{option}: {login.module} is no login module for {mechanism}.")
    return login


def _session_ms(settings: Settings, listener: str, mechanism: str) -> int:
    prefix = f"listener.name.{listener.lower()}.{mechanism.lower()}."
    given = settings.static.get(f"{prefix}connections.max.reauth.ms")
    if given is None:
        return settings.int("connections.max.reauth.ms")
    if not given.strip().lstrip("-").isdecimal():
        raise OttlaError(f"{prefix}connections.max.reauth.ms: a whole number is expected.")
    return int(given)


def _given(settings: Settings, listener: str, option: str) -> str | None:
    return settings.static.get(f"listener.name.{listener.lower()}.{option}")

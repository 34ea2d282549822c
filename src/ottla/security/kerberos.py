"""Security contexts of libkrb5, by the package gssapi (`pip install 'ottla[kerberos]'`), which is
imported on first use. Every call here may block: threads make them.

Which keys and names a listener has stands in `kerberos_options`; what is exchanged, in
`gss_exchange`.
"""

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.errors import OttlaError
from ottla.security.failures import AuthenticationFailed
from ottla.security.gss_exchange import ContextFailed

if TYPE_CHECKING:
    from collections.abc import Callable

    from gssapi import Credentials, SecurityContext


class KerberosAccount(NamedTuple):
    """A principal and the keys that prove it; ours, as a server or as a client."""

    service: str  # of brokers: the first part of their principals
    principal: str
    keytab: str  # empty for a client that goes by the tickets which kinit has fetched


def need_library() -> None:
    try:
        import gssapi  # noqa: F401
    except ImportError:
        raise OttlaError(
            "GSSAPI needs the package gssapi and Kerberos' libraries: "
            "pip install 'ottla[kerberos]'."
        ) from None


def own_realm() -> str:
    """The default realm of this host; empty where it has none."""
    from gssapi import MechType, Name, NameType
    from gssapi.raw.misc import GSSError

    try:
        name = str(Name("x", NameType.user).canonicalize(MechType.kerberos))
    except GSSError:
        return ""
    return name.partition("@")[2]


def acceptor_credentials(account: KerberosAccount) -> "Credentials":
    """OttlaError where the keytab has no key of the principal."""
    from gssapi import Credentials, MechType, Name, NameType
    from gssapi.raw.misc import GSSError

    if not os.path.isfile(account.keytab):
        raise OttlaError(f"keyTab: {account.keytab} is no file.")
    name = Name(account.principal, NameType.kerberos_principal)
    try:
        return Credentials(
            name=name,
            usage="accept",
            mechs=[MechType.kerberos],
            store={"keytab": f"FILE:{account.keytab}"},
        )
    except GSSError as error:
        raise OttlaError(f"{account.keytab}: {_reason(error)}.") from None


class KerberosAcceptor:
    """The server's side of one context."""

    def __init__(self, credentials: "Credentials") -> None:
        from gssapi import SecurityContext

        self._context = SecurityContext(creds=credentials, usage="accept")

    @property
    def is_established(self) -> bool:
        return bool(self._context.complete)

    @property
    def initiator(self) -> str:
        return str(self._context.initiator_name)

    def step(self, token: bytes) -> bytes:
        return _guarded(lambda: self._context.step(token) or b"")

    def wrap(self, message: bytes) -> bytes:
        return _guarded(lambda: self._context.wrap(message, False).message)

    def unwrap(self, message: bytes) -> bytes:
        return _guarded(lambda: self._context.unwrap(message).message)


class KerberosInitiator:
    """The client's side of one context, towards a host. Tickets are fetched with the keytab's key
    when they are needed, and again when they have ended."""

    def __init__(self, account: KerberosAccount, host: str) -> None:
        self._account = account
        self._host = host
        self._context: SecurityContext | None = None

    @property
    def is_established(self) -> bool:
        return self._context is not None and bool(self._context.complete)

    def step(self, token: bytes) -> bytes:
        def advance() -> bytes:
            if self._context is None:
                self._context = self._begin()
                return self._context.step() or b""
            return self._context.step(token) or b""

        return _proven(advance)

    def answer(self, offer: bytes, choose: "Callable[[bytes], bytes]") -> bytes:
        context = self._context
        assert context is not None
        return _proven(lambda: context.wrap(choose(context.unwrap(offer).message), False).message)

    def _begin(self) -> "SecurityContext":
        from gssapi import MechType, Name, NameType, RequirementFlag, SecurityContext

        return SecurityContext(
            name=Name(f"{self._account.service}@{self._host}", NameType.hostbased_service),
            creds=self._credentials(),
            mech=MechType.kerberos,
            flags=RequirementFlag.mutual_authentication | RequirementFlag.integrity,
            usage="initiate",
        )

    def _credentials(self) -> "Credentials":
        from gssapi import Credentials, MechType, Name, NameType

        principal, keytab = self._account.principal, self._account.keytab
        own = Name(principal, NameType.kerberos_principal) if principal else None
        store: dict[bytes | str, bytes | str] | None = None
        if keytab:
            cache = f"MEMORY:ottla-{principal}"
            store = {"client_keytab": f"FILE:{keytab}", "ccache": cache}
        return Credentials(name=own, usage="initiate", mechs=[MechType.kerberos], store=store)


def _guarded(call: "Callable[[], Any]") -> bytes:
    from gssapi.raw.misc import GSSError

    try:
        return bytes(call())
    except GSSError as error:
        raise ContextFailed(_reason(error)) from None


def _proven(call: "Callable[[], Any]") -> bytes:
    try:
        return _guarded(call)
    except ContextFailed as failed:
        raise AuthenticationFailed(f"Kerberos: {failed}") from None


def _reason(error: Any) -> str:
    """libkrb5's sentence, on one line."""
    return " ".join(str(error).split())

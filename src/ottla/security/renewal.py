"""Certificates that are replaced while connections come and go.

What listeners and links are encrypted with is made anew when its files or its options change. What
cannot be used, or names somebody else than before (unless `ssl.allow.dn.changes` and
`ssl.allow.san.changes` say so), leaves the old in use, and is told once. Open connections keep what
they began with.
"""

import logging
import os
import ssl
from collections.abc import Callable
from typing import NamedTuple

from ottla.errors import OttlaError
from ottla.ports.rare_log import RareLog
from ottla.security.der import BadEncoding, alternative_names
from ottla.security.principals import certificate_name
from ottla.security.tls import TlsOptions, own_certificate, server_context

log = logging.getLogger(__name__)

WITHOUT_TLS = frozenset(
    ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
)
"""What OpenSSL finds where a plain request came."""


class Looked(NamedTuple):
    """What there was to read, and when it was written."""

    options: TlsOptions
    files: tuple[tuple[int, int, int] | None, ...]


class RenewedEncryption:
    """`look` may block: a thread calls it, from time to time."""

    def __init__(
        self,
        options: Callable[[], TlsOptions],
        make: Callable[[TlsOptions], ssl.SSLContext],
        complaints: RareLog,
    ) -> None:
        self._complaints = complaints
        self._options = options
        self._make = make
        self._looked = self._refused = look(options())
        self._certificate = own_certificate(self._looked.options)
        self.current = make(self._looked.options)

    def listening(self) -> ssl.SSLContext:
        """For a listener, which has one context for its whole life: each handshake is handed to
        the current one as soon as it begins."""
        door = self.current
        door.sslobject_class = self._told_handshake()

        def hand_over(handshake: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
            if self.current is not context:
                handshake.context = self.current

        door.sni_callback = hand_over
        return door

    def _told_handshake(self) -> type[ssl.SSLObject]:
        """One whose failures are told: the event loop keeps them to itself."""
        listener, complaints = self._looked.options.listener, self._complaints

        class ToldHandshake(ssl.SSLObject):
            def do_handshake(self) -> None:
                try:
                    super().do_handshake()
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError, ssl.SSLEOFError):
                    raise  # it goes on, or was a probe
                except ssl.SSLError as error:
                    reason = error.reason or "?"
                    complaints.warn(reason, f"no TLS with a client of {listener}: {why(reason)}")
                    raise

        return ToldHandshake

    def look(self) -> None:
        found = look(self._options())
        if found in (self._looked, self._refused):
            return
        try:
            context = self._make(found.options)
            certificate = own_certificate(found.options)
            check_names(self._certificate, certificate, found.options)
        except OttlaError as error:
            self._refused = found
            log.warning("the certificates of before stay in use: %s", error)
            return
        self._looked, self._certificate, self.current = found, certificate, context
        log.info("%s has new certificates", found.options.listener)


def why(reason: str) -> str:
    if reason in WITHOUT_TLS:
        return "it speaks without TLS, and the listener has it: its security.protocol is another"
    return reason.lower().replace("_", " ")


def look(options: TlsOptions) -> Looked:
    states: list[tuple[int, int, int] | None] = []
    for path in options.files:
        try:
            state = os.stat(path)
            states.append((state.st_ino, state.st_mtime_ns, state.st_size))
        except OSError:
            states.append(None)
    return Looked(options, tuple(states))


def check_change(before: TlsOptions, after: TlsOptions) -> None:
    """Whether a listener could go on with these options."""
    if before == after:
        return
    server_context(after)
    try:
        present = own_certificate(before)
    except OttlaError:
        return  # the file was spoilt since; what is in use is compared when it is replaced
    check_names(present, own_certificate(after), after)


def check_names(before: bytes | None, after: bytes | None, options: TlsOptions) -> None:
    """As Kafka: a new certificate is for the same name and at least the same hosts, unless the
    options allow others."""
    if before is None or after is None:
        if before is not after:
            raise options.fault("ssl.keystore.location", "a key cannot come or go at run time.")
        return
    try:
        names = certificate_name(before), certificate_name(after)
        lost = alternative_names(before) - alternative_names(after)
    except BadEncoding as error:
        sentence = f"the certificate is broken: {error}."
        raise options.fault("ssl.keystore.location", sentence) from None
    if names[0] != names[1] and not _allows(options, "ssl.allow.dn.changes"):
        raise options.fault(
            "ssl.keystore.location",
            f"the new certificate is for {names[1]}, the old for {names[0]} "
            "(ssl.allow.dn.changes=true, if that is meant).",
        )
    if lost and not _allows(options, "ssl.allow.san.changes"):
        raise options.fault(
            "ssl.keystore.location",
            f"the new certificate lacks {len(lost)} of the old one's hosts "
            "(ssl.allow.san.changes=true, if that is meant).",
        )


def _allows(options: TlsOptions, name: str) -> bool:
    return options.text(name).strip().lower() == "true"

"""GSSAPI (Kerberos) in client properties: whose ticket it is, in librdkafka's names and in Java's.

librdkafka has properties of their own (`sasl.kerberos.*`), Java a login line. Without a keytab both
take the tickets that `kinit` has fetched. Pure.
"""

from collections.abc import Mapping

from ottla.client.oauth_properties import quoted

MECHANISM = "GSSAPI"
MODULE = "com.sun.security.auth.module.Krb5LoginModule"
SERVICE = "sasl.kerberos.service.name"
PRINCIPAL = "sasl.kerberos.principal"
KEYTAB = "sasl.kerberos.keytab"
SERVICE_DEFAULT = "kafka"  # librdkafka's

TOLD_BY_LOGIN_LINE = frozenset((PRINCIPAL, KEYTAB))
_IN_LOGIN_LINE = {"keyTab": KEYTAB, "principal": PRINCIPAL, "serviceName": SERVICE}
_OF_THE_JVM = frozenset(
    ("useKeyTab", "storeKey", "useTicketCache", "doNotPrompt", "refreshKrb5Config", "debug")
)


def from_login_line(options: Mapping[str, str]) -> dict[str, str]:
    """librdkafka's properties for what stands behind `Krb5LoginModule required`; ValueError says
    what cannot be said there."""
    for name in options:
        if name not in _IN_LOGIN_LINE and name not in _OF_THE_JVM:
            raise ValueError(f"has {name}, which only Java's clients understand.")
    if _is_set(options, "useKeyTab"):
        if not options.get("keyTab") or not options.get("principal"):
            raise ValueError('has useKeyTab=true and lacks keyTab="…" or principal="…".')
    elif not _is_set(options, "useTicketCache"):
        raise ValueError("needs useKeyTab=true or useTicketCache=true.")
    return {theirs: options[name] for name, theirs in _IN_LOGIN_LINE.items() if options.get(name)}


def _is_set(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


def is_meant(kept: Mapping[str, str]) -> bool:
    """Of properties in librdkafka's names: it is what clients do where nothing else is said."""
    protocol = kept.get("security.protocol", "").upper()
    return protocol.startswith("SASL") and kept.get("sasl.mechanisms", MECHANISM) == MECHANISM


def to_java(kept: Mapping[str, str]) -> dict[str, str]:
    keytab, principal = kept.get(KEYTAB), kept.get(PRINCIPAL)
    said = f" principal={quoted(principal)}" if principal else ""
    if keytab:
        how = f"useKeyTab=true storeKey=true keyTab={quoted(keytab)}"
    else:
        how = "useTicketCache=true doNotPrompt=true"
    return {
        SERVICE: kept.get(SERVICE, SERVICE_DEFAULT),
        "sasl.jaas.config": f"{MODULE} required {how}{said};",
    }

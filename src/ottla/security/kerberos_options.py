"""What the options of a listener say about GSSAPI: which principal it is, where its keys lie, and
which users other principals are.

The account stands in the JAAS line of Java's `Krb5LoginModule`; its other options are the JVM's.
"""

from typing import NamedTuple

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.security import jaas
from ottla.security.kerberos import KerberosAccount, acceptor_credentials, need_library, own_realm
from ottla.security.kerberos_names import OPTION, KerberosShortNamer, parse_rules

SERVICE = "sasl.kerberos.service.name"


class KerberosOptions(NamedTuple):
    account: KerberosAccount
    rules: KerberosShortNamer


def read_kerberos(settings: Settings, listener: str, login: jaas.JaasLogin) -> KerberosOptions:
    """OttlaError where a key is missing, too: the first client should not be who finds out."""
    account = read_account(settings, listener, login)
    acceptor_credentials(account)
    rules = parse_rules(settings.names(OPTION), own_realm())
    return KerberosOptions(account, rules)


def read_account(settings: Settings, listener: str, login: jaas.JaasLogin) -> KerberosAccount:
    need_library()
    said = f"The JAAS line of {listener} and GSSAPI"
    given = settings.static.get(f"listener.name.{listener.lower()}.{SERVICE}")
    service = given if given is not None else settings.text(SERVICE)
    in_line = login.options.get("serviceName", "")
    if service and in_line and service != in_line:
        raise OttlaError(f"{said} has serviceName={in_line}, and {SERVICE} is {service}.")
    if not (service or in_line):
        raise OttlaError(f"{SERVICE} is missing: GSSAPI needs the brokers' Kerberos name.")
    for name in ("keyTab", "principal"):
        if not login.options.get(name):
            raise OttlaError(f'{said} needs useKeyTab=true, keyTab="…" and principal="…".')
    return KerberosAccount(service or in_line, login.options["principal"], login.options["keyTab"])

"""`ottla secure check`: what a node's file, its certificates, files and disks leave open.

Reads and reports; changes nothing. What a port speaks is asked by `ports_asked`.
"""

import stat
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from ottla.config import Settings
from ottla.config.load import load
from ottla.config.options import BROKER_OPTIONS
from ottla.config.topology import Listener, Topology, is_loopback
from ottla.errors import OttlaError
from ottla.ports.encrypted_disks import is_encrypted
from ottla.security.authority import DescribedCertificate, describe, is_signed_by
from ottla.security.tls import TlsOptions, certificate_chain, tls_options, trusted_certificates

SOON = timedelta(days=30)
ERROR, WARNING, GOOD = "error", "warning", "ok"


class Finding(NamedTuple):
    level: str
    sentence: str


def check_file(file: Path, now: datetime) -> Iterator[Finding]:
    """Everything about one node."""
    try:
        settings = _at_hand(load(file).settings, file.parent)
        topology = settings.topology
    except OttlaError as error:
        yield Finding(ERROR, str(error))
        return
    yield from _open_ports(settings, topology)
    for listener in (*topology.listeners, *topology.controller_listeners):
        if listener.protocol.endswith("SSL"):
            yield from _certificates(settings, listener, topology, now)
    yield from _modes(file, settings, topology)
    yield from _disks(topology)


def check_vault(folder: Path) -> Iterator[Finding]:
    """What a secured cluster's owner keeps, for its owner alone."""
    for path in (folder, *sorted(folder.rglob("*"))):
        found = _readable_by_others(path)
        if found is not None:
            yield found


def _at_hand(settings: Settings, folder: Path) -> Settings:
    """A node's folder that has not been brought to its host yet has its stores beside the file."""
    found = {
        name: str(folder / Path(value).name)
        for name, value in settings.static.items()
        if name.endswith("store.location")
        and not Path(value).exists()
        and (folder / Path(value).name).exists()
    }
    return Settings({**settings.static, **found})


# Ports ----------------------------------------------------------------------------------------


def _open_ports(settings: Settings, topology: Topology) -> Iterator[Finding]:
    for one in (*topology.listeners, *topology.controller_listeners):
        where = f"{one.name} at {one.host or '*'}:{one.port}"
        if one.protocol == "PLAINTEXT" and not is_loopback(one.host):
            yield Finding(
                ERROR, f"{where} is open to the network without encryption or authentication."
            )
        elif one.protocol == "SASL_PLAINTEXT" and not is_loopback(one.host):
            yield Finding(WARNING, f"{where} does not encrypt: records can be read on their way.")
        elif one.protocol == "PLAINTEXT":
            yield Finding(WARNING, f"{where}: whoever is on this host comes in as User:ANONYMOUS.")
        if one.protocol == "SSL" and _client_auth(settings, one) != "required":
            yield Finding(
                WARNING, f"{where} asks nobody for a certificate: all come as User:ANONYMOUS."
            )
    if not settings.text("authorizer.class.name"):
        yield Finding(
            WARNING, "authorizer.class.name is empty: whoever comes in may do everything."
        )


def _client_auth(settings: Settings, listener: Listener) -> str:
    return tls_options(settings.static, listener.name).text("ssl.client.auth").lower() or "none"


# Certificates ---------------------------------------------------------------------------------


def _certificates(
    settings: Settings, listener: Listener, topology: Topology, now: datetime
) -> Iterator[Finding]:
    options = tls_options(settings.static, listener.name)
    try:
        chain = certificate_chain(options)
        own = describe(chain)[0]
    except OttlaError as error:
        yield Finding(ERROR, f"{listener.name}: {error}")
        return
    yield expiry(f"{listener.name}: the certificate of {own.subject}", own, now)
    host = _told(listener, topology)
    if host is not None and not _names(own, host):
        yield Finding(
            ERROR,
            f"{listener.name}: others are told {host}, but the certificate is for "
            f"{', '.join(sorted(own.names)) or 'no host'}.",
        )
    yield from _trust(listener, options, chain, now)


def _trust(listener: Listener, options: TlsOptions, chain: str, now: datetime) -> Iterator[Finding]:
    if not options.has_authorities:
        return
    try:
        trusted = trusted_certificates(options)
        authorities = describe(trusted)
    except OttlaError as error:
        yield Finding(ERROR, f"{listener.name}: {error}")
        return
    for one in authorities:
        found = expiry(f"{listener.name}: the authority {one.subject}", one, now)
        if found.level != GOOD:
            yield found
    if len(describe(chain)) == 1 and not is_signed_by(chain, trusted):
        yield Finding(
            WARNING,
            f"{listener.name}: the node's certificate is by nobody that its own truststore names; "
            "nodes with the same truststore will not believe it.",
        )


def expiry(what: str, one: DescribedCertificate, now: datetime) -> Finding:
    day = f"{one.ends:%Y-%m-%d}"
    if one.ends <= now:
        return Finding(ERROR, f"{what} expired on {day}.")
    if one.ends - now < SOON:
        return Finding(WARNING, f"{what} expires on {day}: `ottla secure rotate` makes a new one.")
    return Finding(GOOD, f"{what} holds until {day}.")


def _told(listener: Listener, topology: Topology) -> str | None:
    """The host by which others look for this listener."""
    for one in topology.advertised:
        if one.name == listener.name:
            return one.host or None
    for voter in topology.voters:
        if voter.node_id == topology.node_id:
            return voter.host
    return listener.host or None


def _names(own: DescribedCertificate, host: str) -> bool:
    parent = host.partition(".")[2]
    return host in own.names or (bool(parent) and f"*.{parent}" in own.names)


# Files and disks ------------------------------------------------------------------------------


def _modes(file: Path, settings: Settings, topology: Topology) -> Iterator[Finding]:
    secrets = [Path(settings.text("ssl.keystore.location"))] if _has_keystore(settings) else []
    if any(_is_secret(name) for name in settings.static):
        secrets.append(file)
    secrets += [
        Path(value)
        for name, value in settings.static.items()
        if name.startswith("listener.name.") and name.endswith(".ssl.keystore.location")
    ]
    for path in dict.fromkeys((*secrets, *topology.log_dirs)):
        found = _readable_by_others(path)
        if found is not None:
            yield found


def _has_keystore(settings: Settings) -> bool:
    return bool(settings.static.get("ssl.keystore.location"))


def _is_secret(name: str) -> bool:
    base = name.rpartition("ssl.")[2] if ".ssl." in name else name
    option = BROKER_OPTIONS.get(name) or BROKER_OPTIONS.get(f"ssl.{base}")
    return name.endswith("sasl.jaas.config") or (option is not None and option.sensitive)


def _readable_by_others(path: Path) -> Finding | None:
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None
    if not mode & 0o077:
        return None
    wanted = "0700" if path.is_dir() else "0600"
    return Finding(WARNING, f"{path} has mode {mode:04o}; {wanted} keeps others out.")


def _disks(topology: Topology) -> Iterator[Finding]:
    for path in dict.fromkeys((*topology.log_dirs, topology.metadata_dir)):
        match is_encrypted(path):
            case True:
                yield Finding(GOOD, f"{path} is on an encrypted disk (dm-crypt).")
            case False:
                yield Finding(WARNING, f"{path} is on a disk without dm-crypt.")
            case None:
                yield Finding(WARNING, f"{path}: whether its disk is encrypted cannot be told.")

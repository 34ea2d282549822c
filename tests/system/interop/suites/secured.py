"""Listeners with TLS and SASL and an authorizer, for suites that ask for them: as in the broker
that aiokafka builds for itself, but for Kerberos."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from support.homes import Home, free_port
from support.secured import PLAIN_MODULE, SCRAM_MODULE

PROTOCOLS = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
PASSWORD = "abcdefgh"
JAAS = {
    "plain": f'{PLAIN_MODULE} required user_admin="admin" user_test="test" user_test2="test2";',
    "scram-sha-256": f"{SCRAM_MODULE} required;",
    "scram-sha-512": f"{SCRAM_MODULE} required;",
}
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


def draw_addresses() -> dict[str, str]:
    """A listener for each protocol."""
    return {protocol: f"127.0.0.1:{free_port()}" for protocol in PROTOCOLS}


def issue_certificates(source: Path) -> Path:
    """By the checkout's own script, where its tests look for them."""
    folder = source / "tests" / "ssl_cert"
    if not (folder / "client.crt").exists():
        folder.mkdir(exist_ok=True)
        script = source / "gen-ssl-certs.sh"
        subprocess.run(["bash", script], cwd=folder, check=True, capture_output=True)
    return folder


def listener_options(home: Home, addresses: Mapping[str, str], stores: Path) -> dict[str, str]:
    own = {"PLAINTEXT": home.bootstrap, **addresses}
    advertised = ",".join(f"{protocol}://{address}" for protocol, address in own.items())
    return {
        "listeners": f"{advertised},CONTROLLER://{home.host}:{home.controller_port}",
        "advertised.listeners": advertised,
        "listener.security.protocol.map": ",".join(
            ["CONTROLLER:PLAINTEXT", *(f"{protocol}:{protocol}" for protocol in own)]
        ),
        "inter.broker.listener.name": "PLAINTEXT",
        **store_options(stores),
        "sasl.enabled.mechanisms": ",".join(JAAS).upper(),
        **{
            f"listener.name.{protocol.lower()}.{mechanism}.sasl.jaas.config": told
            for protocol in PROTOCOLS
            if protocol.startswith("SASL")
            for mechanism, told in JAAS.items()
        },
        **AUTHORIZER,
        "super.users": "User:admin;User:ANONYMOUS",
    }


def store_options(folder: Path) -> dict[str, str]:
    return {
        "ssl.keystore.type": "JKS",
        "ssl.keystore.location": str(folder / "br_server.keystore.jks"),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
        "ssl.truststore.type": "JKS",
        "ssl.truststore.location": str(folder / "br_server.truststore.jks"),
        "ssl.truststore.password": PASSWORD,
        "ssl.client.auth": "required",
        "ssl.endpoint.identification.algorithm": "",
    }

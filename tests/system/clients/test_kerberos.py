"""Tickets of Kerberos: kcat, Java's console tools and our own links, at Ottla and at Kafka."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.config.properties import render_properties
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.network import LinkUntrusted, TcpNetwork
from ottla.security.links import AuthenticatedNetwork
from ottla.security.listener_options import NodeLogin
from ottla.wire.client import Client
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from support.brokers import Kind, running
from support.confluent import create_topic, read
from support.homes import Home, free_port
from support.jars import class_path
from support.kerberos import BROKER, HOST, REALM, Realm, needed, running_realm

pytestmark = [needed, pytest.mark.timeout(240)]

MODULE = "com.sun.security.auth.module.Krb5LoginModule"
TOPIC = "t"


class Site:
    def __init__(self, realm: Realm, plain: str, address: str) -> None:
        self.realm = realm
        self.plain = plain
        self.address = address
        self.keytabs: dict[str, Path] = {}

    def keytab(self, user: str) -> Path:
        if user not in self.keytabs:
            self.keytabs[user] = self.realm.add(user)
        return self.keytabs[user]


def login_line(keytab: Path, principal: str) -> str:
    return (
        f'{MODULE} required useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}";'
    )


@pytest.fixture(scope="module")
def site(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    path = tmp_path_factory.mktemp("kerberos")
    settings: dict[str, str] = {}
    home, address = Home(path=path / "node", settings=settings), f"{HOST}:{free_port()}"
    (path / "realm").mkdir()
    with running_realm(path / "realm") as realm:
        keytab = realm.add(BROKER)
        listeners = f"PLAINTEXT://{home.bootstrap},TICKETS://{address}"
        settings |= {
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{home.controller_port}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": (
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,TICKETS:SASL_PLAINTEXT"
            ),
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.name.tickets.sasl.enabled.mechanisms": "GSSAPI",
            "listener.name.tickets.gssapi.sasl.jaas.config": login_line(keytab, BROKER),
            "sasl.kerberos.service.name": "kafka",
            "sasl.kerberos.principal.to.local.rules": "RULE:[2:$1-$2](team-.*)s/team-//L,DEFAULT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:alice;User:red",
        }
        with running(broker_kind, home) as process:
            create_topic(process.bootstrap, TOPIC)
            yield Site(realm, process.bootstrap, address)


def asked(site: Site, user: str, keytab: Path, service: str = "kafka") -> list[str | None]:
    """By a link of our own: the names of topics that are seen."""
    from ottla.security.kerberos import KerberosAccount

    async def ask() -> list[str | None]:
        login = NodeLogin(
            "GSSAPI", "", "", kerberos=KerberosAccount(service, f"{user}@{REALM}", str(keytab))
        )
        network = AuthenticatedNetwork(TcpNetwork(), login, SYSTEM_CHANCE)
        host, _, port = site.address.partition(":")
        link = await network.connect(host, int(port), lambda: None)
        asking = MetadataRequest(topics=None)
        answer = await Client(link, "test").ask(asking, 12, MetadataResponse)
        link.close()
        return [topic.name for topic in answer.topics]

    return asyncio.run(ask())


def test_our_own_link_comes_by_ticket_and_rules_make_users_of_principals(site: Site) -> None:
    assert TOPIC in asked(site, "alice", site.keytab("alice"))
    assert TOPIC in asked(site, "team/Red", site.keytab("team/Red"))
    assert asked(site, "bob", site.keytab("bob")) == []  # nobody gave bob any right


def test_who_has_no_ticket_is_kept_out(site: Site) -> None:
    with pytest.raises(LinkUntrusted, match="Kerberos"):
        asked(site, "carol", site.keytab("bob"))  # not carol's key
    with pytest.raises(LinkUntrusted, match="Kerberos"):
        asked(site, "alice", site.keytab("alice"), service="http")  # nobody knows it


def client_file(path: Path, **options: str) -> str:
    common = {"security.protocol": "SASL_PLAINTEXT", "sasl.kerberos.service.name": "kafka"}
    said = {name.replace("_", "."): value for name, value in options.items()}
    path.write_text(render_properties(common | said, about="a client"))
    return str(path)


def as_java_says_it(site: Site, path: Path) -> str:
    line = login_line(site.keytab("alice"), f"alice@{REALM}")
    return client_file(path, sasl_mechanism="GSSAPI", sasl_jaas_config=line)


def as_librdkafka_says_it(site: Site, path: Path) -> str:
    keytab = str(site.keytab("alice"))
    principal = f"alice@{REALM}"
    return client_file(path, sasl_kerberos_keytab=keytab, sasl_kerberos_principal=principal)


def by_tickets_that_were_fetched(site: Site, path: Path) -> str:
    """As kinit does it: into the file that KRB5CCNAME names."""
    from gssapi import Credentials, MechType, Name, NameType

    alice = Name(f"alice@{REALM}", NameType.kerberos_principal)
    store: dict[bytes | str, bytes | str] = {
        "client_keytab": f"FILE:{site.keytab('alice')}",
        "ccache": os.environ["KRB5CCNAME"],
    }
    own = Credentials(name=alice, usage="initiate", mechs=[MechType.kerberos], store=store)
    assert own.lifetime
    return client_file(path, sasl_mechanisms="GSSAPI")


@pytest.mark.parametrize(
    "written", [as_java_says_it, as_librdkafka_says_it, by_tickets_that_were_fetched]
)
def test_our_own_tools_come_by_ticket_over_the_wire(
    site: Site, tmp_path: Path, written: Callable[[Site, Path], str]
) -> None:
    reached = ["--bootstrap", site.address, "--command-config", written(site, tmp_path / "me")]
    run = CliRunner()
    for command in (
        ["acl", "add", "User:bob", "--read", "topic:orders"],
        ["acl", "list", "--on", "topic:orders"],
        ["acl", "remove", "User:bob", "--read", "topic:orders"],
        ["quota", "set", "--user", "bob", "--produce", "1MB/s"],
        ["quota", "show"],
        ["quota", "remove", "--user", "bob", "producer_byte_rate"],
        ["user", "list"],
        ["cluster", "status"],
    ):
        told = run.invoke(app, [*command, *reached])
        assert told.exit_code == 0, (command, told.output)


def test_what_needs_librdkafka_says_so_in_a_sentence(site: Site, tmp_path: Path) -> None:
    reached = [
        "--bootstrap",
        site.address,
        "--command-config",
        as_java_says_it(site, tmp_path / "me"),
    ]
    for command in (["produce", TOPIC], ["consume", TOPIC], ["group", "list"]):
        told = CliRunner().invoke(app, [*command, *reached], input="x\n")
        assert told.exit_code == 1
        assert "does not speak Kerberos" in str(told.exception)


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
def test_kcat_writes_by_ticket(site: Site) -> None:
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.keytab": str(site.keytab("alice")),
        "sasl.kerberos.principal": f"alice@{REALM}",
    }
    create_topic(site.plain, "kcat")
    said = [part for name, value in options.items() for part in ("-X", f"{name}={value}")]
    command = ["kcat", "-P", "-b", site.address, "-t", "kcat", *said]
    ran = subprocess.run(command, input=b"by kcat", capture_output=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert [message.value() for message in read(site.plain, "kcat", 1)] == [b"by kcat"]


@pytest.mark.java
def test_java_s_console_producer_writes_by_ticket(site: Site, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.jaas.config": login_line(site.keytab("alice"), f"alice@{REALM}"),
    }
    file.write_text(render_properties(options, about="a client"))
    common = ["--bootstrap-server", site.address, "--topic", "java", "--command-config", str(file)]
    java = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", class_path()]
    tool = [*java, "org.apache.kafka.tools.ConsoleProducer"]
    create_topic(site.plain, "java")
    ran = subprocess.run(
        [*tool, *common], input="by Java\n", capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    assert [message.value() for message in read(site.plain, "java", 1)] == [b"by Java"]

"""Every block of docs/security.md runs as it stands, but for places, ports and what is typed."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.client.connection import read_connection
from ottla.config.load import load
from support import certificates, kerberos
from support.brokers import BrokerProcess, die_with_parent
from support.confluent import wait_until
from support.homes import Home, free_port
from support.provider import running_provider
from support.secured import Secured, running_secured

PAGE = (Path(__file__).parents[3] / "docs" / "security.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", PAGE, re.DOTALL)
SECONDS = 30
pytestmark = pytest.mark.timeout(120)


def block(containing: str) -> str:
    """The one with these words."""
    (found,) = (text for _, text in BLOCKS if containing in text)
    return str(found)


def properties(text: str) -> dict[str, str]:
    lines = (line for line in text.splitlines() if line)
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def replaced(text: str, places: Mapping[str, object]) -> str:
    for before, after in places.items():
        assert before in text, before
        text = text.replace(before, str(after))
    return text


@contextmanager
def started(settings: Mapping[str, str], folder: Path) -> Iterator[BrokerProcess]:
    """The node of such a file; its listener LOCAL is where tests ask."""
    where = dict(one.split("://") for one in settings["listeners"].split(","))
    port, controller = (int(where[name].rpartition(":")[2]) for name in ("LOCAL", "CONTROLLER"))
    home = Home(path=folder, settings=settings, port=port, controller_port=controller)
    node = BrokerProcess("ottla", home)
    try:
        node.start()
        yield node
        node.stop()
    finally:
        node.discard()


@pytest.fixture
def users_node(tmp_path: Path) -> dict[str, str]:
    """The page's node with a listener for users, as far as this machine goes."""
    authority = certificates.authority()
    (tmp_path / "authority.pem").write_text(authority.certificate_pem)
    own = certificates.issue(authority, "broker", "127.0.0.1", kerberos.HOST)
    places = {
        "127.0.0.1:9091": f"127.0.0.1:{free_port()}",
        "USERS://:9092": f"USERS://127.0.0.1:{(users := free_port())}",
        "broker.example:9092": f"127.0.0.1:{users}",
        "127.0.0.1:9093": f"127.0.0.1:{free_port()}",
        "/etc/ottla/broker.pem": own.write_pem(tmp_path / "broker.pem"),
    }
    return properties(replaced(block("USERS://:9092"), places))


def test_a_node_with_a_listener_for_users(users_node: dict[str, str], tmp_path: Path) -> None:
    with started(users_node, tmp_path / "node") as node:
        assert node.serves()


def test_a_cluster_by_one_command_and_the_file_for_its_tools(tmp_path: Path) -> None:
    commands = [line[2:] for line in block("ottla start --secure").splitlines() if line[:1] == "$"]
    one, three = (line.partition("#")[0].split() for line in commands)
    assert three == ["ottla", "cluster", "shop", "--secure"]  # tests/system/cluster starts it
    address = f"127.0.0.1:{free_port()}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    log = tmp_path / "log"
    process = subprocess.Popen(
        [sys.executable, "-m", *one, "--listen", address],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=log.open("w"),
        text=True,
        preexec_fn=die_with_parent,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"ready {address}\n"
        assert log.read_text().splitlines()[0].endswith("/shop/secure/clients/admin")
        export, listing = (line[2:] for line in block("export OTTLA_CLIENT_CONFIG").splitlines())
        said = environment | {"OTTLA_CLIENT_CONFIG": export.partition("=")[2]}
        told = subprocess.run(
            [sys.executable, "-m", *listing.split()], cwd=tmp_path, env=said, timeout=SECONDS
        )
        assert told.returncode == 0
    finally:
        process.terminate()
        process.wait(SECONDS)


def test_users_of_tests() -> None:
    program = block("ottla.Node(secure=True)")
    subprocess.run([sys.executable, "-c", program], check=True, timeout=2 * SECONDS)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured("ottla", tmp_path_factory.mktemp("page")) as secured:
        yield secured


def lines_of(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        yield shlex.split(line, comments=True)[1:]


def told(words: list[str], **environment: str) -> str:
    stdin = "secret\n" * 2 if words[1] in ("create", "passwd") else "y\n"
    ran = CliRunner().invoke(app, words, input=stdin, env=environment)
    assert ran.exit_code == 0, (words, ran.output, ran.exception)
    return ran.output


def test_quotas(secured: Secured) -> None:
    for words in lines_of(block("ottla quota set")):
        told(words, OTTLA_BOOTSTRAP=secured.process.bootstrap)


def test_users_and_rules(secured: Secured) -> None:
    def ask(words: list[str]) -> str:
        return told(words, OTTLA_BOOTSTRAP=secured.process.bootstrap)

    seen: list[str] = []
    for words in lines_of(block("ottla acl explain --as")):
        if words[:2] == ["user", "create"]:  # of the fixture is one of that name
            ask(["user", "delete", "alice", "--yes"])
        if words[:2] == ["acl", "explain"]:
            wait_until(lambda words=words: "orders." in ask(words))
        seen.append(ask(words))
    assert any("topic orders.ledger" in text or "orders.ledger" in text for text in seen)


def test_tokens(secured: Secured, tmp_path: Path) -> None:
    secured.add_user("ann", "secret")
    file = tmp_path / "ann.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanisms=SCRAM-SHA-256\n"
        "sasl.username=ann\nsasl.password=secret\n"
    )
    reach = {"OTTLA_BOOTSTRAP": secured.address, "OTTLA_CLIENT_CONFIG": str(file)}
    token_id = ""
    for words in lines_of(block("ottla token create")):
        output = told([token_id if word == "TOKEN-ID" else word for word in words], **reach)
        token_id = token_id or re.findall(r"[\w-]{22}", output)[0]


def test_tokens_of_a_provider(users_node: dict[str, str], tmp_path: Path) -> None:
    with running_provider() as provider:
        places = {"https://login.example/keys": f"{provider.url}/keys"}
        offered = properties(replaced(block("oauthbearer.expected.audience"), places))
        with started(users_node | offered, tmp_path / "node"):
            wait_until(lambda: provider.asked > 0)


def test_a_client_with_tokens_of_a_provider(tmp_path: Path) -> None:
    authority = tmp_path / "login-ca.pem"
    authority.write_text(certificates.authority().certificate_pem)
    file = tmp_path / "client.properties"
    file.write_text(
        replaced(block("sasl.oauthbearer.method=oidc"), {"/etc/ottla/login-ca.pem": authority})
    )
    reached = read_connection(file=file, environ={})
    reached.wire()
    assert reached.producer()
    assert "OAuthBearerLoginModule" in reached.java()["sasl.jaas.config"]


@kerberos.needed
def test_a_listener_and_a_client_with_kerberos(users_node: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "realm").mkdir()
    with kerberos.running_realm(tmp_path / "realm") as realm:
        principal = f"kafka/{kerberos.HOST}@{kerberos.REALM}"
        places = {
            "/etc/ottla/kafka.keytab": realm.add(principal),
            "kafka/broker.example@EXAMPLE": principal,
        }
        offered = properties(replaced(block("sasl.kerberos.principal.to.local.rules"), places))
        settings = users_node | offered
        wanted = settings["listeners"].partition("USERS://")[2].partition(",")[0]
        address = wanted.replace("127.0.0.1", kerberos.HOST)
        settings["advertised.listeners"] = settings["advertised.listeners"].replace(wanted, address)
        settings["super.users"] += ";User:reports"
        file = tmp_path / "client.properties"
        client = {
            "/etc/ottla/reports.keytab": realm.add("reports"),
            "reports@EXAMPLE": f"reports@{kerberos.REALM}",
        }
        text = replaced(block("sasl.kerberos.keytab="), client)
        file.write_text(f"{text}ssl.ca.location={tmp_path / 'authority.pem'}\n")
        with started(settings, tmp_path / "node"):
            told(["acl", "list", "--bootstrap", address, "--command-config", str(file)])


def test_a_policy(tmp_path: Path) -> None:
    (tmp_path / "house.py").write_text(block("class HouseRules"))
    home = Home(
        path=tmp_path / "node",
        settings={"create.topic.policy.class.name": "house:HouseRules"},
    )
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    program = f"{path}; from ottla.cli.main import main; main()"
    node = BrokerProcess("ottla", home, program=("-c", program))
    try:
        node.start()
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic("few", 50, 1)])["few"].result(SECONDS)
        with pytest.raises(KafkaException, match="ask the platform team") as refused:
            admin.create_topics([NewTopic("many", 51, 1)])["many"].result(SECONDS)
        assert refused.value.args[0].code() == KafkaError.POLICY_VIOLATION
        node.stop()
    finally:
        node.discard()


def test_secrets_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_SECRET", "of tokens")
    (tmp_path / "broker.properties").write_text("keystore=of the store\n")
    (tmp_path / "key").write_text("of the key")
    file = tmp_path / "server.properties"
    text = block("config.providers=file,dir,env")
    file.write_text(text.replace("/run/secrets", str(tmp_path)))
    static = load(file).settings.static
    assert static["ssl.keystore.password"] == "of the store"
    assert static["ssl.key.password"] == "of the key"
    assert static["delegation.token.secret.key"] == "of tokens"


def test_no_block_is_left_out() -> None:
    """Each is named by a test of this file."""
    source = Path(__file__).read_text()
    words = re.findall(r'block\("([^"]+)"\)', source)
    named = {text for _, text in BLOCKS for word in words if word in text}
    assert [text for _, text in BLOCKS if text not in named] == []

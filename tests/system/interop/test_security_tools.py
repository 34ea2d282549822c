"""Apache Kafka's own tools for users and access rules, unchanged, against the broker."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ottla.config.properties import render_properties
from support.brokers import Kind
from support.confluent import wait_until
from support.secured import SCRAM_MODULE, Secured, running_secured
from support.toolbox import Ran, Toolbox

pytestmark = pytest.mark.java

ACLS = "org.apache.kafka.tools.AclCommand"
CONFIGS = "kafka.admin.ConfigCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"

RunTool = Callable[..., Ran]


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("secured")) as secured:
        yield secured


def login(folder: Path, secured: Secured, user: str, password: str, *, tls: bool) -> Path:
    """A file of client properties."""
    options = {
        "security.protocol": "SASL_SSL" if tls else "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{SCRAM_MODULE} required username="{user}" password="{password}";',
    }
    if tls:
        options["ssl.truststore.type"] = "PEM"
        options["ssl.truststore.certificates"] = secured.authority.certificate_pem
    file = folder / f"{user}.properties"
    file.write_text(render_properties(options, about="a client"))
    return file


@pytest.mark.parametrize(
    ("entity", "config", "told"),
    [
        (("users", "quinn"), "producer_byte_rate=1024", "producer_byte_rate=1024.0"),
        (("clients", "quinn"), "request_percentage=12.5", "request_percentage=12.5"),
        (("ips", "127.0.0.9"), "connection_creation_rate=7", "connection_creation_rate=7.0"),
    ],
    ids=["users", "clients", "ips"],
)
def test_quotas_are_set_described_and_removed(
    toolbox: Toolbox, secured: Secured, entity: tuple[str, str], config: str, told: str
) -> None:
    def run(*arguments: str) -> Ran:
        whose = ("--entity-type", entity[0], "--entity-name", entity[1])
        return toolbox.run(
            CONFIGS, "--bootstrap-server", secured.process.bootstrap, *arguments, *whose
        )

    run("--alter", "--add-config", config)
    wait_until(lambda: told in run("--describe").output)
    run("--alter", "--delete-config", config.partition("=")[0])
    wait_until(lambda: told not in run("--describe").output)


@pytest.mark.parametrize("tls", [False, True], ids=["sasl_plaintext", "sasl_ssl"])
def test_users_and_rules_are_made_listed_and_removed(
    toolbox: Toolbox, secured: Secured, tmp_path: Path, tls: bool
) -> None:
    address = secured.encrypted if tls else secured.address
    root = login(tmp_path, secured, "root", "secret", tls=tls)
    user, topic = f"java-{tls}", f"java-{tls}"

    def run(tool: str, *arguments: str) -> Ran:
        return toolbox.run(
            tool, "--bootstrap-server", address, "--command-config", str(root), *arguments
        )

    entity = ("--entity-type", "users", "--entity-name", user)
    password = "SCRAM-SHA-256=[iterations=8192,password=of java]"
    run(CONFIGS, "--alter", "--add-config", password, *entity)
    told = run(CONFIGS, "--describe", *entity).output
    assert "SCRAM-SHA-256=iterations=8192" in told
    secured.create(topic)
    added = run(ACLS, "--add", "--allow-principal", f"User:{user}", "--producer", "--topic", topic)
    assert f"resourceType=TOPIC, name={topic}" in added.output
    listed = run(ACLS, "--list", "--topic", topic).output
    for operation in ("WRITE", "DESCRIBE", "CREATE"):
        assert f"operation={operation}, permissionType=ALLOW" in listed
    own = login(tmp_path, secured, user, "of java", tls=tls)
    toolbox.run(
        PRODUCER,
        *("--bootstrap-server", address, "--command-config", str(own), "--topic", topic),
        input="a line\n",
    )
    refused = toolbox.attempt(
        CONSUMER,
        *("--bootstrap-server", address, "--command-config", str(own), "--topic", topic),
        *("--from-beginning", "--max-messages", "1", "--timeout-ms", "3000"),
    )
    assert refused.lines == []
    read = toolbox.run(
        CONSUMER,
        *("--bootstrap-server", address, "--command-config", str(root), "--topic", topic),
        *("--from-beginning", "--max-messages", "1", "--timeout-ms", "20000"),
    )
    assert read.lines == ["a line"]
    removed = ("--remove", "--force", "--allow-principal", f"User:{user}")
    run(ACLS, *removed, "--producer", "--topic", topic)
    assert "operation=" not in run(ACLS, "--list", "--topic", topic).output
    run(CONFIGS, "--alter", "--delete-config", "SCRAM-SHA-256", *entity)
    assert "SCRAM" not in run(CONFIGS, "--describe", *entity).output


# Delegation tokens ----------------------------------------------------------------------------

TOKENS = "org.apache.kafka.tools.DelegationTokenCommand"


def by_token(folder: Path, token_id: str, hmac: str) -> Path:
    module = f'{SCRAM_MODULE} required username="{token_id}" password="{hmac}" tokenauth="true";'
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": module,
    }
    file = folder / "token.properties"
    file.write_text(render_properties(options, about="a client with a token"))
    return file


def test_kafka_s_tool_makes_lists_renews_and_ends_tokens_that_let_clients_in(
    toolbox: Toolbox, secured: Secured, tmp_path: Path
) -> None:
    secured.create("by-token")
    root = login(tmp_path, secured, "root", "secret", tls=False)

    def run(*arguments: str) -> Ran:
        address = ("--bootstrap-server", secured.address)
        return toolbox.run(TOKENS, *address, "--command-config", str(root), *arguments)

    made = run("--create", "--max-life-time-period", "-1", "--renewer-principal", "User:alice")
    row = next(line for line in made.lines if "User:root" in line)
    token_id, hmac = row.split()[:2]
    assert token_id in run("--describe", "--owner-principal", "User:root").output
    token = by_token(tmp_path, token_id, hmac)
    toolbox.run(
        PRODUCER,
        *("--bootstrap-server", secured.address, "--command-config", str(token)),
        *("--topic", "by-token"),
        input="a line\n",
    )
    read = toolbox.run(
        CONSUMER,
        *("--bootstrap-server", secured.address, "--command-config", str(token)),
        *("--topic", "by-token", "--from-beginning", "--max-messages", "1"),
        *("--timeout-ms", "20000"),
    )
    assert read.lines == ["a line"]
    run("--renew", "--renew-time-period", "-1", "--hmac", hmac)
    run("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    assert token_id not in run("--describe").output

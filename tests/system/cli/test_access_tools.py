"""`ottla user`, `acl`, `quota` and `tenant` against a broker with an authorizer: `--broker kafka`
shows that they serve Apache Kafka too."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from support.brokers import Kind
from support.confluent import wait_until
from support.secured import Secured, running_secured
from system.cli.test_tools import Tool


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("secured")) as secured:
        yield secured


@pytest.fixture
def tool(secured: Secured) -> Tool:
    return Tool(secured.process.bootstrap)


def signs_in(secured: Secured, user: str, password: str) -> bool:
    from support.secured import sign_in
    from support.wire import Connection

    with Connection(secured.address) as connection:
        return bool(sign_in(connection, user, password).error_code == ErrorCode.none)


def test_a_user_is_made_changed_and_deleted(secured: Secured, tool: Tool, tmp_path: Path) -> None:
    sha = ("--mechanism", "SCRAM-SHA-256")
    tool("user", "create", "carol", *sha, stdin="first secret\n")
    wait_until(lambda: signs_in(secured, "carol", "first secret"))
    (found,) = tool.json("user", "list")
    assert {"name": "carol", "mechanisms": {"SCRAM-SHA-256": 4096}} in found
    again = tool("user", "create", "carol", *sha, stdin="x\n", code=1)
    assert "already" in str(again.exception)
    file = tmp_path / "password"
    file.write_text("second secret\n")
    tool("user", "passwd", "carol", "--password-file", str(file))
    wait_until(lambda: signs_in(secured, "carol", "second secret"))
    tool("user", "delete", "carol", "--yes")
    wait_until(lambda: not signs_in(secured, "carol", "second secret"))
    assert "no user" in str(tool("user", "delete", "carol", "--yes", code=1).exception)


def test_an_empty_password_is_refused(tool: Tool) -> None:
    assert "empty" in str(tool("user", "create", "dave", stdin="\n", code=1).exception)


def test_rules_are_added_explained_and_removed(tool: Tool) -> None:
    who = "User:erin"
    tool("acl", "add", who, "--read", "topic:orders.*", "--read", "group:app", "--alter", "cluster")
    tool("acl", "add", who, "--deny", "--read", "topic:orders.secret", "--host", "127.0.0.1")
    wait_until(lambda: len(tool.json("acl", "list", "--as", who)[0]) == 4)
    (deciding,) = tool.json("acl", "list", "--on", "topic:orders.new")
    assert [(one["operation"], one["resource"]) for one in deciding] == [("read", "topic:orders.*")]
    may = tool("acl", "explain", "--as", who, "--read", "topic:orders.new")
    assert "may read topic:orders.new: allow User:erin read topic:orders.*" in may.stdout
    implied = tool("acl", "explain", "--as", who, "--describe", "topic:orders.new")
    assert "allow User:erin read topic:orders.*" in implied.stdout
    denied = tool("acl", "explain", "--as", who, "--read", "topic:orders.secret", code=1)
    assert "deny User:erin read topic:orders.secret from 127.0.0.1" in denied.stdout
    other = tool("acl", "explain", "--as", who, "--write", "topic:orders.new", code=1)
    assert "no rule allows it" in other.stdout
    tool("acl", "remove", who, "--read", "group:app")
    wait_until(lambda: len(tool.json("acl", "list", "--as", who)[0]) == 3)
    tool("acl", "remove", who, "--yes")
    wait_until(lambda: tool.json("acl", "list", "--as", who) == [[]])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "alice", "--read", "topic:x"), "User:alice"),
        (("add", "User:x"), "Which operation"),
        (("add", "User:x", "--read", "table:x"), "no resource"),
        (("add", "User:x", "--read", "topic:"), "no name"),
        (("remove", "User:unheard-of"), "no such rule"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(
    tool: Tool, arguments: tuple[str, ...], said: str
) -> None:
    assert said in str(tool("acl", *arguments, code=1).exception)


def test_quotas_are_set_shown_and_removed(tool: Tool) -> None:
    tool("quota", "set", "--user", "fred", "--produce", "5MB/s", "--requests", "12.5")
    tool("quota", "set", "--user", "fred", "--client-id", "*", "--consume", "1MiB/s")

    def shown(*whose: str) -> object:
        return tool.json("quota", "show", *whose)[0]

    wait_until(lambda: bool(shown("--user", "fred", "--client-id", "*")))
    assert shown("--user", "fred") == [
        {
            "entity": {"user": "fred"},
            "quotas": {"producer_byte_rate": 5e6, "request_percentage": 12.5},
        }
    ]
    assert "client-id *, user fred" in tool("quota", "show").stdout
    tool("quota", "remove", "--user", "fred", "request_percentage")
    tool("quota", "remove", "--user", "fred", "--client-id", "*")
    wait_until(lambda: not shown("--user", "fred", "--client-id", "*"))
    assert shown("--user", "fred") == [
        {"entity": {"user": "fred"}, "quotas": {"producer_byte_rate": 5e6}}
    ]
    tool("quota", "remove", "--user", "fred")
    assert "no rate" in str(
        tool("quota", "set", "--user", "x", "--produce", "fast", code=1).exception
    )


def test_a_tenant_is_a_user_with_a_prefix_and_quotas(secured: Secured, tool: Tool) -> None:
    secret = "s3cret of acme"
    made = ("create", "acme", "--bytes", "5MB/s", "--mechanism", "SCRAM-SHA-256")
    tool("tenant", *made, stdin=f"{secret}\n")
    wait_until(lambda: signs_in(secured, "acme", secret))
    assert "acme" in tool.json("tenant", "list")[0]
    (told,) = tool.json("tenant", "show", "acme")
    assert told["quotas"] == {"producer_byte_rate": 5e6, "consumer_byte_rate": 5e6}
    assert [rule.split()[-1] for rule in told["rules"]] == [
        "topic:acme.*",
        "group:acme.*",
        "transactional-id:acme.*",
    ]
    with secured.by("acme", secret) as connection:
        wanted = [
            {"name": name, "num_partitions": 1, "replication_factor": 1}
            for name in ("acme.orders", "orders")
        ]
        reply = connection.ask("create_topics", 7, topics=wanted, timeout=5000)
        codes = {topic.name: topic.error_code for topic in reply.topics}
    assert codes == {
        "acme.orders": ErrorCode.none,
        "orders": ErrorCode.topic_authorization_failed,
    }
    tool("tenant", "delete", "acme", "--yes")
    wait_until(lambda: not signs_in(secured, "acme", secret))
    wait_until(lambda: "acme" not in tool.json("tenant", "list")[0])
    assert tool.json("quota", "show", "--user", "acme") == [[]]
    assert "no tenant" in str(tool("tenant", "show", "acme", code=1).exception)
    assert "no dots" in str(tool("tenant", "create", "a.b", stdin="x\n", code=1).exception)

"""JAAS lines, read as Java reads them (`recorded/jaas.json`), and files of them."""

from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

import pytest

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.security.jaas import JaasLogin, parse_file, parse_line
from ottla.security.jaas_file import with_jaas
from unit.security.recording import recorded


def shown(login: JaasLogin) -> str:
    pairs = ", ".join(f"{name}={value}" for name, value in sorted(login.options.items()))
    return f"{login.module} {{{pairs}}}"


@pytest.mark.parametrize(("question", "answer"), recorded("jaas"))
def test_a_line_means_what_it_means_to_java(question: list[str], answer: str) -> None:
    line = b64decode(question[1]).decode()
    if answer.startswith("!"):
        with pytest.raises(OttlaError):
            parse_line(line, "sasl.jaas.config")
    else:
        assert shown(parse_line(line, "sasl.jaas.config")) == answer


def test_a_file_has_sections_for_listeners() -> None:
    text = """
    KafkaServer { m.Plain required user_a="1"; m.Scram required; };
    external.KafkaServer { m.Plain required user_b="2"; };
    """
    sections = parse_file(text, "jaas.conf")
    assert sections["external.KafkaServer"] == [JaasLogin("m.Plain", {"user_b": "2"})]
    assert [login.module for login in sections["KafkaServer"]] == ["m.Plain", "m.Scram"]


@pytest.mark.parametrize("text", ["A {", "A { m required; }", "A m;", "{ };", "A { m required };"])
def test_a_broken_file_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(OttlaError, match=r"jaas\.conf"):
        parse_file(text, "jaas.conf")


# A file of sections ---------------------------------------------------------------------------

FILE = """
KafkaServer {
    org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="a \\"q\\" one";
    org.apache.kafka.common.security.scram.ScramLoginModule required username="x" password="y";
};
users.KafkaServer {
    org.apache.kafka.common.security.plain.PlainLoginModule required user_bob="b";
};
"""


def test_a_file_of_sections_stands_for_the_listeners_lines(tmp_path: Path) -> None:
    path = tmp_path / "jaas.conf"
    path.write_text(FILE)
    static = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@127.0.0.1:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "USERS://:9092,OTHERS://:9094,CONTROLLER://:9093",
        "advertised.listeners": "USERS://a:9092,OTHERS://a:9094",
        "listener.security.protocol.map": (
            "USERS:SASL_PLAINTEXT,OTHERS:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"
        ),
        "inter.broker.listener.name": "USERS",
        "listener.name.others.scram-sha-256.sasl.jaas.config": "the file's own",
    }
    resolved = with_jaas(Settings(static), path).static

    def options(listener: str) -> Mapping[str, str]:
        option = f"listener.name.{listener}.plain.sasl.jaas.config"
        return parse_line(resolved[option], option).options

    assert options("users") == {"user_bob": "b"}
    assert options("others") == {"user_alice": 'a "q" one'}
    assert resolved["listener.name.others.scram-sha-256.sasl.jaas.config"] == "the file's own"
    assert "listener.name.others.scram-sha-512.sasl.jaas.config" in resolved
    assert "listener.name.users.scram-sha-512.sasl.jaas.config" not in resolved

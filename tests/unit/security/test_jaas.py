"""JAAS lines, read as Java reads them (`recorded/jaas.json`), and files of them."""

from base64 import b64decode

import pytest

from ottla.errors import OttlaError
from ottla.security.jaas import Login, parse_file, parse_line
from unit.security.recording import recorded


def shown(login: Login) -> str:
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
    assert sections["external.KafkaServer"] == [Login("m.Plain", {"user_b": "2"})]
    assert [login.module for login in sections["KafkaServer"]] == ["m.Plain", "m.Scram"]


@pytest.mark.parametrize("text", ["A {", "A { m required; }", "A m;", "{ };", "A { m required };"])
def test_a_broken_file_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(OttlaError, match=r"jaas\.conf"):
        parse_file(text, "jaas.conf")

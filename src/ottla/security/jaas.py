"""JAAS: login modules and their options, one line for each listener and mechanism, or a file.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" user_a="secret";

Read as Java reads it: words, quoted texts with escapes, comments. A module's name only says for
which mechanism the line is meant: nothing is loaded by it.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ottla.errors import OttlaError

FLAGS = frozenset(("required", "requisite", "sufficient", "optional"))
MODULES: Mapping[str, str] = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": "PLAIN",
    "org.apache.kafka.common.security.scram.ScramLoginModule": "SCRAM",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": "OAUTHBEARER",
    "com.sun.security.auth.module.Krb5LoginModule": "GSSAPI",
}
SERVER_SECTION = "KafkaServer"
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WORD = frozenset(".-_$")
_PUNCTUATION = frozenset("=;{}")


class JaasLogin(NamedTuple):
    module: str
    options: Mapping[str, str]

    @property
    def family(self) -> str:
        """The mechanism the module is for; one module serves all of SCRAM."""
        return MODULES.get(self.module, "")


class _Token(NamedTuple):
    text: str
    is_sign: bool = False  # one of `=;{}`, outside quotes


def parse_line(text: str, option: str) -> JaasLogin:
    """The one login of a `….sasl.jaas.config`; `option` is its whole name, for errors."""
    tokens = list(_tokens(text, option))
    logins, rest = _logins(tokens, option)
    if rest or len(logins) != 1:
        raise OttlaError(f"{option} must have one login module, which ends with a semicolon.")
    return logins[0]


def parse_file(text: str, path: str) -> dict[str, list[JaasLogin]]:
    """`KafkaServer { MODULE required …; };` sections by name, as java.security.auth.login.config
    has them; a listener's own section is `name.KafkaServer`."""
    sections: dict[str, list[JaasLogin]] = {}
    tokens = list(_tokens(text, path))
    while tokens:
        if len(tokens) < 3 or tokens[0].is_sign or tokens[1] != _Token("{", True):
            raise OttlaError(f"{path}: a section is written NAME {{ MODULE required …; }};")
        name = tokens[0].text
        logins, tokens = _logins(tokens[2:], path)
        if tokens[:2] != [_Token("}", True), _Token(";", True)]:
            raise OttlaError(f"{path}: section {name} does not end with }};")
        if name in sections:
            raise OttlaError(f"{path}: section {name} is there twice.")
        sections[name], tokens = logins, tokens[2:]
    return sections


def render(login: JaasLogin) -> str:
    """The line that `parse_line` reads as this login."""

    def quoted(value: str) -> str:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'

    options = "".join(f" {name}={quoted(value)}" for name, value in login.options.items())
    return f"{login.module} required{options};"


def _logins(tokens: list[_Token], where: str) -> tuple[list[JaasLogin], list[_Token]]:
    logins: list[JaasLogin] = []
    while tokens and not tokens[0].is_sign:
        module = tokens[0].text
        if len(tokens) < 2 or tokens[1].is_sign or tokens[1].text.lower() not in FLAGS:
            raise OttlaError(
                f"{where}: {module} is followed by none of {', '.join(sorted(FLAGS))}."
            )
        options, tokens = _options(tokens[2:], where)
        logins.append(JaasLogin(module, options))
    return logins, tokens


def _options(tokens: list[_Token], where: str) -> tuple[dict[str, str], list[_Token]]:
    options: dict[str, str] = {}
    position = 0
    while position < len(tokens) and tokens[position] != _Token(";", True):
        name, *value = tokens[position : position + 3]
        if name.is_sign or len(value) < 2 or value[0] != _Token("=", True) or value[1].is_sign:
            raise OttlaError(f'{where}: {name.text!r} is no option; write name="value".')
        options[name.text] = value[1].text
        position += 3
    if position >= len(tokens):
        raise OttlaError(f"{where}: a login module does not end with a semicolon.")
    return options, tokens[position + 1 :]


def _tokens(text: str, where: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        character = text[position]
        if character <= " ":
            position += 1
        elif character in "\"'":
            quoted, position = _quoted(text, position, where)
            yield _Token(quoted)
        elif text.startswith("/*", position):
            end = text.find("*/", position + 2)
            position = len(text) if end < 0 else end + 2
        elif character == "/":
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif character in _PUNCTUATION:
            yield _Token(character, True)
            position += 1
        elif _is_word(character):
            end = position
            while end < len(text) and _is_word(text[end]):
                end += 1
            word = text[position:end]
            if word[0].isdigit() or word[0] in "-.":
                raise OttlaError(f"{where}: {word!r} needs quotation marks.")
            yield _Token(word)
            position = end
        else:
            raise OttlaError(
                f"{where}: {character!r} is out of place; values need quotation marks."
            )


def _is_word(character: str) -> bool:
    return character.isalnum() or character in _WORD or character >= "\xa0"


def _quoted(text: str, position: int, where: str) -> tuple[str, int]:
    quote, out = text[position], []
    position += 1
    while position < len(text) and text[position] != quote:
        character = text[position]
        if character in "\r\n":
            break
        position += 1
        if character == "\\" and position < len(text):
            character, position = _escape(text, position)
        out.append(character)
    if text[position : position + 1] != quote:
        raise OttlaError(f"{where}: a quotation mark is not closed.")
    return "".join(out), position + 1


def _escape(text: str, position: int) -> tuple[str, int]:
    """Up to three octal digits (two, if the first is above 3), a letter that stands for a sign,
    else the character itself."""
    character = text[position]
    if character in "01234567":
        end = position + 1
        longest = position + (3 if character <= "3" else 2)
        while end < min(longest, len(text)) and text[end] in "01234567":
            end += 1
        return chr(int(text[position:end], 8)), end
    return _ESCAPES.get(character, character), position + 1

"""Protobuf's language, read in one pass: as much time as the text is long."""

import re
from collections.abc import Iterator
from typing import Any

from ottla.registry.bounds import DEPTH_MAX
from ottla.registry.protobuf.tree import (
    TAG_MAX,
    Constant,
    Enum,
    Extend,
    Extensions,
    Field,
    File,
    Group,
    Message,
    OneOf,
    Option,
    Range,
    Rpc,
    Service,
    Word,
)

_LABELS = ("optional", "required", "repeated")
_TOKEN = re.compile(
    r"""
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/)
  | (?P<string>"(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*')
  | (?P<word>[A-Za-z_0-9.][\w.+]*(?:(?<=[eE])-\d+)?)
  | (?P<sign>[{}()\[\]<>=;,:\-+/])
    """,
    re.VERBOSE | re.DOTALL,
)
_NAME = re.compile(r"\.?[A-Za-z_]\w*(\.[A-Za-z_]\w*)*\Z")
_ESCAPE = re.compile(r"\\([0-7]{1,3}|[xX][0-9a-fA-F]{1,2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.S)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class NotProtobuf(ValueError):
    """Why, and in which line."""


def parse_file(text: str) -> File:
    return _Parser(text).file()


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and position."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotProtobuf(f"Syntax error in line {_line(text, at)}: unexpected {text[at]!r}")
        kind = found.lastgroup or ""
        if kind != "skip":
            yield kind, found[0], at
        at = found.end()


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [*_tokens(text), ("end", "", len(text))]
        self._at = 0

    # --- tokens

    @property
    def _next(self) -> str:
        return self._tokens[self._at][1]

    @property
    def _kind(self) -> str:
        return self._tokens[self._at][0]

    def _take(self) -> str:
        token = self._next
        self._at += 1
        return token

    def _fault(self, wanted: str) -> NotProtobuf:
        line = _line(self._text, self._tokens[min(self._at, len(self._tokens) - 1)][2])
        found = repr(self._next) if self._next else "the end"
        return NotProtobuf(f"Syntax error in line {line}: expected {wanted}, not {found}")

    def _expect(self, sign: str) -> None:
        if self._next != sign or self._kind == "string":
            raise self._fault(repr(sign))
        self._at += 1

    def _skip(self, sign: str) -> bool:
        if self._next == sign and self._kind != "string":
            self._at += 1
            return True
        return False

    def _name(self) -> str:
        if self._kind != "word" or not _NAME.match(self._next):
            raise self._fault("a name")
        return self._take()

    def _number(self) -> int:
        sign = -1 if self._skip("-") else 1
        try:
            number = int(self._next, 0) if not re.match(r"0\d", self._next) else int(self._next, 8)
        except ValueError:
            raise self._fault("a number") from None
        self._at += 1
        return sign * number

    def _string(self) -> str:
        if self._kind != "string":
            raise self._fault("a text in quotes")
        parts = []
        while self._kind == "string":
            parts.append(_ESCAPE.sub(_unescaped, self._take()[1:-1]))
        return "".join(parts)

    # --- the file

    def file(self) -> File:
        file = File()
        while self._kind != "end":
            if not self._skip(";"):
                self._statement(file)
        return file

    def _statement(self, file: File) -> None:
        match self._take():
            case "syntax":
                self._expect("=")
                file.syntax = self._string()
                if file.syntax not in ("proto2", "proto3"):
                    raise NotProtobuf(f"unknown syntax: {file.syntax}")
                self._expect(";")
            case "edition":
                self._expect("=")
                file.edition = self._string()
                self._expect(";")
            case "package":
                file.package = self._name()
                self._expect(";")
            case "import":
                public = self._skip("public")
                if not public:
                    self._skip("weak")
                (file.public_imports if public else file.imports).append(self._string())
                self._expect(";")
            case "option":
                file.options.append(self._option_statement())
            case "message":
                file.types.append(self._message(0))
            case "enum":
                file.types.append(self._enum())
            case "extend":
                file.extends.append(self._extend(0))
            case "service":
                file.services.append(self._service())
            case _:
                self._at -= 1
                raise self._fault("a definition")

    def _message(self, depth: int) -> Message:
        if depth > DEPTH_MAX:
            raise NotProtobuf("The schema is nested too deeply")
        message = Message(self._name())
        self._body(message, depth)
        return message

    def _body(self, message: Message, depth: int) -> None:
        self._expect("{")
        while not self._skip("}"):
            if not self._skip(";"):
                self._member(message, depth)

    def _member(self, message: Message, depth: int) -> None:
        word, after = self._next, self._tokens[min(self._at + 2, len(self._tokens) - 1)][1]
        is_definition = self._kind == "word" and after == "{"
        if word in ("message", "enum", "oneof", "extend") and is_definition:
            self._at += 1
            match word:
                case "message":
                    message.types.append(self._message(depth + 1))
                case "enum":
                    message.types.append(self._enum())
                case "oneof":
                    message.oneofs.append(self._oneof(depth))
                case "extend":
                    message.extends.append(self._extend(depth))
        elif word == "option":
            self._at += 1
            message.options.append(self._option_statement())
        elif word == "reserved" and after in (";", ",", "to"):
            self._at += 1
            message.reserved.append(self._ranges())
            self._expect(";")
        elif word == "extensions" and after in (";", ",", "to", "["):
            self._at += 1
            message.extensions.append(Extensions(self._ranges(), self._options()))
            self._expect(";")
        else:
            self._field_or_group(message.fields, message.groups, depth)

    def _oneof(self, depth: int) -> OneOf:
        oneof = OneOf(self._name())
        self._expect("{")
        while not self._skip("}"):
            if self._skip(";"):
                continue
            if self._next == "option" and self._tokens[self._at + 2][1] in ("=", ")", "."):
                self._at += 1
                oneof.options.append(self._option_statement())
            else:
                self._field_or_group(oneof.fields, oneof.groups, depth)
        return oneof

    def _extend(self, depth: int) -> Extend:
        extend = Extend(self._name())
        groups: list[Group] = []
        self._expect("{")
        while not self._skip("}"):
            if not self._skip(";"):
                self._field_or_group(extend.fields, groups, depth)
        return extend

    def _field_or_group(self, fields: list[Field], groups: list[Group], depth: int) -> None:
        label = None
        if self._next in _LABELS and self._tokens[self._at + 1][0] == "word":
            label = self._take()
        if self._next == "group" and self._tokens[self._at + 2][1] == "=":
            self._at += 1
            name = self._name()
            self._expect("=")
            tag = self._tag()
            self._options()
            body = Message(name)
            self._body(body, depth + 1)
            groups.append(Group(name, tag, label, body))
            return
        kind = self._type()
        name = self._name()
        self._expect("=")
        tag = self._tag()
        options = self._options()
        self._expect(";")
        fields.append(Field(name, kind, tag, label, options))

    def _tag(self) -> int:
        tag = self._number()
        if not 0 < tag <= TAG_MAX:
            raise NotProtobuf(f"tag is out of range: {tag}")
        return tag

    def _type(self) -> str:
        if self._next == "map" and self._tokens[self._at + 1][1] == "<":
            self._at += 2
            key = self._name()
            self._expect(",")
            value = self._name()
            self._expect(">")
            return f"map<{key}, {value}>"
        return self._name()

    def _enum(self) -> Enum:
        enum = Enum(self._name())
        self._expect("{")
        while not self._skip("}"):
            if self._skip(";"):
                continue
            after = self._tokens[self._at + 1][1]
            if self._next == "option" and after != "=":
                self._at += 1
                enum.options.append(self._option_statement())
            elif self._next == "reserved" and after != "=":
                self._at += 1
                enum.reserved.append(self._ranges())
                self._expect(";")
            else:
                name = self._name()
                self._expect("=")
                enum.constants.append(Constant(name, self._number(), self._options()))
                self._expect(";")
        return enum

    def _ranges(self) -> list[str | Range]:
        found: list[str | Range] = []
        while True:
            if self._kind == "string":
                found.append(self._string())
            elif self._kind == "word" and _NAME.match(self._next):
                found.append(self._take())  # editions name fields without quotes
            else:
                first = last = self._number()
                if self._skip("to"):
                    last = TAG_MAX if self._skip("max") else self._number()
                found.append(Range(first, last))
            if not self._skip(","):
                return found

    def _service(self) -> Service:
        service = Service(self._name())
        self._expect("{")
        while not self._skip("}"):
            if self._skip(";"):
                continue
            if self._skip("option"):
                service.options.append(self._option_statement())
            else:
                self._expect("rpc")
                service.rpcs.append(self._rpc())
        return service

    def _rpc(self) -> Rpc:
        name = self._name()
        request, request_streams = self._rpc_type()
        self._expect("returns")
        response, response_streams = self._rpc_type()
        options: list[Option] = []
        if self._skip("{"):
            while not self._skip("}"):
                if not self._skip(";"):
                    self._expect("option")
                    options.append(self._option_statement())
        else:
            self._expect(";")
        return Rpc(name, request, response, request_streams, response_streams, options)

    def _rpc_type(self) -> tuple[str, bool]:
        self._expect("(")
        streams = self._next == "stream" and self._tokens[self._at + 1][1] != ")"
        if streams:
            self._at += 1
        name = self._name()
        self._expect(")")
        return name, streams

    # --- options

    def _option_statement(self) -> Option:
        option = self._option()
        self._expect(";")
        return option

    def _options(self) -> list[Option]:
        options: list[Option] = []
        if self._skip("["):
            while True:
                options.append(self._option())
                if not self._skip(","):
                    break
            self._expect("]")
        return options

    def _option(self) -> Option:
        name = ""
        while self._next != "=":
            if self._skip("("):
                name += f"({self._name()})"
                self._expect(")")
            elif self._kind == "word":
                name += self._take()
            else:
                raise self._fault("the name of an option")
        if not name:
            raise self._fault("the name of an option")
        self._expect("=")
        return Option(name, self._value(0))

    def _value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise NotProtobuf("The schema is nested too deeply")
        if self._kind == "string":
            return self._string()
        if self._next in ("{", "<"):
            return self._aggregate({"{": "}", "<": ">"}[self._take()], depth)
        if self._skip("["):
            values: list[Any] = []
            while not self._skip("]"):
                values.append(self._value(depth + 1))
                self._skip(",")
            return values
        sign = "-" if self._skip("-") else ""
        self._skip("+")
        if self._kind != "word":
            raise self._fault("a value")
        return Word(sign + self._take())

    def _aggregate(self, closing: str, depth: int) -> dict[str, Any]:
        """A field that comes twice is a list."""
        held: dict[str, Any] = {}
        while not self._skip(closing):
            name = self._aggregate_name()
            self._skip(":")
            value = self._value(depth + 1)
            if name not in held:
                held[name] = value
            else:
                before = held[name] if isinstance(held[name], list) else [held[name]]
                held[name] = before + (value if isinstance(value, list) else [value])
            if not self._skip(","):
                self._skip(";")
        return held

    def _aggregate_name(self) -> str:
        if not self._skip("["):
            if self._kind != "word":
                raise self._fault("the name of a field")
            return self._take()
        name = "["
        while not self._skip("]"):
            if self._kind == "end":
                raise self._fault("]")
            name += self._take()
        return name + "]"


def _unescaped(found: re.Match[str]) -> str:
    escaped = found[1]
    if escaped[0] in "01234567":
        return chr(int(escaped, 8))
    if escaped[0] in "xXuU" and len(escaped) > 1:
        code = int(escaped[1:], 16)
        return chr(code) if code < 0x110000 else "\ufffd"
    return _SIMPLE.get(escaped, escaped)

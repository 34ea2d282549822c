"""A file as text: what the registry stores, and its normal form.

The order of messages stays in both: the numbers of messages before a record's bytes depend on it.
In the normal form everything else whose order says nothing is sorted, and types have full names.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ottla.registry.protobuf.names import Names
from ottla.registry.protobuf.tree import (
    SCALARS,
    TAG_MAX,
    Constant,
    Enum,
    Extend,
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
    map_types,
)

_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        "'": "\\'",
        '"': '\\"',
    }
)
_LAST = ("default", "json_name")  # of a field's options


def text_of(file: File) -> str:
    return _Writer(None).file(file)


def normal_text(file: File, names: Names) -> str:
    return _Writer(names).file(file)


class _Writer:
    def __init__(self, names: Names | None) -> None:
        self._names = names
        self._scope: list[str] = []

    @property
    def _normal(self) -> bool:
        return self._names is not None

    def file(self, file: File) -> str:
        out = ""
        if file.edition is not None:
            out += f'edition = "{file.edition}";\n'
        elif file.syntax is not None and (not self._normal or file.syntax == "proto3"):
            out += f'syntax = "{file.syntax}";\n'
        if file.package is not None:
            out += f"package {file.package};\n"
        out += self._imports(file)
        out += self._part(file.options, self._option_line)
        out += self._types(file.types, lambda text: text)
        if file.extends:
            out += "\n" + "".join(self._extend(one) for one in self._grouped(file.extends))
        if file.services:
            out += "\n" + "".join(self._service(one) for one in file.services)
        return out

    def _imports(self, file: File) -> str:
        plain: Iterable[str] = file.imports
        public: Iterable[str] = file.public_imports
        if self._normal:
            plain, public = sorted(set(plain)), sorted(set(public))
        lines = [f'import "{one}";\n' for one in plain]
        lines += [f'import public "{one}";\n' for one in public]
        return "\n" + "".join(lines) if lines else ""

    def _part(self, held: list[Any], write: Callable[[Any], str]) -> str:
        held = self._sorted_options(held)
        return "\n" + "".join(write(one) for one in held) if held else ""

    def _types(self, types: list[Message | Enum], indent: Callable[[str], str]) -> str:
        """Messages, then enums."""
        kept = [one for one in types if not (self._normal and _is_entry(one))]
        if not kept:
            return ""
        out = "\n"
        for one in kept:
            if isinstance(one, Message):
                out += indent(self._within(one.name, one, self._message))
        for one in kept:
            if isinstance(one, Enum):
                out += indent(self._enum(one))
        return out

    def _within(self, name: str, one: Message, write: Callable[[Message], str]) -> str:
        self._scope.append(name)
        written = write(one)
        self._scope.pop()
        return written

    def _message(self, one: Message) -> str:
        out = f"message {one.name} {{"
        if one.reserved:
            out += "\n" + "".join(_indented(self._reserved(held)) for held in self._ranges(one))
        out += self._part(one.options, lambda held: _indented(self._option_line(held)))
        out += self._members(one)
        if one.extensions:
            out += "\n" + self._extensions(one)
        if one.extends:
            out += "\n" + "".join(
                _indented(self._extend(held)) for held in self._grouped(one.extends)
            )
        return out + self._types(one.types, _indented) + "}\n"

    def _members(self, one: Message) -> str:
        out = ""
        if one.fields:
            out += "\n" + "".join(_indented(self._field(held)) for held in self._by_tag(one.fields))
        oneofs = one.oneofs
        if self._normal:
            oneofs = sorted(
                (held for held in oneofs if held.fields),
                key=lambda held: min(field.tag for field in held.fields),
            )
        if oneofs:
            out += "\n" + "".join(_indented(self._oneof(held)) for held in oneofs)
        if one.groups:
            out += "\n" + "".join(_indented(self._group(held)) for held in one.groups)
        return out

    def _by_tag(self, fields: list[Field]) -> list[Field]:
        return sorted(fields, key=lambda one: one.tag) if self._normal else fields

    def _oneof(self, one: OneOf) -> str:
        out = f"oneof {one.name} {{"
        out += self._part(one.options, lambda held: _indented(self._option_line(held)))
        if one.fields:
            out += "\n" + "".join(_indented(self._field(held)) for held in self._by_tag(one.fields))
        if one.groups:
            out += "\n" + "".join(_indented(self._group(held)) for held in one.groups)
        return out + "}\n"

    def _group(self, one: Group) -> str:
        label = f"{one.label} " if one.label else ""
        fields = "".join(_indented(self._field(held)) for held in self._by_tag(one.body.fields))
        return f"{label}group {one.name} = {one.tag} {{" + (f"\n{fields}" if fields else "") + "}\n"

    def _enum(self, one: Enum) -> str:
        out = f"enum {one.name} {{"
        if one.reserved:
            out += "\n" + "".join(_indented(self._reserved(held)) for held in self._ranges(one))
        elif one.options or one.constants:
            out += "\n"
        out += "".join(
            _indented(self._option_line(held)) for held in self._sorted_options(one.options)
        )
        constants = one.constants
        if self._normal:
            constants = sorted(constants, key=lambda held: (held.tag, held.name))
        return out + "".join(_indented(self._constant(held)) for held in constants) + "}\n"

    def _constant(self, one: Constant) -> str:
        return f"{one.name} = {one.tag}{self._options(one.options)};\n"

    def _field(self, one: Field) -> str:
        kind, label = one.type, one.label
        if self._names is not None:
            kind, label = self._resolved_field(one)
        options = [held for held in one.options if held.name not in _LAST]
        options += [held for name in _LAST for held in one.options if held.name == name]
        shown = f"{label} " if label else ""
        return f"{shown}{kind} {one.name} = {one.tag}{self._options(options)};\n"

    def _resolved_field(self, one: Field) -> tuple[str, str | None]:
        """With full names; an entry of a map that was written as a message is a map again."""
        assert self._names is not None
        found = map_types(one.type)
        if found is None and one.type not in SCALARS:
            full = self._names.resolve(one.type, self._scope)
            entry = None if full is None else self._names.message(full)
            if entry is not None and entry.is_map_entry:
                held = {field.name: field.type for field in entry.fields}
                found = held.get("key", ""), held.get("value", "")
        if found is None:
            return self._full(one.type), one.label
        key, value = found
        return f"map<{key}, {self._full(value)}>", None

    def _full(self, name: str) -> str:
        assert self._names is not None
        if name in SCALARS:
            return name
        full = self._names.resolve(name, self._scope)
        return name if full is None else f".{full}"

    def _extend(self, one: Extend) -> str:
        fields = "".join(_indented(self._field(held)) for held in self._by_tag(one.fields))
        return f"extend {one.name} {{" + (f"\n{fields}" if fields else "") + "}\n"

    def _grouped(self, extends: list[Extend]) -> list[Extend]:
        """All fields that are added to one message together."""
        if not self._normal:
            return extends
        grouped: dict[str, Extend] = {}
        for one in extends:
            name = self._full(one.name)
            grouped.setdefault(name, Extend(name)).fields.extend(one.fields)
        return list(grouped.values())

    def _extensions(self, one: Message) -> str:
        held = [([span], part.options) for part in one.extensions for span in part.ranges]
        if self._normal:
            held.sort(key=lambda pair: _first(pair[0][0]))
        else:
            held = [(part.ranges, part.options) for part in one.extensions]
        return "".join(
            _indented(f"extensions {self._spans(spans)}{self._options(options)};\n")
            for spans, options in held
        )

    def _ranges(self, one: Message | Enum) -> list[list[str | Range]]:
        if not self._normal:
            return one.reserved
        each = [[span] for spans in one.reserved for span in spans]
        return sorted(each, key=lambda spans: (_first(spans[0]), str(spans[0])))

    def _reserved(self, spans: list[str | Range]) -> str:
        return f"reserved {self._spans(spans)};\n"

    def _spans(self, spans: list[str | Range]) -> str:
        return ", ".join(_span(one) for one in spans)

    def _service(self, one: Service) -> str:
        out = f"service {one.name} {{"
        out += self._part(one.options, lambda held: _indented(self._option_line(held)))
        if one.rpcs:
            out += "\n" + "".join(_indented(self._rpc(held)) for held in one.rpcs)
        return out + "}\n"

    def _rpc(self, one: Rpc) -> str:
        request, response = one.request, one.response
        if self._normal:
            request, response = self._full(request), self._full(response)
        asks = "stream " * one.request_streams + request
        answers = "stream " * one.response_streams + response
        out = f"rpc {one.name} ({asks}) returns ({answers})"
        options = self._sorted_options(one.options)
        if options:
            out += " {\n" + "".join(_indented(self._option_line(held)) for held in options) + "}"
        return out + ";\n"

    # --- options

    def _sorted_options(self, options: list[Option]) -> list[Option]:
        return sorted(options, key=lambda one: one.name) if self._normal else options

    def _option_line(self, one: Option) -> str:
        return f"option {_option(one)};\n"

    def _options(self, options: list[Option]) -> str:
        options = self._sorted_options(options)
        return f" {_listed([_option(one) for one in options])}" if options else ""


def _option(one: Option) -> str:
    return f"{one.name} = {_value(one.value, top=True)}"


def _value(value: Any, *, top: bool = False) -> str:
    if isinstance(value, Word):
        return str(value)
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, dict):
        lines = [f"{name}: {_value(held)}" for name, held in value.items()]
        return "{\n" + _lines(lines) + "}"
    written = [_value(one) for one in value]
    return _listed(written) if top else "[\n" + _lines(written) + "]"


def _listed(written: list[str]) -> str:
    if len(written) == 1:
        return f"[{written[0]}]"
    return "[\n" + _lines(written) + "]"


def _lines(written: list[str]) -> str:
    last = len(written) - 1
    return "".join(_indented(one + ("," if at < last else "")) for at, one in enumerate(written))


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.rstrip("\n").split("\n"))


def _span(one: str | Range) -> str:
    if isinstance(one, str):
        return f'"{one}"'
    if one.first == one.last:
        return str(one.first)
    return f"{one.first} to {'max' if one.last >= TAG_MAX else one.last}"


def _first(one: str | Range) -> int:
    return one.first if isinstance(one, Range) else 2**31 - 1


def _is_entry(one: Message | Enum) -> bool:
    return isinstance(one, Message) and one.is_map_entry

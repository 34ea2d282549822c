"""Writes the source of an encoder or decoder for one message class at one version.

A schema line such as `partitions []FetchPartition 0+` becomes straight-line Python; neighbouring
fields of fixed width share one `struct` call. Imported only when a message is first used.
"""

import sys
from struct import Struct
from typing import Any

import msgspec

from ottla.wire import codec
from ottla.wire.codec import Decoder, Encoder
from ottla.wire.message import Message

FIXED = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
}
LATEST = 1 << 15


class Field(msgspec.Struct, frozen=True):
    name: str
    kind: str
    versions: range
    nullable: range
    tag: int | None
    tagged: range

    @property
    def inner(self) -> str:
        return self.kind.removeprefix("[]")

    @property
    def is_array(self) -> bool:
        return self.kind.startswith("[]")


def parse_versions(text: str) -> range:
    if text == "none":
        return range(0)
    first, _, last = text.partition("-")
    if text.endswith("+"):
        return range(int(text[:-1]), LATEST)
    return range(int(first), int(last or first) + 1)


def parse_schema(cls: type[Message]) -> list[Field]:
    fields = []
    for line in cls.SCHEMA.split("\n"):
        if not (words := line.split()):
            continue
        versions, nullable, tag, tagged = range(LATEST), range(0), None, range(0)
        for word in words[2:]:
            if word.startswith("null="):
                nullable = parse_versions(word[5:])
            elif word.startswith("tag="):
                number, _, spans = word[4:].partition(":")
                tag, tagged = int(number), parse_versions(spans)
            else:
                versions = parse_versions(word)
        fields.append(Field(words[0], words[1], versions, nullable, tag, tagged))
    return fields


class Writer:
    """Collects lines of source and the objects they refer to."""

    def __init__(self, cls: type[Message], version: int) -> None:
        self.cls = cls
        self.version = version
        self.flexible = version >= cls.FLEXIBLE_SINCE
        self.lines: list[str] = []
        self.indent = 1
        self.names: dict[str, Any] = {
            name: getattr(codec, name)
            for name in ("read_uvarint", "uvarint", "skip_tags", "refuse_count", "refuse_null")
        }
        self.names["ONE_BYTE"] = codec.ONE_BYTE
        fields = [f for f in parse_schema(cls) if version in f.versions]
        self.tagged = [f for f in fields if version in f.tagged and self.flexible]
        self.plain = [f for f in fields if f not in self.tagged]

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def struct(self, formats: str) -> str:
        name = "s_" + formats.replace("?", "bool")
        self.names[name] = Struct(">" + formats)
        return name

    def inner_class(self, name: str) -> type[Message]:
        found: type[Message] = getattr(sys.modules[self.cls.__module__], name)
        return found

    def finish(self, signature: str) -> Any:
        name = f"{self.cls.__name__}_v{self.version}"
        source = f"def {name}{signature}:\n" + "\n".join(self.lines)
        exec(compile(source, f"<{name}>", "exec"), self.names)
        return self.names[name]


def runs_of(fields: list[Field]) -> list[list[Field]]:
    """Neighbours of fixed width together, everything else alone."""
    runs: list[list[Field]] = []
    for field in fields:
        if field.kind in FIXED and runs and runs[-1][0].kind in FIXED:
            runs[-1].append(field)
        else:
            runs.append([field])
    return runs


# --- encoding ---------------------------------------------------------------------------------


def compile_encoder(cls: type[Message], version: int) -> Encoder:
    w = Writer(cls, version)
    for run in runs_of(w.plain):
        if run[0].kind in FIXED:
            name = w.struct("".join(FIXED[f.kind] for f in run))
            w.emit(f"out += {name}.pack({', '.join(f'm.{f.name}' for f in run)})")
        else:
            encode_value(w, run[0], f"m.{run[0].name}", run[0].kind, version in run[0].nullable)
    if w.tagged:
        encode_tags(w)
    elif w.flexible:
        w.emit("out += ONE_BYTE[0]")
    w.emit("return")
    encoder: Encoder = w.finish("(m, out)")
    return encoder


def encode_length(w: Writer, expression: str, short: str) -> None:
    if w.flexible:
        w.emit(f"n = {expression} + 1")
        w.emit("out += ONE_BYTE[n] if n < 128 else uvarint(n)")
    else:
        w.emit(f"out += {w.struct(short)}.pack({expression})")


def encode_null(w: Writer, short: str) -> None:
    if w.flexible:
        w.emit("out += ONE_BYTE[0]")
    else:
        w.emit(f"out += {w.struct(short)}.pack(-1)")


def encode_value(w: Writer, field: Field, value: str, kind: str, nullable: bool) -> None:
    if kind in FIXED:
        w.emit(f"out += {w.struct(FIXED[kind])}.pack({value})")
        return
    is_struct = not kind.startswith("[]") and kind not in ("string", "bytes", "records")
    short = "h" if kind == "string" else "i"
    variable = f"v{w.indent}"
    # Older versions know no null where newer ones do: they are told of nothing by an empty value.
    empty = {"string": ' or ""', "bytes": ' or b""', "records": ' or b""'}.get(kind, "")
    w.emit(f"{variable} = {value}{'' if nullable else empty}")
    if nullable:
        w.emit(f"if {variable} is None:")
        w.indent += 1
        if is_struct:  # Kafka has two ways to say null
            w.emit("out += b'\\x00'" if field in w.tagged else "out += b'\\xff'")
        else:
            encode_null(w, short)
        w.indent -= 1
        w.emit("else:")
        w.indent += 1
        if is_struct:
            w.emit("out += b'\\x01'")
    if is_struct:
        encode_struct(w, variable, kind)
    elif kind.startswith("[]"):
        encode_array(w, field, variable, kind[2:])
    else:
        if kind == "string":
            w.emit(f"{variable} = {variable}.encode()")
        encode_length(w, f"len({variable})", short)
        w.emit(f"out += {variable}")
    if nullable:
        w.indent -= 1


def encode_struct(w: Writer, value: str, kind: str) -> None:
    w.names[f"e_{kind}"] = codec.encoder(w.inner_class(kind), w.version)
    w.emit(f"e_{kind}({value}, out)")


def encode_array(w: Writer, field: Field, variable: str, inner: str) -> None:
    encode_length(w, f"len({variable})", "i")
    item = f"x{w.indent}"
    w.emit(f"for {item} in {variable}:")
    w.indent += 1
    if inner in FIXED or inner in ("string", "bytes"):
        encode_value(w, field, item, inner, nullable=False)
    else:
        encode_struct(w, item, inner)
    w.indent -= 1


def encode_tags(w: Writer) -> None:
    if len(w.tagged) == 1 and w.tagged[0].kind in FIXED:
        encode_only_tag(w, w.tagged[0])
        return
    w.names["defaults"] = w.cls()
    w.emit("tags = []")
    w.emit("outer = out")
    for field in sorted(w.tagged, key=lambda f: f.tag or 0):
        w.emit(f"if m.{field.name} != defaults.{field.name}:")
        w.indent += 1
        w.emit("out = bytearray()")
        encode_value(w, field, f"m.{field.name}", field.kind, w.version in field.nullable)
        w.emit(f"tags.append(({field.tag}, out))")
        w.indent -= 1
    w.emit("out = outer")
    w.emit("out += uvarint(len(tags))")
    w.emit("for tag, body in tags:")
    w.emit("    out += uvarint(tag) + uvarint(len(body)) + body")


def encode_only_tag(w: Writer, field: Field) -> None:
    """Its size is known beforehand."""
    structure = w.struct(FIXED[field.kind])
    size = w.names[structure].size
    w.names["default"] = getattr(w.cls(), field.name)
    w.names["front"] = b"".join(map(codec.uvarint, (1, field.tag or 0, size)))
    w.emit(f"if m.{field.name} == default: out += ONE_BYTE[0]")
    w.emit(f"else: out += front + {structure}.pack(m.{field.name})")


# --- decoding ---------------------------------------------------------------------------------


def compile_decoder(cls: type[Message], version: int) -> Decoder:
    w = Writer(cls, version)
    w.names["cls"] = cls
    for run in runs_of(w.plain):
        if run[0].kind in FIXED:
            structure = w.struct("".join(FIXED[f.kind] for f in run))
            targets = ", ".join(f"f_{f.name}" for f in run)
            w.emit(f"{targets}, = {structure}.unpack_from(b, p)")
            w.emit(f"p += {w.names[structure].size}")
        else:
            field = run[0]
            decode_value(w, field, f"f_{field.name}", field.kind, version in field.nullable)
    if w.tagged:
        decode_tags(w)
    elif w.flexible:
        w.emit("if b[p]: p = skip_tags(b, p, end)")
        w.emit("else: p += 1")
    arguments = [f"{f.name}=f_{f.name}" for f in w.plain + w.tagged]
    w.emit(f"return cls({', '.join(arguments)}), p")
    decoder: Decoder = w.finish("(b, p, end)")
    return decoder


def decode_length(w: Writer, short: str) -> None:
    """Leaves the length in n: -1 for null."""
    if w.flexible:
        w.emit("n = b[p]")
        w.emit("if n < 128: p += 1")
        w.emit("else: n, p = read_uvarint(b, p)")
        w.emit("n -= 1")
    else:
        structure = w.struct(short)
        w.emit(f"n, = {structure}.unpack_from(b, p)")
        w.emit(f"p += {w.names[structure].size}")


def decode_value(w: Writer, field: Field, target: str, kind: str, nullable: bool) -> None:
    if kind in FIXED:
        structure = w.struct(FIXED[kind])
        w.emit(f"{target}, = {structure}.unpack_from(b, p)")
        w.emit(f"p += {w.names[structure].size}")
    elif kind in ("string", "bytes", "records"):
        decode_bytes(w, target, kind, nullable, field.name)
    elif kind.startswith("[]"):
        decode_array(w, field, target, kind[2:], nullable)
    elif nullable:
        w.emit("present, = " + w.struct("b") + ".unpack_from(b, p)")
        w.emit("p += 1")
        absent = "present < 1" if field in w.tagged else "present < 0"
        w.emit(f"if {absent}: {target} = None")
        w.emit("else:")
        w.indent += 1
        decode_struct(w, target, kind)
        w.indent -= 1
    else:
        decode_struct(w, target, kind)


def decode_struct(w: Writer, target: str, kind: str) -> None:
    w.names[f"d_{kind}"] = codec.decoder(w.inner_class(kind), w.version)
    w.emit(f"{target}, p = d_{kind}(b, p, end)")


def decode_bytes(w: Writer, target: str, kind: str, nullable: bool, name: str) -> None:
    decode_length(w, "h" if kind == "string" else "i")
    null = f"{target} = None" if nullable else f"refuse_null({name!r})"
    w.emit(f"if n < 0: {null}")
    w.emit("else:")
    w.emit("    q = p + n")
    w.emit("    if q > end: refuse_count(n, end - p)")
    take = {"string": "str(b[p:q], 'utf-8')", "bytes": "bytes(b[p:q])", "records": "b[p:q]"}[kind]
    w.emit(f"    {target} = {take}")
    w.emit("    p = q")


def decode_array(w: Writer, field: Field, target: str, inner: str, nullable: bool) -> None:
    decode_length(w, "i")
    null = f"{target} = None" if nullable else f"refuse_null({field.name!r})"
    w.emit(f"if n < 0: {null}")
    w.emit("else:")
    w.indent += 1
    w.emit(f"if n * {least_size(w, inner)} > end - p: refuse_count(n, end - p)")
    w.emit(f"{target} = []")
    w.emit("for _ in range(n):")
    w.indent += 1
    if inner in FIXED or inner in ("string", "bytes"):
        decode_value(w, field, "x", inner, nullable=False)
    else:
        decode_struct(w, "x", inner)
    w.emit(f"{target}.append(x)")
    w.indent -= 2


def least_size(w: Writer, inner: str) -> int:
    """No element takes fewer bytes: so a count can be checked before it is believed."""
    if inner in FIXED:
        return Struct(">" + FIXED[inner]).size
    if inner in ("string", "bytes"):
        return 1 if w.flexible else {"string": 2, "bytes": 4}[inner]
    inside = Writer(w.inner_class(inner), w.version)
    total = 1 if inside.flexible else 0
    for field in inside.plain:
        if field.kind in FIXED:
            total += Struct(">" + FIXED[field.kind]).size
        else:
            total += 1
    return max(total, 1)


def decode_tags(w: Writer) -> None:
    w.names["defaults"] = w.cls()
    for field in w.tagged:
        w.emit(f"f_{field.name} = defaults.{field.name}")
    w.emit("count, p = read_uvarint(b, p)")
    w.emit("for _ in range(count):")
    w.indent += 1
    w.emit("tag, p = read_uvarint(b, p)")
    w.emit("size, p = read_uvarint(b, p)")
    w.emit("after = p + size")
    w.emit("if after > end: refuse_count(size, end - p)")
    for number, field in enumerate(w.tagged):
        w.emit(f"{'el' if number else ''}if tag == {field.tag}:")
        w.indent += 1
        decode_value(w, field, f"f_{field.name}", field.kind, w.version in field.nullable)
        w.indent -= 1
    w.emit("p = after")
    w.indent -= 1

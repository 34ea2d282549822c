"""Protobuf's messages as Spark's types, and the plan by which `ProtobufMessages.java` reads them.

Pure, over descriptors of Google's library. No value changes: what is unsigned has room, an enum is
its name, a well-known message the value that it stands for. What may be absent may be null; a
field that cannot tell is its default.
"""

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ottla.pipelines.formats.avro_types import NotReadable
from ottla.pipelines.formats.schema import Field, Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

# by FieldDescriptorProto.Type
BYTES, ENUM, GROUP, MESSAGE = 12, 14, 10, 11
_SCALARS = {
    1: "DOUBLE",
    2: "FLOAT",
    3: "BIGINT",
    4: "DECIMAL(20, 0)",  # uint64
    5: "INT",
    6: "DECIMAL(20, 0)",  # fixed64
    7: "BIGINT",  # fixed32
    8: "BOOLEAN",
    9: "STRING",
    BYTES: "BINARY",
    13: "BIGINT",  # uint32
    ENUM: "STRING",
    15: "INT",
    16: "BIGINT",
    17: "INT",
    18: "BIGINT",
}
_WRAPPERS = frozenset(
    f"google.protobuf.{kind}Value"
    for kind in ["Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes"]
)
_KNOWN = {
    "google.protobuf.Timestamp": ("timestamp", "TIMESTAMP"),
    "google.protobuf.Duration": ("duration", "INTERVAL DAY TO SECOND"),
    "google.type.Date": ("date", "DATE"),
}
DECIMAL = "confluent.type.Decimal"
_META = 1088  # the number of Confluent's own option of a field


# --- types


Within = tuple[str, ...]  # the messages that a field stands in, the outermost first


def columns(message: "Descriptor", depth: int = 0) -> Schema:
    """`depth` is how often a message may stand on the way to a field; 0: none contains itself."""
    within = (message.full_name,)
    found = tuple(
        Field(one.name, _type(one, within, depth)) for one in kept(message, within, depth)
    )
    if message.fields and not found:
        raise NotReadable(f"nothing is left of {message.full_name}: it holds but itself")
    return found


def kept(message: "Descriptor", within: Within, depth: int) -> "list[FieldDescriptor]":
    """The fields of a message but those that lead deeper into themselves than is asked for."""
    return [one for one in message.fields if not _is_too_deep(one, within, depth)]


def _is_too_deep(field: "FieldDescriptor", within: Within, depth: int) -> bool:
    if is_map(field):
        field = field.message_type.fields[1]
    if field.type not in (MESSAGE, GROUP) or known_as(field):
        return False
    name = field.message_type.full_name
    if name in within and not depth:
        raise NotReadable(
            f"{name} contains itself, which no type of Spark's does: recursion= says how often"
        )
    return bool(depth) and within.count(name) >= depth


def _type(field: "FieldDescriptor", within: Within, depth: int) -> str:
    if is_map(field):
        key, value = field.message_type.fields
        return f"MAP<{_SCALARS[key.type]}, {_one(value, within, depth)}>"
    one = _one(field, within, depth)
    return f"ARRAY<{one}>" if field.is_repeated else one


def _one(field: "FieldDescriptor", within: Within, depth: int) -> str:
    if field.type not in (MESSAGE, GROUP):
        return _SCALARS[field.type]
    message = field.message_type
    if message.full_name in _WRAPPERS:
        return _SCALARS[message.fields[0].type]
    if message.full_name in _KNOWN:
        return _KNOWN[message.full_name][1]
    if (size := decimal_of(field)) is not None:
        return f"DECIMAL({size[0]}, {size[1]})"
    inside = (*within, message.full_name)
    fields = kept(message, inside, depth)
    return f"STRUCT<{', '.join(f'`{one.name}`: {_type(one, inside, depth)}' for one in fields)}>"


def is_map(field: "FieldDescriptor") -> bool:
    return (
        field.is_repeated
        and field.type == MESSAGE
        and bool(field.message_type.GetOptions().map_entry)
    )


def decimal_of(field: "FieldDescriptor") -> tuple[int, int] | None:
    """Precision and scale, where the field's options say them: Confluent's own, by number."""
    if field.message_type.full_name != DECIMAL:
        return None
    params = _params(field.GetOptions().SerializeToString())
    try:
        return int(params["precision"]), int(params.get("scale", "0"))
    except (KeyError, ValueError):
        return None


def _params(options: bytes) -> dict[str, str]:
    """`params` of `confluent.field_meta`; what of options the library has no class for."""
    found: dict[str, str] = {}
    for number, meta in _parts(options):
        if number == _META:
            for inner, entry in _parts(meta):
                if inner == 2:
                    pair = dict(_parts(entry))
                    found[pair.get(1, b"").decode()] = pair.get(2, b"").decode()
    return found


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields that have a length; others are passed over."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 2:
            size, at = _varint(data, at)
            yield tag >> 3, data[at : at + size]
            at += size
        elif tag & 7 == 0:
            _, at = _varint(data, at)
        else:
            at += 8 if tag & 7 == 1 else 4


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            return value, at


# --- the plan


def plan(message: "Descriptor", depth: int = 0) -> list[dict[str, Any]]:
    """All messages that the first one needs; fields name them by their place."""
    return _Plan(message, depth).types


class _Plan:
    def __init__(self, message: "Descriptor", depth: int) -> None:
        self._depth = depth
        self._places: dict[tuple[str, str, Within], int] = {}
        self.types: list[dict[str, Any]] = []
        self._add(message, "", ())

    def _add(self, message: "Descriptor", how: str, within: Within) -> int:
        """A message that may contain itself is another one in every depth: it has other fields."""
        inside = (*within, message.full_name)
        key = (message.full_name, how, tuple(sorted(inside)) if self._depth else ())
        if key not in self._places:
            place = self._places[key] = len(self.types)
            self.types.append({"name": message.full_name, "as": how})
            fields = message.fields if how else kept(message, inside, self._depth)
            self.types[place]["fields"] = [self._field(one, inside) for one in fields]
        return self._places[key]

    def _field(self, field: "FieldDescriptor", within: Within) -> dict[str, Any]:
        of_map = field.containing_type.GetOptions().map_entry
        chosen = field.containing_oneof
        enum = field.enum_type
        is_message = field.type in (MESSAGE, GROUP)
        return {
            "name": field.name,
            "number": field.number,
            "kind": field.type,
            "many": field.is_repeated and not is_map(field),
            "map": is_map(field),
            "presence": field.has_presence,
            "required": field.is_required,
            "packed": field.is_packed,
            "oneof": -1 if chosen is None else chosen.index,
            "type": self._type(field, within) if is_message else -1,
            "closed": enum is not None and enum.is_closed,
            "enum": [] if enum is None else [[one.number, one.name] for one in enum.values],
            "default": _default(field) if of_map or not _may_be_null(field) else None,
        }

    def _type(self, field: "FieldDescriptor", within: Within) -> int:
        return self._add(field.message_type, known_as(field), within)


def known_as(field: "FieldDescriptor") -> str:
    """What of Spark's a message is; empty for a row."""
    name = field.message_type.full_name
    if name in _WRAPPERS:
        return "wrapper"
    if name in _KNOWN:
        return _KNOWN[name][0]
    return "decimal" if decimal_of(field) is not None else ""


def _may_be_null(field: "FieldDescriptor") -> bool:
    """A declared default takes the place of what is absent."""
    return field.is_repeated or (field.has_presence and not field.has_default_value)


def _default(field: "FieldDescriptor") -> str | None:
    value = field.default_value
    if field.type in (MESSAGE, GROUP):
        return None
    if field.type == BYTES:
        return base64.b64encode(value).decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))
    return str(value)

"""Messages with a field of every kind, drawn, and what Spark's rows of them are in Python."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from hypothesis import strategies as st

_NUMBERS = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool"),
)
_SCALARS = (*_NUMBERS, "string", "bytes")


def _fields(label: str, prefix: str, first: int, kinds: tuple[str, ...] = _SCALARS) -> str:
    more = {"loose": " [packed = false]", "packed": " [packed = true]"}.get(prefix, "")
    return "\n".join(
        f"  {label} {kind} {prefix}_{kind} = {first + at}{more};" for at, kind in enumerate(kinds)
    )


_MAPS = "\n".join(
    f"  map<{key}, {value}> map_{at} = {400 + at};"
    for at, (key, value) in enumerate(
        [("string", "int64"), ("int32", "string"), ("bool", "bytes"), ("uint64", "Colour"),
         ("sint64", "Inner"), ("fixed32", "google.protobuf.Timestamp")]
    )
)  # fmt: skip
MANY = f"""
syntax = "proto3";
package drawn;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/any.proto";
import "google/type/date.proto";
message Many {{
{_fields("", "plain", 1)}
{_fields("optional", "maybe", 101)}
{_fields("repeated", "many", 201)}
{_fields("repeated", "loose", 2001, _NUMBERS)}
  Colour colour = 301;
  optional Colour maybe_colour = 302;
  repeated Colour colours = 303;
  Inner inner = 304;
  repeated Inner inners = 305;
  google.protobuf.Timestamp at = 306;
  repeated google.protobuf.Timestamp times = 307;
  google.protobuf.Duration span = 308;
  google.protobuf.UInt64Value wrapped = 309;
  google.protobuf.StringValue text = 310;
  google.protobuf.BoolValue flag = 311;
  google.type.Date day = 312;
  google.protobuf.Any any = 313;
  oneof choice {{
    int32 number = 314;
    string word = 315;
    Inner nested = 316;
  }}
{_MAPS}
}}
enum Colour {{
  NONE = 0;
  RED = 1;
  BLUE = -7;
}}
message Inner {{
  int64 n = 1;
  optional string s = 536870911;
  message Deep {{ repeated sint32 xs = 1; }}
  Deep deep = 3;
}}
"""
MANY_2 = f"""
syntax = "proto2";
package drawn2;
message Many {{
  required int64 id = 1;
{_fields("optional", "maybe", 101)}
{_fields("repeated", "many", 201)}
{_fields("repeated", "packed", 2001, _NUMBERS)}
  optional Colour colour = 301;
  repeated Colour colours = 302;
  optional group Pair = 303 {{
    optional string left = 1;
    optional double right = 2;
  }}
  repeated group Row = 304 {{ optional int32 x = 1; }}
}}
enum Colour {{ RED = 1; BLUE = 2; }}
"""
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_BOUNDS = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_SINT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_SFIXED32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_FIXED32: (0, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_SINT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_SFIXED64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.TYPE_FIXED64: (0, 2**64 - 1),
}
_LARGE = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@st.composite
def messages(draw: Any, kind: Any) -> Any:
    """A message with some of its fields set."""
    message = kind()
    _fill(draw, message, kind.DESCRIPTOR)
    return message


def _fill(draw: Any, message: Any, descriptor: Descriptor) -> None:
    fields = list(descriptor.fields)
    chosen = draw(st.lists(st.sampled_from(fields), max_size=12, unique_by=lambda f: f.number))
    for field in [*(one for one in fields if one.is_required), *chosen]:
        if field.is_repeated and field.message_type and field.message_type.GetOptions().map_entry:
            _fill_map(draw, getattr(message, field.name), field.message_type)
        elif field.message_type is not None:
            held = getattr(message, field.name)
            for _ in range(draw(st.integers(0, 3)) if field.is_repeated else 1):
                inner = held.add() if field.is_repeated else held
                inner.SetInParent()
                _fill_known(draw, inner, field.message_type)
        elif field.is_repeated:
            getattr(message, field.name).extend(draw(st.lists(_scalar(field), max_size=4)))
        else:
            setattr(message, field.name, draw(_scalar(field)))


def _fill_map(draw: Any, held: Any, entry: Descriptor) -> None:
    key, value = entry.fields
    for one in draw(st.lists(_scalar(key), max_size=3, unique=True)):
        if value.message_type is None:
            held[one] = draw(_scalar(value))
        else:
            _fill_known(draw, held[one], value.message_type)


def _fill_known(draw: Any, message: Any, descriptor: Descriptor) -> None:
    match descriptor.full_name:
        case "google.protobuf.Timestamp":
            micros = draw(st.integers(-(10**15), 10**15))
            message.seconds, message.nanos = micros // 10**6, micros % 10**6 * 1000
        case "google.protobuf.Duration":
            micros = draw(st.integers(-(10**15), 10**15))
            sign = -1 if micros < 0 else 1
            message.seconds = sign * (abs(micros) // 10**6)
            message.nanos = sign * (abs(micros) % 10**6 * 1000)
        case "google.type.Date":
            day = draw(st.dates(date(1600, 1, 1)))
            message.year, message.month, message.day = day.year, day.month, day.day
        case _:
            _fill(draw, message, descriptor)


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.type in _BOUNDS:
        return st.integers(*_BOUNDS[field.type])
    if field.type == FieldDescriptor.TYPE_ENUM:
        known = [one.number for one in field.enum_type.values]
        return st.sampled_from(known if field.enum_type.is_closed else [*known, 99])
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return st.floats(allow_nan=False)
    if field.type == FieldDescriptor.TYPE_FLOAT:
        return st.floats(allow_nan=False, width=32)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    return _TEXT if field.type == FieldDescriptor.TYPE_STRING else st.binary(max_size=8)


def columns_as_python(message: Any) -> dict[str, Any]:
    """What Spark hands out for the row of a message."""
    return {field.name: _column(message, field) for field in message.DESCRIPTOR.fields}


def _column(message: Any, field: FieldDescriptor) -> Any:
    held = getattr(message, field.name)
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = field.message_type.fields
            return {_value(one, key): _value(held[one], value) for one in held}
        return [_value(one, field) for one in held]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _value(held, field)


def _value(value: Any, field: FieldDescriptor) -> Any:
    if field.type in _LARGE:
        return Decimal(value)
    if field.type == FieldDescriptor.TYPE_ENUM:
        names = field.enum_type.values_by_number
        return names[value].name if value in names else str(value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return bytearray(value)
    if field.message_type is None:
        return value
    match field.message_type.full_name:
        case "google.protobuf.Timestamp":
            at = _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
            return at.astimezone().replace(tzinfo=None)
        case "google.protobuf.Duration":
            return timedelta(seconds=value.seconds, microseconds=value.nanos / 1000)
        case "google.type.Date":
            return date(value.year, value.month, value.day)
        case name if name.startswith("google.protobuf.") and name.endswith("Value"):
            return _value(value.value, field.message_type.fields[0])
    return columns_as_python(value)

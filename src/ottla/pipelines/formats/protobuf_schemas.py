"""The Protobuf schema of rows, as the text of a file.

Pure. A field keeps the number that earlier versions gave it: by the number, not by the name, are
its bytes known. A number that is out of use is not given again.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ottla.pipelines.formats.avro_types import NotWritable

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor
    from pyspark.sql.types import DataType

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OURS = range(19000, 20000)  # Protobuf's own
Numbers = Mapping[str, Mapping[str, int]]  # of fields, by the path of a message and their names


def numbers_of(message: "Descriptor", path: str = "") -> dict[str, dict[str, int]]:
    """What an earlier version gave to its fields; of names that are out of use as well."""
    found = {path: {one.name: one.number for one in message.fields}}
    for at, span in enumerate(_reserved(message)):
        found[path] |= {f"reserved {at} {number}": number for number in span}
    for inner in message.nested_types:
        if not inner.GetOptions().map_entry:
            found |= numbers_of(inner, f"{path}.{inner.name}")
    return found


def _reserved(message: "Descriptor") -> Iterable[range]:
    from google.protobuf.descriptor_pb2 import DescriptorProto

    proto = DescriptorProto()
    message.CopyToProto(proto)
    return [range(one.start, min(one.end, one.start + 1000)) for one in proto.reserved_range]


def text_of(fields: Iterable[Any], message: str, numbers: Numbers) -> str:
    """A file with one message, of these columns."""
    package, _, name = message.rpartition(".")
    if not all(_NAME.fullmatch(part) for part in message.split(".")):
        raise NotWritable(f"Protobuf has no message of the name {message!r}")
    writer = _Writer(numbers)
    body = writer.message(list(fields), name, "", "")
    head = ['syntax = "proto3";']
    head += [f"package {package};"] if package else []
    head += [f'import "{one}";' for one in sorted(writer.imports)]
    return "\n".join([*head, "", *body, ""])


class _Writer:
    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self.imports: set[str] = set()

    def message(self, fields: list[Any], name: str, path: str, indent: str) -> list[str]:
        given = dict(self._numbers.get(path, {}))
        nested: list[str] = []
        lines: list[str] = []
        for field in fields:
            if not _NAME.fullmatch(field.name):
                raise NotWritable(f"Protobuf has no field of the name {field.name!r}: rename() it")
            number = given.setdefault(field.name, _next(given.values()))
            kind, options, inner = self._field(field, path, f"{indent}  ")
            nested += inner
            lines.append(f"{indent}  {kind} {field.name} = {number}{options};")
        gone = sorted(set(given.values()) - {given[field.name] for field in fields})
        if gone:
            lines.append(f"{indent}  reserved {', '.join(map(str, gone))};")
        return [f"{indent}message {name} {{", *nested, *lines, f"{indent}}}"]

    def _field(self, field: Any, path: str, indent: str) -> tuple[str, str, list[str]]:
        from pyspark.sql import types as t

        name = f"{_camel(field.name)}Row"
        match field.dataType:
            case t.ArrayType(elementType=element):
                kind, options, inner = self._one(element, name, path, indent)
                return f"repeated {kind}", options, inner
            case t.MapType(keyType=key, valueType=value):
                kind, options, inner = self._one(value, name, path, indent)
                return f"map<{_key(key)}, {kind}>", options, inner
            case type:
                kind, options, inner = self._one(type, name, path, indent)
                scalar = not isinstance(type, t.StructType) and "." not in kind
                label = "optional " if field.nullable and scalar else ""
                return f"{label}{kind}", options, inner

    def _one(
        self, type: "DataType", name: str, path: str, indent: str
    ) -> tuple[str, str, list[str]]:
        from pyspark.sql import types as t

        match type:
            case t.StructType(fields=fields):
                return name, "", self.message(fields, name, f"{path}.{name}", indent)
            case t.TimestampType():
                return self._imported(
                    "google/protobuf/timestamp.proto", "google.protobuf.Timestamp"
                )
            case t.DayTimeIntervalType():
                return self._imported("google/protobuf/duration.proto", "google.protobuf.Duration")
            case t.DateType():
                return self._imported("google/type/date.proto", "google.type.Date")
            case t.DecimalType(precision=precision, scale=scale):
                self.imports.add("confluent/meta.proto")
                kind, _, inner = self._imported(
                    "confluent/type/decimal.proto", "confluent.type.Decimal"
                )
                params = (("precision", precision), ("scale", scale))
                said = ", ".join(f'{{ key: "{key}", value: "{one}" }}' for key, one in params)
                return kind, f" [(confluent.field_meta) = {{ params: [{said}] }}]", inner
            case t.ArrayType() | t.MapType():
                raise NotWritable("Protobuf has no list of lists or maps: make the inner a struct")
        return _scalar(type), "", []

    def _imported(self, file: str, kind: str) -> tuple[str, str, list[str]]:
        self.imports.add(file)
        return kind, "", []


def _next(given: Iterable[int]) -> int:
    number = max(given, default=0) + 1
    return _OURS.stop if number in _OURS else number


def _camel(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) or "_"


def _key(type: "DataType") -> str:
    from pyspark.sql import types as t

    if isinstance(type, t.StringType | t.IntegerType | t.LongType | t.BooleanType):
        return _scalar(type)
    raise NotWritable(f"Protobuf has no map by {type.simpleString()}")


def _scalar(type: "DataType") -> str:
    from pyspark.sql import types as t

    match type:
        case t.BooleanType():
            return "bool"
        case t.ByteType() | t.ShortType() | t.IntegerType():
            return "int32"
        case t.LongType():
            return "int64"
        case t.FloatType():
            return "float"
        case t.DoubleType():
            return "double"
        case t.StringType():
            return "string"
        case t.BinaryType():
            return "bytes"
    raise NotWritable(f"Protobuf has no type for {type.simpleString()}")

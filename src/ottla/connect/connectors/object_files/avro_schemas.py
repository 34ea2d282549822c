"""Connect's schemas and values in Avro's form, as Confluent's AvroData has them. Pure."""

from typing import Any

from ottla.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Field, Schema, Struct, Type
from ottla.connect.logical import scale_of

_PRIMITIVES = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_DEFAULT_NAME = "io.confluent.connect.avro.ConnectDefault"


def avro_schema(schema: Schema) -> Any:
    return _Names().schema(schema)


class _Names:
    """Avro's records have names, each of them once."""

    def __init__(self) -> None:
        self._used: dict[str, Schema] = {}

    def schema(self, schema: Schema) -> Any:
        plain = self._plain(schema)
        return ["null", plain] if schema.optional else plain

    def _plain(self, schema: Schema) -> Any:
        match schema.name:
            case name if name == DECIMAL:
                scale = scale_of(schema)
                return {
                    "type": "bytes",
                    "logicalType": "decimal",
                    "precision": 64,
                    "scale": scale,
                }
            case name if name == DATE:
                return {"type": "int", "logicalType": "date"}
            case name if name == TIME:
                return {"type": "int", "logicalType": "time-millis"}
            case name if name == TIMESTAMP:
                return {"type": "long", "logicalType": "timestamp-millis"}
        match schema.type:
            case Type.STRUCT:
                return self._record(schema)
            case Type.ARRAY:
                return {"type": "array", "items": self._inner(schema.value_schema)}
            case Type.MAP:
                return self._map(schema)
            case Type.INT8 | Type.INT16:
                return {"type": "int", "connect.type": schema.type.value}
        return _PRIMITIVES[schema.type]

    def _inner(self, schema: Schema | None) -> Any:
        return "null" if schema is None else self.schema(schema)

    def _map(self, schema: Schema) -> Any:
        if _by_text(schema):
            return {"type": "map", "values": self._inner(schema.value_schema)}
        entry = self._name("io.confluent.connect.avro.MapEntry", schema)
        fields = [
            {"name": "key", "type": self._inner(schema.key_schema)},
            {"name": "value", "type": self._inner(schema.value_schema)},
        ]
        return {"type": "array", "items": {"type": "record", "name": entry, "fields": fields}}

    def _record(self, schema: Schema) -> Any:
        wanted = schema.name or _DEFAULT_NAME
        if self._used.get(wanted) == schema:
            return wanted
        name = self._name(wanted, schema)
        return {
            "type": "record",
            "name": name,
            "fields": [self._field(one) for one in schema.fields],
        }

    def _field(self, field: Field) -> Any:
        made = {"name": field.name, "type": self.schema(field.schema)}
        return made | {"default": None} if field.schema.optional else made

    def _name(self, wanted: str, schema: Schema) -> str:
        name, number = wanted, 1
        while name in self._used:
            number += 1
            name = f"{wanted}{number}"
        self._used[name] = schema
        return name


def _by_text(schema: Schema) -> bool:
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and not keys.optional


def avro_value(schema: Schema | None, value: Any) -> Any:
    if value is None and schema is not None:
        value = schema.default
    match value:
        case Struct():
            return {
                one.name: avro_value(one.schema, value.values.get(one.name))
                for one in value.schema.fields
            }
        case list():
            return [avro_value(None if schema is None else schema.value_schema, x) for x in value]
        case dict() if schema is not None:
            keys, values = schema.key_schema, schema.value_schema
            if _by_text(schema):
                return {key: avro_value(values, one) for key, one in value.items()}
            return [
                {"key": avro_value(keys, key), "value": avro_value(values, one)}
                for key, one in value.items()
            ]
    return value

"""Default values of fields as Avro's schemas have them: JSON, bytes as text of Latin-1. Pure."""

import math
from typing import Any

from ottla.connect.converters.avro_names import is_text_map, is_union, scrubbed
from ottla.connect.converters.avro_options import AvroOptions
from ottla.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Struct, Type
from ottla.connect.java_text import float32_text
from ottla.connect.logical import days, decimal_bytes, epoch_ms, time_ms


def default_json(schema: Schema | None, value: Any, options: AvroOptions) -> Any:
    if value is None or schema is None:
        return None
    match schema.name:
        case name if name == DECIMAL:
            value = decimal_bytes(schema, value)
        case name if name == DATE:
            value = days(value)
        case name if name == TIME:
            value = time_ms(value)
        case name if name == TIMESTAMP:
            value = epoch_ms(value)
    match schema.type:
        case Type.BYTES:
            return value.decode("latin-1")
        case Type.FLOAT32:
            return float(float32_text(value)) if math.isfinite(value) else str(value)
        case Type.FLOAT64:
            return value if math.isfinite(value) else str(value)
        case Type.ARRAY:
            return [default_json(schema.value_schema, one, options) for one in value]
        case Type.MAP:
            keys, values = schema.key_schema, schema.value_schema
            if is_text_map(schema, options.optional_map_keys):
                return {key: default_json(values, one, options) for key, one in value.items()}
            return [
                [default_json(keys, key, options), default_json(values, one, options)]
                for key, one in value.items()
            ]
        case Type.STRUCT:
            return _struct_json(schema, value, options)
    return value


def _struct_json(schema: Schema, value: Struct, options: AvroOptions) -> Any:
    held = {
        one.name: default_json(one.schema, value.get(one.name), options) for one in schema.fields
    }
    if is_union(schema):
        return next(iter(held.values()), None)  # a union's default is of its first type
    return {scrubbed(one) if options.scrub else one: held[one] for one in held}


_KINDS: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "bytes": (str,),
    "string": (str,),
    "fixed": (str,),
    "enum": (str,),
    "array": (list,),
    "map": (dict,),
    "record": (dict,),
}


def is_valid_default(avro: Any, default: Any) -> bool:
    """Whether Avro takes it: what it does not take is left out."""
    if isinstance(avro, list):
        return any(is_valid_default(one, default) for one in avro)
    kind = avro if isinstance(avro, str) else avro["type"]
    return _is_of_kind(kind, default) and _holds_valid(avro, kind, default)


def _is_of_kind(kind: str, default: Any) -> bool:
    wanted = _KINDS.get(kind, (dict, str))  # a name that was defined before
    return isinstance(default, wanted) and (bool in wanted or not isinstance(default, bool))


def _holds_valid(avro: Any, kind: str, default: Any) -> bool:
    match kind:
        case "array":
            return all(is_valid_default(avro["items"], one) for one in default)
        case "map":
            return all(is_valid_default(avro["values"], one) for one in default.values())
        case "record":
            return all(
                is_valid_default(one["type"], default.get(one["name"], one.get("default")))
                for one in avro["fields"]
            )
    return True

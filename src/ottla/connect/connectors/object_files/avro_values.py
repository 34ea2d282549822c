"""Values of Connect as fastavro takes them, by a schema of `converters.avro_schemas`. Pure."""

from typing import Any

from ottla.connect.converters.avro_names import is_text_map, is_union
from ottla.connect.data import Schema, Struct


def avro_value(schema: Schema | None, value: Any) -> Any:
    if value is None and schema is not None:
        value = schema.default
    match value:
        case Struct() if is_union(value.schema):
            members = ((one.schema, value.values.get(one.name)) for one in value.schema.fields)
            return next((avro_value(*one) for one in members if one[1] is not None), None)
        case Struct():
            return {
                one.name: avro_value(one.schema, value.values.get(one.name))
                for one in value.schema.fields
            }
        case list():
            return [avro_value(None if schema is None else schema.value_schema, x) for x in value]
        case dict() if schema is not None:
            keys, values = schema.key_schema, schema.value_schema
            if is_text_map(schema, optional_keys=False):
                return {key: avro_value(values, one) for key, one in value.items()}
            return [
                {"key": avro_value(keys, key), "value": avro_value(values, one)}
                for key, one in value.items()
            ]
    return value

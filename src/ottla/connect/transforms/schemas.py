"""What transforms make of schemas: copies with other fields, and the recent ones remembered."""

from collections.abc import Callable, Iterable
from typing import Any

from ottla.connect.data import DataError, Field, Schema, Struct, Type, check_value
from ottla.connect.definitions import Key, Kind

_REMEMBERED = 16

REPLACE_NULL = Key(
    name="replace.null.with.default",
    kind=Kind.BOOLEAN,
    default=True,
    doc="Whether a null of a field with a default becomes the default.",
)


class SchemaCache:
    """By identity: a converter gives the same schema again for the same bytes."""

    def __init__(self, make: Callable[[Schema], Schema]) -> None:
        self._make = make
        self._known: dict[int, tuple[Schema, Schema]] = {}

    def get(self, schema: Schema) -> Schema:
        known = self._known.get(id(schema))
        if known is not None and known[0] is schema:
            return known[1]
        made = self._make(schema)
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[id(schema)] = (schema, made)
        return made


def basics(schema: Schema) -> dict[str, Any]:
    """Name, version, doc and parameters: whether it is optional is not among them."""
    return {
        "name": schema.name,
        "version": schema.version,
        "doc": schema.doc,
        "parameters": schema.parameters,
    }


def fields_of(schema: Schema) -> tuple[Field, ...]:
    if schema.type is not Type.STRUCT:
        raise DataError("Cannot list fields on non-struct type")
    return schema.fields


def struct_schema(fields: Iterable[tuple[str, Schema]], **parts: Any) -> Schema:
    found: dict[str, Field] = {}
    for name, schema in fields:
        if not name:
            raise DataError("fieldName cannot be null.")
        if name in found:
            raise DataError(f"Cannot create field because of field name duplication {name}")
        found[name] = Field(name, schema)
    return Schema(type=Type.STRUCT, fields=tuple(found.values()), **parts)


def with_default(schema: Schema, default: Any) -> Schema:
    """DataError unless the default fits."""
    try:
        check_value(schema, default)
    except DataError as error:
        raise DataError("Invalid default value") from error
    parts = {name: getattr(schema, name) for name in Schema.__dataclass_fields__}
    return Schema(**(parts | {"default": default}))


def value_of(struct: Struct, name: str, replace_null: bool) -> Any:
    return struct.get(name) if replace_null else struct.without_default(name)

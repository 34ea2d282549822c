"""Avro's schemas as Connect's, as Confluent's converter has them. Pure.

Types that hold themselves have no schema in Connect here, and are refused.
"""

import base64
import logging
from dataclasses import replace
from typing import Any

from ottla.connect.converters.avro_names import (
    ANYTHING,
    DEFAULT_NAME,
    ENUM,
    ENUM_DEFAULT,
    ENUM_DOC,
    FIELD_DEFAULT,
    FIELD_DOC,
    FIXED_SIZE,
    INTERNAL_TYPE,
    MAP_ENTRY,
    PRECISION,
    PRECISION_DEFAULT,
    RECORD_DOC,
    UNION,
    full_name,
    scrubbed,
)
from ottla.connect.converters.avro_options import AvroOptions
from ottla.connect.converters.avro_types import AvroField, AvroType
from ottla.connect.data import (
    DATE,
    DATE_SCHEMA,
    DECIMAL,
    STRING_SCHEMA,
    TIME,
    TIME_SCHEMA,
    TIMESTAMP,
    TIMESTAMP_SCHEMA,
    DataError,
    Field,
    Schema,
    Struct,
    Type,
    check_value,
    decimal_schema,
)
from ottla.connect.java_text import single
from ottla.connect.logical import date_of, decimal_of, time_of, timestamp_of

_log = logging.getLogger(__name__)
_NARROW = {"int8": Type.INT8, "int16": Type.INT16}
_LOGICAL = {
    ("int", "date"): DATE_SCHEMA,
    ("int", "time-millis"): TIME_SCHEMA,
    ("long", "timestamp-millis"): TIMESTAMP_SCHEMA,
}
_PRIMITIVES = {
    "boolean": Type.BOOLEAN,
    "int": Type.INT32,
    "long": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
    "string": Type.STRING,
}
Parts = dict[str, Any]  # of a Schema


def connect_schema(
    avro: AvroType, options: AvroOptions, version: int | None = None
) -> Schema | None:
    """None: its values have none. `version`: the subject's, of a schema that names none itself."""
    if avro.kind == "record" and avro.name == ANYTHING:
        return None
    return _Making(options).schema(avro, version=version)


def optional_branch(avro: AvroType) -> AvroType | None:
    """Of a union of a type and null: the type."""
    others = [one for one in avro.branches if one.kind != "null"]
    return others[0] if len(avro.branches) == 2 and len(others) == 1 else None


def is_map_entry(avro: AvroType) -> bool:
    said = avro.attributes.get(INTERNAL_TYPE)
    return avro.kind == "record" and (avro.name == MAP_ENTRY or said == "MapEntry")


class _Making:
    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._open: list[AvroType] = []  # those that this one stands within

    def schema(
        self,
        avro: AvroType,
        *,
        optional: bool = False,
        field: AvroField | None = None,
        version: int | None = None,
    ) -> Schema:
        if avro.kind == "union":
            if len(avro.branches) == 1 and self._options.flatten_singletons:
                return self.schema(avro.branches[0])
            if (there := optional_branch(avro)) is not None:
                return self.schema(there, optional=True)
        if avro in self._open:
            raise DataError(f"{avro.name} holds itself: such schemas are not read here")
        self._open.append(avro)
        parts = self._plain(avro)
        self._open.pop()
        parts |= self._metadata(avro, parts, version)
        own = field is not None and field.has_default
        if own and self._options.meta_data and "connect.default" not in avro.attributes:
            parts["parameters"] = {**parts.get("parameters", {}), FIELD_DEFAULT: "true"}
        if optional:
            parts["optional"] = True
        return _with_default(Schema(**parts), avro, field)

    # --- types

    def _plain(self, avro: AvroType) -> Parts:
        match avro.kind:
            case "int" | "long":
                return _integer(avro)
            case "bytes" | "fixed":
                return _bytes(avro)
            case "array":
                return self._array(avro)
            case "map":
                inner = self._inner(avro.inner)
                return {"type": Type.MAP, "key_schema": STRING_SCHEMA, "value_schema": inner}
            case "record":
                return self._record(avro)
            case "enum":
                return self._enum(avro)
            case "union":
                return self._union(avro)
            case "null":
                raise DataError("Standalone null schemas are not supported by this converter")
        return {"type": _PRIMITIVES[avro.kind]}

    def _inner(self, avro: AvroType | None) -> Schema:
        assert avro is not None
        return self.schema(avro)

    def _array(self, avro: AvroType) -> Parts:
        items = avro.inner
        assert items is not None
        if not is_map_entry(items):
            return {"type": Type.ARRAY, "value_schema": self._inner(items)}
        by_name = {one.name: one.type for one in items.fields}
        if by_name.keys() != {"key", "value"}:
            raise DataError(
                "Found map encoded as array of key-value pairs, but array elements do not match "
                "the expected format."
            )
        keys, values = self._inner(by_name["key"]), self._inner(by_name["value"])
        return {"type": Type.MAP, "key_schema": keys, "value_schema": values}

    def _record(self, avro: AvroType) -> Parts:
        meta = self._options.meta_data
        parameters: dict[str, str] = {}
        if meta and avro.doc is not None:
            parameters[RECORD_DOC] = avro.doc
        fields = []
        for one in avro.fields:
            if meta and one.doc is not None:
                parameters[FIELD_DOC + one.name] = one.doc
            schema = self.schema(one.type, field=one)
            more = one.attributes.get("connect.parameters")
            if meta and isinstance(more, dict):
                told = {str(name): str(said) for name, said in more.items()}
                schema = replace(schema, parameters={**(schema.parameters or {}), **told})
            fields.append(Field(one.name, schema))
        return {"type": Type.STRUCT, "fields": tuple(fields)} | _if_any(parameters)

    def _enum(self, avro: AvroType) -> Parts:
        parameters: dict[str, str] = {}
        if self._options.meta_data and avro.doc is not None:
            parameters[ENUM_DOC + avro.short_name] = avro.doc
        if self._options.meta_data and avro.symbol_default is not None:
            parameters[ENUM_DEFAULT + avro.short_name] = avro.symbol_default
        parameters[ENUM] = avro.name
        parameters |= {f"{ENUM}.{one}": one for one in avro.symbols}
        return {"type": Type.STRING, "parameters": parameters}

    def _union(self, avro: AvroType) -> Parts:
        """A struct with an optional field for each type, one of which is there."""
        parts: Parts = {"type": Type.STRUCT, "name": UNION}
        fields: dict[str, Field] = {}
        for one in avro.branches:
            if one.kind == "null":
                parts["optional"] = True
                continue
            name = self._member(one)
            if name in fields:
                raise DataError("Multiple union schemas map to the Connect union field name")
            fields[name] = Field(name, self.schema(one, optional=True))
        return parts | {"fields": tuple(fields.values())}

    def _member(self, avro: AvroType) -> str:
        if avro.kind not in ("record", "enum", "fixed"):
            return avro.kind
        if self._options.enhanced:
            return full_name(avro.name, False)
        return scrubbed(avro.short_name) if self._options.scrub else avro.short_name

    # --- what stands beside a type

    def _metadata(self, avro: AvroType, parts: Parts, version: int | None) -> Parts:
        said, found = avro.attributes, Parts()
        if self._options.meta_data and isinstance(said.get("connect.doc"), str):
            found["doc"] = said["connect.doc"]
        told = said.get("connect.version", version)
        if told is not None and not isinstance(told, int):
            raise DataError(f"Invalid Connect version found: {told}")
        if told is not None and "version" not in parts:
            found["version"] = told
        parameters = dict(parts.get("parameters", {}))
        if self._options.meta_data and "connect.parameters" in said:
            parameters |= _parameters(said["connect.parameters"])
        parameters |= {name: _text(one) for name, one in said.items() if name.startswith("avro")}
        return found | _if_any(parameters) | _name(avro, parts)


def _if_any(parameters: dict[str, str]) -> Parts:
    return {"parameters": parameters} if parameters else {}


def _name(avro: AvroType, parts: Parts) -> Parts:
    name = avro.attributes.get("connect.name")
    if name is None and avro.name and parts.get("name") != DECIMAL:
        name = avro.name
    if name is None:
        return {}
    if not isinstance(name, str):
        raise DataError(f"Invalid schema name: {name}")
    if name.startswith(DEFAULT_NAME):
        return {}
    if parts.get("name", name) != name:
        raise DataError(
            f"Mismatched names: name already added to SchemaBuilder ({parts['name']}) "
            f"differs from name in source schema ({name})"
        )
    return {"name": name}


def _integer(avro: AvroType) -> Parts:
    logical = avro.attributes.get("logicalType")
    found = _LOGICAL.get((avro.kind, str(logical).lower()))
    if found is not None:
        return {"type": found.type, "name": found.name, "version": 1}
    said = avro.attributes.get("connect.type")
    if avro.kind == "int" and said is not None and logical is None:
        if said not in _NARROW:
            raise DataError("Connect type annotation for Avro int field is null")
        return {"type": _NARROW[said]}
    return {"type": _PRIMITIVES[avro.kind]}


def _bytes(avro: AvroType) -> Parts:
    parts: Parts = {"type": Type.BYTES}
    parameters: dict[str, str] = {}
    if str(avro.attributes.get("logicalType")).lower() == "decimal":
        scale = avro.attributes.get("scale")
        schema = decimal_schema(scale if isinstance(scale, int) else 0)
        parts |= {"name": DECIMAL, "version": 1}
        parameters |= schema.parameters or {}
        precision = avro.attributes.get("precision")
        if precision is not None and precision != PRECISION_DEFAULT:
            parameters[PRECISION] = str(precision)
    if avro.kind == "fixed":
        parameters[FIXED_SIZE] = str(avro.size)
    return parts | _if_any(parameters)


def _parameters(said: Any) -> dict[str, str]:
    if not isinstance(said, dict):
        raise DataError(f"Expected JSON object for schema parameters but found: {said}")
    for one in said.values():
        if not isinstance(one, str):
            raise DataError(f"Expected schema parameter values to be strings but found: {one}")
    return said


def _text(said: Any) -> str:
    return said if isinstance(said, str) else str(said)


# --- defaults


def _with_default(schema: Schema, avro: AvroType, field: AvroField | None) -> Schema:
    """One that does not fit is left out, with a word in the log."""
    own = field is not None and field.has_default
    said = field.default if own and field is not None else avro.attributes.get("connect.default")
    if said is None:
        return schema
    try:
        value = _default(schema, avro, said)
        check_value(schema, value)
    except (DataError, ValueError, TypeError, AttributeError, KeyError) as error:
        _log.warning("The default of %s is left out: %r", avro.name or avro.kind, error)
        return schema
    return replace(schema, default=value)


def _default(schema: Schema, avro: AvroType, said: Any) -> Any:
    match avro.kind:
        case "union":
            return _union_default(schema, avro, said)
        case "bytes" | "fixed":
            data = said.encode("latin-1") if isinstance(said, str) else base64.b64decode(said)
            return decimal_of(schema, data) if schema.name == DECIMAL else data
        case "float":
            return single(float(said))
        case "double":
            return float(said)
        case "array" if schema.type is Type.ARRAY and isinstance(said, list):
            return [_inner_default(schema.value_schema, avro.inner, one) for one in said]
        case "array":
            raise DataError("Invalid JSON for array default value")
        case "map":
            inner = schema.value_schema
            return {name: _inner_default(inner, avro.inner, one) for name, one in said.items()}
        case "record":
            held = {
                one.name: _inner_default(within.schema, one.type, said.get(one.name, one.default))
                for one, within in zip(avro.fields, schema.fields, strict=True)
            }
            return Struct(schema, held)
    dates = {DATE: date_of, TIME: time_of, TIMESTAMP: timestamp_of}
    return dates[schema.name](said) if schema.name in dates else said


def _inner_default(schema: Schema | None, avro: AvroType | None, said: Any) -> Any:
    assert schema is not None
    assert avro is not None
    if said is None:
        return schema.default
    if avro.kind == "union":
        avro = optional_branch(avro) or avro
    return _default(schema, avro, said)


def _union_default(schema: Schema, avro: AvroType, said: Any) -> Any:
    """Of the first type that takes it."""
    branches = (one for one in avro.branches if one.kind != "null")
    for one, field in zip(branches, schema.fields, strict=True):
        try:
            value = _default(field.schema, one, said)
            check_value(field.schema, value)
        except (DataError, ValueError, TypeError, AttributeError, KeyError):
            continue
        return Struct(schema, {field.name: value})
    raise DataError("Did not find matching union field for data")

"""A schema of Connect as one of Avro's, in JSON, as Confluent's converter makes it. Pure.

Attributes stand in Confluent's order: a registry that compares texts then gives the same id.
"""

from dataclasses import replace
from typing import Any

from ottla.connect.converters.avro_defaults import default_json, is_valid_default
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
    LOGICAL,
    MAP_ENTRY,
    PRECISION,
    PRECISION_DEFAULT,
    RECORD_DOC,
    full_name,
    is_allowed,
    is_enum,
    is_fixed,
    is_text_map,
    is_union,
    scrubbed,
)
from ottla.connect.converters.avro_options import AvroOptions
from ottla.connect.data import DECIMAL, DataError, Field, Schema, Type
from ottla.connect.logical import scale_of

PRIMITIVES = {
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
_NARROW = {Type.INT8: "int8", Type.INT16: "int16"}


def _maybe(kind: str) -> list[Any]:
    return ["null", kind]


ANYTHING_SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Anything",
    "namespace": "io.confluent.connect.avro",
    "fields": [
        *(
            {"name": kind, "type": _maybe(kind), "default": None}
            for kind in ("boolean", "bytes", "double", "float", "int", "long", "string")
        ),
        {
            "name": "array",
            "type": ["null", {"type": "array", "items": ANYTHING}],
            "default": None,
        },
        {
            "name": "map",
            "type": [
                "null",
                {
                    "type": "array",
                    "items": {
                        "type": "record",
                        "name": "MapEntry",
                        "namespace": "io.confluent.connect.avro",
                        "fields": [
                            {"name": "key", "type": ANYTHING},
                            {"name": "value", "type": ANYTHING},
                        ],
                    },
                },
            ],
            "default": None,
        },
    ],
}


def avro_schema(schema: Schema | None, options: AvroOptions) -> Any:
    """Without a schema every value is an `Anything`."""
    return ANYTHING_SCHEMA if schema is None else _Making(options).schema(schema)


def record_name(avro: Any) -> str:
    """As a subject has it: the full name, or the type's where it has none."""
    if isinstance(avro, list):
        return "union"
    if isinstance(avro, str):
        return avro
    if "name" not in avro:
        return str(avro["type"])
    return f"{avro['namespace']}.{avro['name']}" if avro.get("namespace") else str(avro["name"])


class _Making:
    """Of one schema: Avro defines a name once and then refers to it."""

    def __init__(self, options: AvroOptions) -> None:
        self._options = options
        self._defined: dict[str, Schema] = {}  # by full name
        self._unnamed = 0
        self._seen: set[str] = set()

    def schema(self, schema: Schema) -> Any:
        if is_union(schema):
            members = [self._plain(replace(one.schema, optional=False)) for one in schema.fields]
            return ["null", *members] if schema.optional else members
        plain = self._plain(replace(schema, optional=False) if schema.optional else schema)
        if not schema.optional:
            return plain
        first = schema.default is not None and schema.type is not Type.STRUCT
        return [plain, "null"] if first else ["null", plain]

    def _plain(self, schema: Schema) -> Any:
        match schema.type:
            case Type.STRUCT:
                return self.schema(schema) if is_union(schema) else self._record(schema)
            case Type.ARRAY:
                made = {"type": "array", "items": self._inner(schema.value_schema)}
            case Type.MAP:
                made = self._map(schema)
            case Type.STRING if self._options.enhanced and is_enum(schema):
                return self._enum(schema)
            case Type.BYTES:
                if is_fixed(schema) and (known := self._known(schema.name or "", schema)):
                    return known
                made = self._bytes(schema)
            case _:
                made = {"type": PRIMITIVES[schema.type]}
        made |= self._metadata(schema)
        return made["type"] if len(made) == 1 else made

    def _inner(self, schema: Schema | None) -> Any:
        return ANYTHING_SCHEMA if schema is None else self.schema(schema)

    # --- named types

    def _record(self, schema: Schema) -> Any:
        known = self._known(schema.name, schema)
        if known is not None:
            return known
        made = self._named("record", schema.name, schema)
        parameters = schema.parameters or {}
        if RECORD_DOC in parameters:
            made["doc"] = parameters[RECORD_DOC]
        made["fields"] = [
            self._field(one, parameters.get(FIELD_DOC + one.name)) for one in schema.fields
        ]
        return made | self._metadata(schema)

    def _field(self, field: Field, doc: str | None = None) -> Any:
        name = scrubbed(field.name) if self._options.scrub else field.name
        if not is_allowed(name) or "." in name:
            raise DataError(f"Illegal character in: {name}")
        again = field.schema.name is not None and field.schema.name in self._seen
        if field.schema.name is not None:
            self._seen.add(field.schema.name)
        made: dict[str, Any] = {"name": name, "type": self.schema(field.schema)}
        if doc is not None:
            made["doc"] = doc
        if field.schema.default is not None:
            default = default_json(field.schema, field.schema.default, self._options)
            if is_valid_default(made["type"], default):
                made["default"] = default
        elif field.schema.optional:
            made["default"] = None
        parameters = self._parameters(field.schema)
        if again and parameters and self._options.meta_data and _is_named(made["type"]):
            made["connect.parameters"] = parameters
        return made

    def _enum(self, schema: Schema) -> Any:
        parameters = schema.parameters or {}
        name = parameters[ENUM]
        known = self._known(name, schema)
        if known is not None:
            return known
        short = (schema.name or "").rpartition(".")[2]
        if schema.name is None:
            self._unnamed += 1
        made = self._named("enum", name, schema)
        if f"{ENUM_DOC}{short}" in parameters:
            made["doc"] = parameters[f"{ENUM_DOC}{short}"]
        prefix = f"{ENUM}."
        made["symbols"] = [one.removeprefix(prefix) for one in parameters if one.startswith(prefix)]
        if f"{ENUM_DEFAULT}{short}" in parameters:
            made["default"] = parameters[f"{ENUM_DEFAULT}{short}"]
        return made | self._metadata(schema)

    def _bytes(self, schema: Schema) -> dict[str, Any]:
        parameters = schema.parameters or {}
        made: dict[str, Any] = {"type": "bytes"}
        if is_fixed(schema):
            made = self._named("fixed", schema.name, schema)
            made["size"] = int(parameters[FIXED_SIZE])
        if schema.name == DECIMAL:
            made["scale"] = scale_of(schema)
            made["precision"] = int(parameters.get(PRECISION, PRECISION_DEFAULT))
        return made

    def _map(self, schema: Schema) -> dict[str, Any]:
        if is_text_map(schema, self._options.optional_map_keys):
            return {"type": "map", "values": self._inner(schema.value_schema)}
        assert schema.key_schema is not None
        assert schema.value_schema is not None
        name = schema.name or MAP_ENTRY
        known = self._known(name, schema) if self._same_entry(name, schema) else None
        if known is not None:
            return {"type": "array", "items": known}
        number = 1
        while name in self._defined:  # entries of other types have been here
            number += 1
            name = f"{schema.name or MAP_ENTRY}{number}"
        made = self._named("record", name, schema)
        made["fields"] = [
            self._field(Field("key", schema.key_schema)),
            self._field(Field("value", schema.value_schema)),
        ]
        if name != MAP_ENTRY:
            made[INTERNAL_TYPE] = "MapEntry"
        return {"type": "array", "items": made}

    def _same_entry(self, name: str, schema: Schema) -> bool:
        known = self._defined.get(full_name(name, self._options.scrub))
        if known is None:
            return False
        return (known.key_schema, known.value_schema) == (schema.key_schema, schema.value_schema)

    def _known(self, name: str | None, schema: Schema) -> str | None:
        """The name under which the same was defined before."""
        if name is None:
            same = (one for one, known in self._defined.items() if known == schema)
            return next((one for one in same if one.startswith(DEFAULT_NAME)), None)
        full = full_name(name, self._options.scrub)
        known = self._defined.get(full)
        if known is None:
            return None
        # What differs in default, documentation or parameters is the same type for Avro.
        if known.fields != schema.fields or known.type is not schema.type:
            raise DataError(f"Can't redefine: {full}")
        return full

    def _named(self, kind: str, name: str | None, schema: Schema) -> dict[str, Any]:
        if name is None:
            self._unnamed += 1
            name = DEFAULT_NAME if self._unnamed == 1 else f"{DEFAULT_NAME}{self._unnamed}"
        full = full_name(name, self._options.scrub)
        if not is_allowed(full):
            raise DataError(f"Illegal character in: {full}")
        self._defined[full] = schema
        namespace, _, short = full.rpartition(".")
        return {"type": kind, "name": short, "namespace": namespace}

    # --- what only Connect knows

    def _metadata(self, schema: Schema) -> dict[str, Any]:
        made: dict[str, Any] = {}
        parameters = schema.parameters or {}
        if self._options.meta_data:
            made |= {"connect.doc": schema.doc, "connect.version": schema.version}
            made["connect.parameters"] = self._parameters(schema) or None
            if schema.default is not None and FIELD_DEFAULT not in parameters:
                made["connect.default"] = default_json(schema, schema.default, self._options)
            made |= {"connect.name": schema.name, "connect.type": _NARROW.get(schema.type)}
        made = {name: one for name, one in made.items() if one is not None}
        if schema.name in LOGICAL:
            made["logicalType"] = LOGICAL[schema.name]
        return made | {name: one for name, one in parameters.items() if name.startswith("avro")}

    def _parameters(self, schema: Schema) -> dict[str, str]:
        said = schema.parameters or {}
        return {name: one for name, one in said.items() if name != FIELD_DEFAULT}


def _is_named(avro: Any) -> bool:
    if isinstance(avro, list):
        return any(_is_named(one) for one in avro)
    if isinstance(avro, str):
        return avro not in PRIMITIVES.values() and avro != "null"
    return avro["type"] in ("record", "enum", "fixed")

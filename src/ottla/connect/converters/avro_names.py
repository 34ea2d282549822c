"""How AvroConverter names things in Avro, and which schemas of Connect stand for Avro's own. Pure.

`io.confluent.connect.avro.…` and `connect.…` are Confluent's words: what is written here is read by
its converter, and the other way round.
"""

import re
from typing import Final
from urllib.parse import quote_plus

from ottla.connect.data import DATE, DECIMAL, TIME, TIMESTAMP, Schema, Type

NAMESPACE: Final = "io.confluent.connect.avro"
DEFAULT_NAME: Final = f"{NAMESPACE}.ConnectDefault"
MAP_ENTRY: Final = f"{NAMESPACE}.MapEntry"
ANYTHING: Final = f"{NAMESPACE}.Anything"
UNION: Final = f"{NAMESPACE}.Union"
ENUM: Final = f"{NAMESPACE}.Enum"  # a text's parameter: the enum's name; its symbols are `….SYMBOL`
RECORD_DOC: Final = f"{NAMESPACE}.record.doc"
FIELD_DOC: Final = f"{NAMESPACE}.field.doc."
ENUM_DOC: Final = f"{NAMESPACE}.enum.doc."
ENUM_DEFAULT: Final = f"{NAMESPACE}.enum.default."
FIELD_DEFAULT: Final = f"{NAMESPACE}.field.default"  # the default is Avro's own, of a field
FIXED_SIZE: Final = "connect.fixed.size"
PRECISION: Final = "connect.decimal.precision"
PRECISION_DEFAULT: Final = 64
INTERNAL_TYPE: Final = "connect.internal.type"
LOGICAL: Final = {
    DECIMAL: "decimal",
    DATE: "date",
    TIME: "time-millis",
    TIMESTAMP: "timestamp-millis",
}
_ALLOWED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_union(schema: Schema) -> bool:
    return schema.type is Type.STRUCT and schema.name == UNION


def is_enum(schema: Schema) -> bool:
    return schema.type is Type.STRING and ENUM in (schema.parameters or ())


def is_fixed(schema: Schema) -> bool:
    named = schema.type is Type.BYTES and schema.name is not None
    return named and FIXED_SIZE in (schema.parameters or ())


def is_text_map(schema: Schema, optional_keys: bool) -> bool:
    """Whether it is Avro's map; else it is an array of entries."""
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and (optional_keys or not keys.optional)


def full_name(name: str, scrub: bool) -> str:
    parts = [one for one in name.split(".") if one] or [name]
    return ".".join(scrubbed(one) for one in parts) if scrub else ".".join(parts)


def scrubbed(name: str) -> str:
    """A name that Avro allows: as in a URL, with underscores for what is still wrong."""
    if not name or _ALLOWED.fullmatch(name):
        return name
    quoted = quote_plus(name, safe="*-._").replace("~", "%7E")
    if quoted[0].isdigit():
        quoted = f"x{quoted}"
    return re.sub("[^A-Za-z0-9_]", "_", quoted)


def is_allowed(name: str) -> bool:
    return all(_ALLOWED.fullmatch(one) for one in name.split("."))

"""JSON as Avro's values: text for bytes, decimals and moments, unions without a label, defaults.

Pure. Schemas are fastavro's, parsed; what does not fit is left as it is, for fastavro to say so.
"""

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_MOMENTS = (
    "timestamp-millis",
    "timestamp-micros",
    "local-timestamp-millis",
    "local-timestamp-micros",
)
Fits = Callable[[Any, Any], bool]


class AvroValues:
    def __init__(self, names: Mapping[str, Any], fits: Fits) -> None:
        self._names = names
        self._fits = fits  # whether a value is one of a schema

    def of(self, value: Any, schema: Any) -> Any:
        if isinstance(schema, list):
            return self._of_union(value, schema)
        if isinstance(schema, str):
            named = self._names.get(schema)
            return self.of(value, named) if named is not None else _simple(value, schema, {})
        match schema["type"], value:
            case "record" | "error", dict():
                return self._record(value, schema)
            case "array", list():
                return [self.of(one, schema["items"]) for one in value]
            case "map", dict():
                return {name: self.of(one, schema["values"]) for name, one in value.items()}
            case (dict() | list()) as inner, _:
                return self.of(value, inner)
        return _simple(value, schema["type"], schema)

    def _record(self, value: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(value)
        for field in schema["fields"]:
            name, kind = field["name"], field["type"]
            if name in value:
                made[name] = self.of(value[name], kind)
            elif "default" in field:
                first = kind[0] if isinstance(kind, list) else kind
                made[name] = self._default(field["default"], first)
        return made

    def _default(self, value: Any, schema: Any) -> Any:
        """Bytes in a schema are text, and so are a decimal's digits."""
        named = self._names.get(schema, schema) if isinstance(schema, str) else schema
        kind = named["type"] if isinstance(named, dict) else named
        if kind not in ("bytes", "fixed") or not isinstance(value, str):
            return self.of(value, schema)
        raw = value.encode("latin-1")
        if isinstance(named, dict) and named.get("logicalType") == "decimal":
            digits = int.from_bytes(raw, "big", signed=True)
            return Decimal(digits).scaleb(-named.get("scale", 0))
        return raw

    def _of_union(self, value: Any, choices: list[Any]) -> Any:
        for one in choices:
            made = self.of(value, one)
            if self._fits(made, one):
                return made
        return value


def _simple(value: Any, kind: Any, schema: Mapping[str, Any]) -> Any:
    logical = schema.get("logicalType")
    if kind in ("bytes", "fixed") and logical == "decimal":
        try:
            return Decimal(str(value))
        except InvalidOperation:
            return value
    if not isinstance(value, str):
        return value
    try:
        if kind in ("bytes", "fixed"):
            return value.encode("latin-1")
        if logical == "date":
            return datetime.date.fromisoformat(value)
        if logical in _MOMENTS:
            return datetime.datetime.fromisoformat(value)
    except ValueError:  # of which UnicodeEncodeError is one
        return value
    return value

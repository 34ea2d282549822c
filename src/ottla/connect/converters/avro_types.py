"""Schemas of Avro as trees, every name resolved, with the attributes that Avro knows nothing of.

Pure. A registry has checked them before: what is read here is not judged again.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ottla.connect.data import DataError

_OWN = {
    "record": ("type", "name", "namespace", "fields", "doc", "aliases"),
    "error": ("type", "name", "namespace", "fields", "doc", "aliases"),
    "enum": ("type", "name", "namespace", "symbols", "doc", "aliases", "default"),
    "fixed": ("type", "name", "namespace", "size", "doc", "aliases"),
    "array": ("type", "items"),
    "map": ("type", "values"),
}
_PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")


@dataclass(slots=True, eq=False)
class AvroType:
    kind: str  # `record`, `enum`, `union`, … or the name of a primitive
    name: str = ""  # whole, of named types
    doc: str | None = None
    fields: tuple["AvroField", ...] = ()
    branches: tuple["AvroType", ...] = ()
    inner: "AvroType | None" = None  # of arrays and maps
    symbols: tuple[str, ...] = ()
    size: int = 0
    symbol_default: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class AvroField:
    name: str
    type: AvroType
    doc: str | None
    has_default: bool
    default: Any  # JSON
    attributes: Mapping[str, Any]


def parse_avro(text: str, references: Iterable[str] = ()) -> AvroType:
    """`references`: texts that define names which this one uses, each after what it needs."""
    names: dict[str, AvroType] = {}
    try:
        for one in references:
            _Parsing(names).type(json.loads(one), "")
        return _Parsing(names).type(json.loads(text), "")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"A schema of Avro cannot be read: {error!r}") from None


class _Parsing:
    def __init__(self, names: dict[str, AvroType]) -> None:
        self._names = names

    def type(self, node: Any, namespace: str) -> AvroType:
        match node:
            case str():
                return self._called(node, namespace)
            case list():
                branches = tuple(self.type(one, namespace) for one in node)
                return AvroType("union", branches=branches)
            case {"type": str(kind)} if kind in _OWN:
                return self._made(kind, node, namespace)
            case {"type": str(kind)} if kind in _PRIMITIVES:
                more = {name: one for name, one in node.items() if name != "type"}
                return AvroType(kind, attributes=more)
            case {"type": inner}:
                return self.type(inner, namespace)
        raise ValueError(node)

    def _called(self, name: str, namespace: str) -> AvroType:
        if name in _PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        found = self._names.get(full) or self._names.get(name)
        if found is None:
            raise ValueError(f"{name} is not defined")
        return found

    def _made(self, kind: str, node: dict[str, Any], namespace: str) -> AvroType:
        made = AvroType("record" if kind == "error" else kind)
        made.attributes = {name: one for name, one in node.items() if name not in _OWN[kind]}
        if kind in ("array", "map"):
            made.inner = self.type(node["items" if kind == "array" else "values"], namespace)
            return made
        name = node["name"]
        if "." not in name:
            within = node.get("namespace", namespace)
            name = f"{within}.{name}" if within else name
        made.name, made.doc = name, node.get("doc")
        self._names[name] = made  # before its fields, which may speak of it
        if kind == "enum":
            made.symbols = tuple(node["symbols"])
            made.symbol_default = node.get("default")
        elif kind == "fixed":
            made.size = int(node["size"])
        else:
            space = name.rpartition(".")[0]
            made.fields = tuple(self._field(one, space) for one in node["fields"])
        return made

    def _field(self, node: dict[str, Any], namespace: str) -> AvroField:
        known = ("name", "type", "doc", "default", "order", "aliases")
        return AvroField(
            node["name"],
            self.type(node["type"], namespace),
            node.get("doc"),
            "default" in node,
            node.get("default"),
            {name: one for name, one in node.items() if name not in known},
        )

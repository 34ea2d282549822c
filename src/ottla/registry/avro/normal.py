"""The normal form of a schema: full names, and attributes sorted wherever their order says nothing.

What Confluent's registry stores where a schema is registered with `normalize=true`.
"""

from collections.abc import Iterable
from typing import Any

from ottla.registry.avro.tree import NAMED, NOTHING, Field, Type
from ottla.serving import java_json

_DECIMAL = ("precision", "scale")


def normal_text(root: Type, known: Iterable[str] = ()) -> str:
    return java_json.text_of(_type(root, set(known)))


def _type(found: Type, known: set[str]) -> Any:
    if found.kind == "union":
        return [_type(branch, known) for branch in found.items]
    if found.kind in ("array", "map"):
        within = "items" if found.kind == "array" else "values"
        held = {"type": found.kind, within: _type(found.items[0], known)}
        return held | _logical(found) | _sorted(found.props)
    if found.kind not in NAMED:
        if not found.props:
            return found.kind
        return {"type": found.kind} | _logical(found) | _sorted(found.props)
    if found.full_name in known:
        return found.full_name
    known.add(found.full_name)
    return _definition(found, known)


def _definition(found: Type, known: set[str]) -> dict[str, Any]:
    written: dict[str, Any] = {"name": found.full_name, "type": found.kind}
    match found.kind:
        case "enum":
            written["symbols"] = list(found.symbols)
        case "fixed":
            written["size"] = found.size
        case "record":
            written["fields"] = [_field(one, known) for one in found.fields]
    written |= _logical(found)
    if found.doc:
        written["doc"] = found.doc
    if found.aliases:
        written["aliases"] = sorted(found.aliases)
    if found.default is not None:
        written["default"] = found.default
    return written | _sorted(found.props)


def _field(one: Field, known: set[str]) -> dict[str, Any]:
    written: dict[str, Any] = {"name": one.name, "type": _type(one.type, known)}
    written["order"] = one.order.upper()
    if one.doc is not None:
        written["doc"] = one.doc
    if one.aliases:
        written["aliases"] = sorted(one.aliases)
    if one.default is not NOTHING:
        written["default"] = _deep_sorted(one.default)
    return written | _sorted(one.props)


def _logical(found: Type) -> dict[str, Any]:
    """A logical type comes first of the properties."""
    name = found.props.get("logicalType")
    if not isinstance(name, str):
        return {}
    written: dict[str, Any] = {"logicalType": name}
    if name == "decimal":
        written |= {key: found.props[key] for key in _DECIMAL if found.props.get(key)}
    return written


def _sorted(props: dict[str, Any]) -> dict[str, Any]:
    return {name: _deep_sorted(props[name]) for name in sorted(props)}


def _deep_sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _deep_sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_deep_sorted(one) for one in value]
    return value

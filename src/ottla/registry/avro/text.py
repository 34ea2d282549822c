"""A schema's text as Apache Avro writes it, which is what the registry stores, and two others.

Attributes have a fixed order and types that were written, or are of a reference, appear by name:
white space and the order of attributes make no new schema.
"""

from collections.abc import Iterable
from typing import Any

from ottla.registry.avro.tree import NAMED, NOTHING, TYPE_NAMES, Field, Type
from ottla.serving import java_json


def canonical_text(root: Type, known: Iterable[str] = ()) -> str:
    """`known` are full names of types that others define."""
    return java_json.text_of(_Writer(set(known)).type(root, None))


def bare_text(root: Type) -> str:
    """Without what says nothing about data: whether two definitions are of the same type."""
    return java_json.text_of(_Writer(set(), bare=True).type(root, None))


class _Writer:
    def __init__(self, known: set[str], *, bare: bool = False) -> None:
        self._known = known
        self._bare = bare

    def type(self, found: Type, namespace: str | None) -> Any:
        match found.kind:
            case "union":
                return [self.type(branch, namespace) for branch in found.items]
            case "array" | "map":
                within = "items" if found.kind == "array" else "values"
                held = self.type(found.items[0], namespace)
                return {"type": found.kind, within: held, **found.props}
            case _ if found.kind not in NAMED:
                return {"type": found.kind, **found.props} if found.props else found.kind
        if found.full_name in self._known:
            return qualified_within(found.full_name, namespace)
        self._known.add(found.full_name)
        return self._definition(found, namespace)

    def _definition(self, found: Type, namespace: str | None) -> dict[str, Any]:
        written: dict[str, Any] = {"type": "error" if found.is_error else found.kind}
        written["name"] = found.name
        if (found.namespace or None) != namespace:
            written["namespace"] = found.namespace or ""
        if found.doc is not None and not self._bare:
            written["doc"] = found.doc
        match found.kind:
            case "record":
                written["fields"] = [self._field(one, found.namespace) for one in found.fields]
            case "enum":
                written["symbols"] = list(found.symbols)
                if found.default is not None:
                    written["default"] = found.default
            case "fixed":
                written["size"] = found.size
        written |= found.props
        if found.aliases and not self._bare:
            written["aliases"] = [
                qualified_within(alias, found.namespace) for alias in found.aliases
            ]
        return written

    def _field(self, one: Field, namespace: str | None) -> dict[str, Any]:
        written: dict[str, Any] = {"name": one.name, "type": self.type(one.type, namespace)}
        if one.doc is not None and not self._bare:
            written["doc"] = one.doc
        if one.default is not NOTHING:
            written["default"] = one.default
        if one.order != "ascending":
            written["order"] = one.order
        if one.aliases and not self._bare:
            written["aliases"] = list(one.aliases)
        return written | one.props


def qualified_within(full: str, namespace: str | None) -> str:
    """The short name where the namespace is the same, unless that would mean a type of Avro's."""
    space, _, short = full.rpartition(".")
    if space and space == namespace and short not in TYPE_NAMES:
        return short
    return full

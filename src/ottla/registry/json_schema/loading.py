"""A document as nodes.

Draft 4 to 2020-12 are read alike: a keyword has one meaning in all of them, or another name. What
a type does not know, it ignores.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import urljoin

from ottla.registry.json_schema import tree
from ottla.registry.json_schema.documents import Documents
from ottla.registry.json_schema.tree import NOTHING, Node
from ottla.registry.parsed import NotASchema
from ottla.serving import java_json

_CRITERIA = ("allOf", "anyOf", "oneOf")
_STRING = ("maxLength", "minLength", "pattern", "format")
_NUMBER = ("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "multipleOf")
_ARRAY = (
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "maxItems",
    "minItems",
    "uniqueItems",
    "contains",
    "maxContains",
    "minContains",
)
_OBJECT = (
    "properties",
    "required",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "maxProperties",
    "minProperties",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
)
_SNIFFED = {"string": _STRING, "array": _ARRAY, "object": _OBJECT, "number": _NUMBER}
_BESIDE_A_REF = frozenset(
    [
        "$id",
        "$ref",
        "$schema",
        "$comment",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
        "examples",
    ]
)
_MODERN = ("2019-09", "2020-12")


class Loader:
    """Each place of a document becomes one node, however it is reached."""

    def __init__(self, root: Any, references: Mapping[str, Any]) -> None:
        self._root = root
        self._documents = Documents(root, references)
        self._nodes: dict[int, Node] = {}
        dialect = root.get("$schema", "") if isinstance(root, dict) else ""
        self._modern = any(year in str(dialect) for year in _MODERN)

    def load(self) -> Node:
        return self._node(self._root, "")

    def _node(self, part: Any, base: str) -> Node:
        if isinstance(part, bool):
            return tree.Anything(source="true") if part else tree.Never(source="false")
        if not isinstance(part, dict):
            raise NotASchema(f"A schema is an object or a boolean, not {java_json.text_of(part)}")
        known = self._nodes.get(id(part))
        if known is None:
            known = self._nodes[id(part)] = self._made(part, base)
        return known

    def _made(self, part: dict[str, Any], base: str) -> Node:
        if isinstance(part.get("$id"), str):
            base = urljoin(base, part["$id"])
        if isinstance(part.get("$ref"), str):
            made = self._reference(part, base)
        else:
            made = self._without_reference(part, base)
        made.id = part.get("$id", part.get("id"))
        made.title = part.get("title")
        made.description = part.get("description")
        made.default = part.get("default", NOTHING)
        made.connect_type = part.get("connect.type")
        made.source = java_json.text_of(part)
        return made

    def _reference(self, part: dict[str, Any], base: str) -> Node:
        """Older drafts ignore what stands beside a reference."""
        reference = part["$ref"]
        self._documents.find(reference, base)

        def target() -> Node:
            at, found = self._documents.find(reference, base)
            return self._node(found, at)

        node = tree.Ref(target=target, source=java_json.text_of({"$ref": reference}))
        if not self._modern or part.keys() <= _BESIDE_A_REF:
            return node
        rest = {name: value for name, value in part.items() if name != "$ref"}
        return tree.Combined(criterion="allOf", of=[node, self._without_reference(rest, base)])

    def _without_reference(self, part: dict[str, Any], base: str) -> Node:
        found: list[Node] = []
        if isinstance(part.get("enum"), list):
            values = frozenset(_value(one) for one in part["enum"])
            found.append(tree.Enum(values=values))
        for criterion in _CRITERIA:
            if isinstance(part.get(criterion), list):
                held = [self._node(one, base) for one in part[criterion]]
                found.append(tree.Combined(criterion=criterion, of=held))
        if "not" in part:
            found.append(tree.Not(of=self._node(part["not"], base)))
        if "const" in part:
            found.append(tree.Const(value=_value(part["const"])))
        if "if" in part:
            found.append(tree.Conditional())
        found += self._typed(part, base)
        if not found:
            return tree.Anything()
        for one in found:
            one.source = one.source or java_json.text_of(part)
        return found[0] if len(found) == 1 else tree.Combined(criterion="allOf", of=found)

    def _typed(self, part: dict[str, Any], base: str) -> list[Node]:
        kind = part.get("type")
        if isinstance(kind, str):
            return [self._of_type(kind, part, base)]
        if isinstance(kind, list):
            held = [self._of_type(str(one), part, base) for one in kind]
            for one, name in zip(held, kind, strict=True):
                one.source = java_json.text_of({**part, "type": name})
            return [tree.Combined(criterion="anyOf", of=held)]
        return [
            self._of_type(name, part, base)
            for name, keywords in _SNIFFED.items()
            if any(keyword in part for keyword in keywords)
        ]

    def _of_type(self, kind: str, part: dict[str, Any], base: str) -> Node:
        match kind:
            case "string":
                return tree.String(
                    max_length=_count(part, "maxLength"),
                    min_length=_count(part, "minLength"),
                    pattern=part["pattern"] if isinstance(part.get("pattern"), str) else None,
                )
            case "number" | "integer":
                return _number(part, integer=kind == "integer")
            case "boolean":
                return tree.Boolean()
            case "null":
                return tree.Null()
            case "object":
                return self._object(part, base)
            case "array":
                return self._array(part, base)
        raise NotASchema(f"unknown type: [{kind}]")

    def _object(self, part: dict[str, Any], base: str) -> Node:
        additional = part.get("additionalProperties", True)
        names, schemas = self._dependencies(part, base)
        required = part.get("required")
        return tree.Object(
            properties=self._nodes_of(part, "properties", base),
            required=frozenset(required) if isinstance(required, list) else frozenset(),
            patterns=self._nodes_of(part, "patternProperties", base),
            additional=additional is not False,
            additional_schema=self._schema(additional, base),
            unevaluated=self._maybe(part, "unevaluatedProperties", base),
            max_properties=_count(part, "maxProperties"),
            min_properties=_count(part, "minProperties"),
            dependent_names=names,
            dependent_schemas=schemas,
        )

    def _dependencies(
        self, part: dict[str, Any], base: str
    ) -> tuple[dict[str, frozenset[str]], dict[str, Node]]:
        names: dict[str, frozenset[str]] = {}
        schemas: dict[str, Node] = {}
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
            held = part.get(keyword)
            for name, one in held.items() if isinstance(held, dict) else ():
                if isinstance(one, list):
                    names[name] = frozenset(one)
                else:
                    schemas[name] = self._node(one, base)
        return names, schemas

    def _array(self, part: dict[str, Any], base: str) -> Node:
        items, rest = part.get("items"), part.get("additionalItems", True)
        listed: list[Any] = []
        if isinstance(part.get("prefixItems"), list):
            listed, rest, items = part["prefixItems"], part.get("items", True), None
        elif isinstance(items, list):
            listed, items = items, None
        elif self._modern and isinstance(items, bool):
            rest, items = items, None
        return tree.Array(
            every=None if items is None else self._node(items, base),
            items=[self._node(one, base) for one in listed],
            additional=rest is not False,
            additional_schema=self._schema(rest, base),
            unevaluated=self._maybe(part, "unevaluatedItems", base),
            max_items=_count(part, "maxItems"),
            min_items=_count(part, "minItems"),
            unique=part.get("uniqueItems") is True,
            max_contains=_count(part, "maxContains"),
            min_contains=_count(part, "minContains"),
        )

    def _nodes_of(self, part: dict[str, Any], keyword: str, base: str) -> dict[str, Node]:
        held = part.get(keyword)
        if not isinstance(held, dict):
            return {}
        return {name: self._node(one, base) for name, one in held.items()}

    def _maybe(self, part: dict[str, Any], keyword: str, base: str) -> Node | None:
        return self._node(part[keyword], base) if keyword in part else None

    def _schema(self, part: Any, base: str) -> Node | None:
        """None for a boolean, which says only whether anything may be there."""
        return None if isinstance(part, bool) else self._node(part, base)


def _number(part: dict[str, Any], *, integer: bool) -> Node:
    """In draft 4 a boolean says that a limit is not within."""
    limits = {name: _decimal(part.get(name)) for name in _NUMBER}
    for which in ("maximum", "minimum"):
        exclusive = f"exclusive{which.capitalize()}"
        if part.get(exclusive) is True:
            limits[exclusive], limits[which] = limits[which], None
    return tree.Number(
        integer=integer,
        maximum=limits["maximum"],
        minimum=limits["minimum"],
        exclusive_maximum=limits["exclusiveMaximum"],
        exclusive_minimum=limits["exclusiveMinimum"],
        multiple_of=limits["multipleOf"],
    )


def _decimal(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(repr(value))


def _count(part: dict[str, Any], keyword: str) -> int | None:
    value = part.get(keyword)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def _value(value: Any) -> str:
    """Two values are the same whose texts are; 1.0 is 1."""
    return java_json.text_of(_normal(value))


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _normal(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_normal(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value

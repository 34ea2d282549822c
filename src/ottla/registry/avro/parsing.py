"""How a text becomes an Avro schema.

Names are resolved as Apache Avro 1.12 does: in the namespace where they stand, then without one;
also where the type is defined only later in the text.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ottla.registry.avro.text import bare_text
from ottla.registry.avro.tree import NOTHING, PRIMITIVES, Field, Type
from ottla.registry.bounds import DEPTH_MAX
from ottla.serving import java_json

_RESERVED = frozenset(
    ["doc", "fields", "items", "name", "namespace", "size", "symbols", "values", "type", "aliases"]
)
_FIELD_RESERVED = frozenset(["default", "doc", "name", "order", "type", "aliases"])
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ORDERS = ("ascending", "descending", "ignore")
_INT = range(-(2**31), 2**31)
_LONG = range(-(2**63), 2**63)


class NotAvro(ValueError):
    """Why a text is no Avro schema."""


def parse(text: str, references: Mapping[str, str], *, strict: bool = True) -> Type:
    """`references` are the texts of other schemas, in the order in which they need each other.

    `strict` also checks defaults, as for a schema that is new."""
    parser = Parser(strict=strict)
    for reference in references.values():
        parser.parse(reference)
    return parser.parse(text)


class Parser:
    """Keeps the names of what it has parsed."""

    def __init__(self, *, strict: bool = True) -> None:
        self._strict = strict
        self._known: dict[str, Type] = {}
        self._unresolved: list[_Unresolved] = []
        self._defaults: list[Field] = []

    def parse(self, text: str) -> Type:
        try:
            tree = java_json.parse(text)
        except java_json.NotJson as error:
            raise NotAvro(str(error)) from None
        root = [self._type(tree, None, 0)]
        self._resolve(root)
        if self._strict:
            for one in self._defaults:
                if not _is_default(one):
                    shown = java_json.text_of(one.default)
                    raise NotAvro(f"Invalid default for field {one.name}: {shown}")
        self._unresolved, self._defaults = [], []
        return root[0]

    def _type(self, tree: Any, namespace: str | None, depth: int) -> Type:
        if depth > DEPTH_MAX:
            raise NotAvro("The schema is nested too deeply")
        if isinstance(tree, str):
            return self._named(tree, namespace)
        if isinstance(tree, list):
            return self._union(tree, namespace, depth)
        if isinstance(tree, dict):
            return self._object(tree, namespace, depth)
        raise NotAvro(f"Schema not yet supported: {java_json.text_of(tree)}")

    def _object(self, tree: dict[str, Any], namespace: str | None, depth: int) -> Type:
        kind = tree.get("type")
        if not isinstance(kind, str):
            raise NotAvro(f"No type: {java_json.text_of(tree)}")
        match kind:
            case "record" | "error":
                return self._record(tree, namespace, depth)
            case "enum":
                return self._enum(tree, namespace)
            case "fixed":
                return self._fixed(tree, namespace)
            case "array" | "map":
                return self._container(tree, namespace, depth)
            case _ if kind in PRIMITIVES:
                return Type(kind, props=_props(tree, _RESERVED))
        raise NotAvro(
            'A schema "type" MUST be a primitive type or one of "enum", "fixed", "record", '
            '"error", "array" or "map".'
        )

    def _container(self, tree: dict[str, Any], namespace: str | None, depth: int) -> Type:
        kind = tree["type"]
        within = {"array": "items", "map": "values"}[kind]
        if within not in tree:
            raise NotAvro(f"{kind.capitalize()} has no {within} type: {java_json.text_of(tree)}")
        held = self._type(tree[within], namespace, depth + 1)
        return Type(kind, items=[held], props=_props(tree, _RESERVED))

    def _union(self, tree: list[Any], namespace: str | None, depth: int) -> Type:
        branches = [self._type(one, namespace, depth + 1) for one in tree]
        names = set()
        for branch in branches:
            if branch.kind == "union":
                raise NotAvro("Nested union")
            name = branch.full_name
            if name in names:
                raise NotAvro(f"Duplicate in union:{name}")
            names.add(name)
        return Type("union", items=branches)

    def _record(self, tree: dict[str, Any], namespace: str | None, depth: int) -> Type:
        found = self._with_name(tree, "record", namespace)
        found.is_error = tree["type"] == "error"
        fields = tree.get("fields")
        if not isinstance(fields, list):
            raise NotAvro(f"Record has no fields: {java_json.text_of(tree)}")
        names = set()
        for one in fields:
            parsed = self._field(one, found.namespace, depth + 1)
            if parsed.name in names:
                raise NotAvro(f"Duplicate field {parsed.name} in record {found.full_name}")
            names.add(parsed.name)
            found.fields.append(parsed)
        return self._define(found)

    def _field(self, tree: Any, namespace: str | None, depth: int) -> Field:
        if not isinstance(tree, dict) or not isinstance(tree.get("name"), str):
            raise NotAvro(f"No field name: {java_json.text_of(tree)}")
        if tree.get("type") is None:
            raise NotAvro(f"No field type: {java_json.text_of(tree)}")
        order = tree.get("order", "ascending")
        if not isinstance(order, str) or order.lower() not in _ORDERS:
            raise NotAvro(f"{java_json.text_of(order)} is no order of a field")
        kind = self._type(tree["type"], namespace, depth)
        found = Field(
            _checked(tree["name"]),
            kind,
            doc=_text(tree, "doc"),
            default=_default(kind, tree.get("default", NOTHING)),
            order=order.lower(),
            aliases=_aliases(tree),
            props=_props(tree, _FIELD_RESERVED),
        )
        if found.default is not NOTHING:
            self._defaults.append(found)
        return found

    def _enum(self, tree: dict[str, Any], namespace: str | None) -> Type:
        found = self._with_name(tree, "enum", namespace)
        symbols = tree.get("symbols")
        if not isinstance(symbols, list):
            raise NotAvro(f"Enum has no symbols: {java_json.text_of(tree)}")
        for symbol in symbols:
            if not isinstance(symbol, str):
                raise NotAvro("Null name")
            _checked(symbol)
        if len(set(symbols)) < len(symbols):
            twice = next(one for one in symbols if symbols.count(one) > 1)
            raise NotAvro(f"Duplicate enum symbol: {twice}")
        found.symbols = tuple(symbols)
        found.default = _text(tree, "default")
        if found.default is not None and found.default not in symbols:
            raise NotAvro(
                f"The Enum Default: {found.default} is not in the enum symbol set: "
                f"[{', '.join(symbols)}]"
            )
        found.props.pop("default", None)
        return self._define(found)

    def _fixed(self, tree: dict[str, Any], namespace: str | None) -> Type:
        found = self._with_name(tree, "fixed", namespace)
        size = tree.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or size not in _INT:
            raise NotAvro(f"Invalid or no size: {java_json.text_of(tree)}")
        if size < 0:
            raise NotAvro(f"Malformed data. Length is negative: {size}")
        found.size = size
        return self._define(found)

    def _with_name(self, tree: dict[str, Any], kind: str, namespace: str | None) -> Type:
        name = _text(tree, "name")
        if name is None:
            raise NotAvro(f"No name in schema: {java_json.text_of(tree)}")
        space = _text(tree, "namespace")
        space, short = _split(name, namespace if space is None else space)
        found = Type(
            kind,
            _checked(short),
            space,
            doc=_text(tree, "doc"),
            props=_props(tree, _RESERVED),
        )
        if found.full_name in PRIMITIVES:
            raise NotAvro(f"Schemas may not be named after primitives: {found.full_name}")
        found.aliases = tuple(dict.fromkeys(_full(alias, space) for alias in _aliases(tree)))
        return found

    def _define(self, found: Type) -> Type:
        known = self._known.get(found.full_name)
        if known is None:
            self._known[found.full_name] = found
            return found
        if bare_text(known) != bare_text(found):
            raise NotAvro(f"Can't redefine: {found.full_name}")
        return found

    def _named(self, name: str, namespace: str | None) -> Type:
        if name in PRIMITIVES:
            return Type(name)
        known = self._find(name, namespace)
        if known is not None:
            return known
        later = _Unresolved("unresolved", name=name, namespace=namespace)
        self._unresolved.append(later)
        return later

    def _find(self, name: str, namespace: str | None) -> Type | None:
        return self._known.get(_full(name, namespace)) or self._known.get(name.lstrip("."))

    def _resolve(self, root: list[Type]) -> None:
        """Put the types in the places where they were named before they were defined."""
        if not self._unresolved:
            return
        for place in _places(root):
            later = place.get()
            if isinstance(later, _Unresolved):
                known = self._find(later.name, later.namespace)
                if known is None:
                    missing = _full(later.name, later.namespace)
                    raise NotAvro(f"Undefined schema: {missing}")
                place.put(known)


@dataclass(slots=True, eq=False)
class _Unresolved(Type):
    """A name whose type has not been seen yet. `full_name` is only what it may become."""

    @property
    def full_name(self) -> str:
        return _full(self.name, self.namespace)


@dataclass(slots=True)
class _Place:
    """Where a type stands."""

    holder: Field | list[Type]
    at: int = 0

    def get(self) -> Type:
        return self.holder.type if isinstance(self.holder, Field) else self.holder[self.at]

    def put(self, known: Type) -> None:
        if isinstance(self.holder, Field):
            self.holder.type = known
        else:
            self.holder[self.at] = known


def _places(root: list[Type]) -> Iterator[_Place]:
    seen: set[int] = set()
    waiting = [_Place(root)]
    while waiting:
        place = waiting.pop()
        yield place
        found = place.get()
        if id(found) in seen:
            continue
        seen.add(id(found))
        waiting += [_Place(found.items, at) for at in range(len(found.items))]
        waiting += [_Place(one) for one in found.fields]


def _default(kind: Type, default: Any) -> Any:
    """A number that is written as a text, which Avro's Java takes for a float's default."""
    if kind.kind in ("float", "double") and isinstance(default, str):
        try:
            return float(default)
        except ValueError:
            raise NotAvro(f'For input string: "{default}"') from None
    return default


def _is_default(one: Field) -> bool:
    """A record whose default needs that same default has none."""
    try:
        return _fits(one.type, one.default)
    except RecursionError:
        return False


def _fits(kind: Type, value: Any) -> bool:
    """Whether a value is one of the type, as a default is written."""
    match kind.kind:
        case "string" | "bytes" | "enum" | "fixed":
            return isinstance(value, str)
        case "int":
            return _is_int(value) and value in _INT
        case "long":
            return _is_int(value) and value in _LONG
        case "float" | "double":
            return _is_int(value) or isinstance(value, float)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list) and all(_fits(kind.items[0], one) for one in value)
        case "map":
            return isinstance(value, dict) and all(
                _fits(kind.items[0], one) for one in value.values()
            )
        case "union":
            return any(_fits(branch, value) for branch in kind.items)
    return isinstance(value, dict) and all(
        _fits(one.type, value.get(one.name, one.default)) for one in kind.fields
    )


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _split(name: str, namespace: str | None) -> tuple[str | None, str]:
    space, dot, short = name.rpartition(".")
    if dot:
        return space or None, short
    return namespace or None, name


def _full(name: str, namespace: str | None) -> str:
    space, short = _split(name, namespace)
    return f"{space}.{short}" if space else short


def _checked(name: str) -> str:
    if not name:
        raise NotAvro("Empty name")
    if not _NAME.match(name):
        raise NotAvro(f"Illegal character in: {name}")
    return name


def _text(tree: dict[str, Any], name: str) -> str | None:
    found = tree.get(name)
    return found if isinstance(found, str) else None


def _aliases(tree: dict[str, Any]) -> tuple[str, ...]:
    found = tree.get("aliases")
    if found is None:
        return ()
    if not isinstance(found, list):
        raise NotAvro(f"aliases not an array: {java_json.text_of(tree)}")
    for one in found:
        if not isinstance(one, str):
            raise NotAvro(f"alias not a string: {java_json.text_of(one)}")
    return tuple(dict.fromkeys(found))


def _props(tree: dict[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in tree.items() if name not in reserved}

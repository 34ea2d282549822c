"""What a newer JSON Schema changes of an older one.

The older one's instances are the question: a change is harmless if each of them is still valid.
Whether properties may be added or left out depends on the content model: open (anything may be
there besides), closed, or open in part (what is not named must fit a schema).

Comparing `oneOf` and `$ref` can take exponential time, so each pair is compared once. A pair that
is met again while it is compared counts as compatible; where that assumption turns out wrong, all
is compared once more with what was found.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import re2

from ottla.registry.bounds import Budget
from ottla.registry.json_schema import tree
from ottla.registry.json_schema.kinds import COMPATIBLE, COMPATIBLE_IF_LENIENT, Difference
from ottla.registry.json_schema.matching import matching
from ottla.registry.json_schema.tree import NOTHING, Node

Pair = tuple[int, int]
Found = list[Difference]


def differences(older: Node, newer: Node, *, lenient: bool = False) -> Found:
    """Those that are not harmless."""
    harmless = COMPATIBLE_IF_LENIENT if lenient else COMPATIBLE
    every = all_differences(older, newer, harmless)
    return [one for one in every if one.kind not in harmless]


def all_differences(older: Node, newer: Node, harmless: frozenset[str] = COMPATIBLE) -> Found:
    budget = Budget()
    wrong: dict[Pair, Found] = {}
    while True:
        comparison = _Comparison(harmless, wrong, budget)
        found = comparison.compare(older, newer)
        more = comparison.incompatible()
        if not comparison.assumed or more.keys() == wrong.keys():
            return found
        wrong = more


class _Comparison:
    def __init__(self, harmless: frozenset[str], wrong: dict[Pair, Found], budget: Budget) -> None:
        self._harmless = harmless
        self._wrong = wrong  # pairs that an earlier pass found incompatible
        self._budget = budget
        self._known: dict[Pair, Found] = {}
        self._under_way: set[Pair] = set()
        self.assumed = False

    def incompatible(self) -> dict[Pair, Found]:
        return {pair: found for pair, found in self._known.items() if not self._fits(found)}

    def _fits(self, found: Found) -> bool:
        return all(one.kind in self._harmless for one in found)

    def compare(self, older: Node | None, newer: Node | None) -> Found:
        if older is None or newer is None:
            if older is newer:
                return []
            return [Difference("SCHEMA_ADDED" if older is None else "SCHEMA_REMOVED")]
        older, newer = _followed(older), _followed(newer)
        pair = (id(older), id(newer))
        known = self._known.get(pair)
        if known is not None:
            return known
        if pair in self._under_way:
            if pair in self._wrong:
                return self._wrong[pair]
            self.assumed = True
            return []
        self._budget.step()
        self._under_way.add(pair)
        try:
            found = self._known[pair] = self._nodes(older, newer)
        finally:
            self._under_way.discard(pair)
        return found

    def _nodes(self, older: Node, newer: Node) -> Found:
        combined = self._one_combined(older, newer)
        if combined is not None:
            return combined
        if type(older) is not type(newer):
            if isinstance(older, tree.Never) or isinstance(newer, tree.Anything):
                return []
            if older.connect_type == "bytes" and newer.connect_type == "bytes":
                return []
            return [Difference("TYPE_CHANGED")]
        return [*_described(older, newer), *self._same_type(older, newer)]

    def _one_combined(self, older: Node, newer: Node) -> Found | None:
        """Where only one of the two is a combination, and one of its parts fits."""
        if isinstance(newer, tree.Combined) and not isinstance(older, tree.Combined):
            pairs = [(older, one) for one in newer.of]
            single = len(newer.of) == 1
            kind = "SUM_TYPE_EXTENDED" if newer.criterion != "allOf" else None
        elif isinstance(older, tree.Combined) and not isinstance(newer, tree.Combined):
            pairs = [(one, newer) for one in older.of]
            single = len(older.of) == 1
            kind = "PRODUCT_TYPE_NARROWED" if older.criterion == "allOf" else None
        else:
            return None
        if kind is None and not single:
            return None
        for before, after in pairs:
            found = self.compare(before, after)
            if self._fits(found):
                return found if single else [*found, Difference(kind or "")]
        return None

    def _same_type(self, older: Any, newer: Any) -> Iterator[Difference]:
        match older:
            case tree.String():
                yield from _strings(older, newer)
            case tree.Number():
                yield from _numbers(older, newer)
            case tree.Const():
                if older.value != newer.value:
                    yield Difference("ENUM_ARRAY_CHANGED", ("const",))
            case tree.Enum():
                yield from _enums(older, newer)
            case tree.Not():
                fits = self._fits(self.compare(newer.of, older.of))
                yield Difference("NOT_TYPE_NARROWED" if fits else "NOT_TYPE_EXTENDED", ("not",))
            case tree.Combined():
                yield from self._combined(older, newer)
            case tree.Object():
                yield from self._objects(older, newer)
            case tree.Array():
                yield from self._arrays(older, newer)

    # --- combinations

    def _combined(self, older: tree.Combined, newer: tree.Combined) -> Iterator[Difference]:
        if older.criterion != newer.criterion:
            if not _is_wider(older, newer):
                yield Difference("COMBINED_TYPE_CHANGED")
                return
            yield Difference("COMBINED_TYPE_EXTENDED")
        before, after = _distinct(older.of), _distinct(newer.of)
        if len(before) < len(after):
            product = newer.criterion == "allOf"
            yield Difference("PRODUCT_TYPE_EXTENDED" if product else "SUM_TYPE_EXTENDED")
        elif len(before) > len(after):
            product = older.criterion == "allOf"
            yield Difference("PRODUCT_TYPE_NARROWED" if product else "SUM_TYPE_NARROWED")
        fitting: dict[int, dict[int, Found]] = {}
        for at, one in enumerate(before):
            for other, two in enumerate(after):
                found = self.compare(one, two)
                if self._fits(found):
                    fitting.setdefault(at, {})[other] = found
        matched = matching({at: list(held) for at, held in fitting.items()})
        for at, other in matched.items():
            yield from _under((older.criterion, str(at)), fitting[at][other])
        if len(matched) < min(len(before), len(after)):
            yield Difference("COMBINED_TYPE_SUBSCHEMAS_CHANGED")

    # --- objects

    def _objects(self, older: tree.Object, newer: tree.Object) -> Iterator[Difference]:
        yield from _required(older, newer)
        for name in dict.fromkeys([*older.properties, *newer.properties]):
            for one in self._property(older, newer, name):
                yield one.under("properties", name)
        yield from self._dependencies(older, newer)
        yield from _under(
            "additionalProperties", self._additional(older, newer, "ADDITIONAL_PROPERTIES")
        )
        yield from _under(
            "unevaluatedProperties",
            self._unevaluated(older.unevaluated, newer.unevaluated, "UNEVALUATED_PROPERTIES"),
        )
        for keyword, before, after in (
            ("maxProperties", older.max_properties, newer.max_properties),
            ("minProperties", older.min_properties, newer.min_properties),
        ):
            yield from _changed(keyword, _screaming(keyword), before, after)

    def _property(self, older: tree.Object, newer: tree.Object, name: str) -> Found:
        before, after = older.properties.get(name), newer.properties.get(name)
        if after is None:
            assert before is not None
            return self._removed(newer, before, "PROPERTY", _partly(newer, name))
        if before is None:
            return self._added(older, newer, name, after)
        return self.compare(before, after)

    def _removed(
        self, newer: tree.Object | tree.Array, before: Node, what: str, partly: Node | None
    ) -> Found:
        """Whether what was named before may still be there."""
        if newer.is_open:
            return [Difference(f"{what}_REMOVED_FROM_OPEN_CONTENT_MODEL")]
        if partly is not None:
            return self._covered(f"{what}_REMOVED", self.compare(before, partly))
        if isinstance(_followed(before), tree.Never):
            return [Difference(f"{what}_WITH_FALSE_REMOVED_FROM_CLOSED_CONTENT_MODEL")]
        return [Difference(f"{what}_REMOVED_FROM_CLOSED_CONTENT_MODEL")]

    def _covered(self, what: str, found: Found) -> Found:
        how = "IS" if self._fits(found) else "NOT"
        return [*found, Difference(f"{what}_{how}_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL")]

    def _added(self, older: tree.Object, newer: tree.Object, name: str, after: Node) -> Found:
        """What is named now may have been there before as anything."""
        required = name in newer.required
        has_default = after.default is not NOTHING
        if older.is_open:
            if isinstance(after, tree.Anything):
                return [Difference("PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL")]
            return [Difference(f"{_how(required, has_default)}_ADDED_TO_OPEN_CONTENT_MODEL")]
        partly = _partly(older, name)
        found = []
        if partly is not None:
            found = self._covered("PROPERTY_ADDED", self.compare(partly, after))
        found.append(Difference(f"{_how(required, has_default)}_ADDED_TO_UNOPEN_CONTENT_MODEL"))
        return found

    def _dependencies(self, older: tree.Object, newer: tree.Object) -> Iterator[Difference]:
        for name in dict.fromkeys([*older.dependent_names, *newer.dependent_names]):
            kind = _sets(older.dependent_names.get(name), newer.dependent_names.get(name))
            if kind is not None:
                yield Difference(f"DEPENDENCY_ARRAY_{kind}", ("dependencies", name))
        for name in dict.fromkeys([*older.dependent_schemas, *newer.dependent_schemas]):
            before, after = older.dependent_schemas.get(name), newer.dependent_schemas.get(name)
            if after is None:
                found = [Difference("DEPENDENCY_SCHEMA_REMOVED")]
            elif before is None:
                found = [Difference("DEPENDENCY_SCHEMA_ADDED")]
            else:
                found = self.compare(before, after)
            for one in found:
                yield one.under("dependencies", name)

    def _additional(
        self, older: tree.Object | tree.Array, newer: tree.Object | tree.Array, what: str
    ) -> Found:
        if older.additional != newer.additional:
            return [Difference(f"{what}_{'REMOVED' if older.additional else 'ADDED'}")]
        before, after = older.additional_schema, newer.additional_schema
        if before is None and after is not None:
            return [Difference(f"{what}_NARROWED")]
        if after is None and before is not None:
            return [Difference(f"{what}_EXTENDED")]
        return self.compare(before, after)

    def _unevaluated(self, before: Node | None, after: Node | None, what: str) -> Found:
        if before is None and after is None:
            return []
        never_before = isinstance(before, tree.Never)
        never_after = isinstance(after, tree.Never)
        if never_before != never_after:
            return [Difference(f"{what}_{'ADDED' if never_before else 'REMOVED'}")]
        if before is None or (
            isinstance(before, tree.Anything) and not isinstance(after, tree.Anything | None)
        ):
            return [Difference(f"{what}_NARROWED")]
        if after is None or (
            isinstance(after, tree.Anything) and not isinstance(before, tree.Anything)
        ):
            return [Difference(f"{what}_EXTENDED")]
        return self.compare(before, after)

    # --- arrays

    def _arrays(self, older: tree.Array, newer: tree.Array) -> Iterator[Difference]:
        yield from _under("items", self.compare(older.every, newer.every))
        for at in range(max(len(older.items), len(newer.items))):
            for one in self._item(older, newer, at):
                yield one.under("items", str(at))
        yield from _under("additionalItems", self._additional(older, newer, "ADDITIONAL_ITEMS"))
        yield from _under(
            "unevaluatedItems",
            self._unevaluated(older.unevaluated, newer.unevaluated, "UNEVALUATED_ITEMS"),
        )
        for keyword, before, after in (
            ("maxItems", older.max_items, newer.max_items),
            ("minItems", older.min_items, newer.min_items),
            ("maxContains", older.max_contains, newer.max_contains),
            ("minContains", older.min_contains, newer.min_contains),
        ):
            yield from _changed(keyword, _screaming(keyword), before, after)
        if older.unique != newer.unique:
            kind = "UNIQUE_ITEMS_REMOVED" if older.unique else "UNIQUE_ITEMS_ADDED"
            yield Difference(kind, ("uniqueItems",))

    def _item(self, older: tree.Array, newer: tree.Array, at: int) -> Found:
        if at < len(older.items) and at < len(newer.items):
            return self.compare(older.items[at], newer.items[at])
        if at < len(older.items):
            return self._removed(newer, older.items[at], "ITEM", newer.rest)
        after = newer.items[at]
        if older.is_open:
            empty = isinstance(after, tree.Anything)
            kind = "ITEM_WITH_EMPTY_SCHEMA_ADDED" if empty else "ITEM_ADDED"
            return [Difference(f"{kind}_TO_OPEN_CONTENT_MODEL")]
        if older.rest is not None:
            return self._covered("ITEM_ADDED", self.compare(older.rest, after))
        return [Difference("ITEM_ADDED_TO_CLOSED_CONTENT_MODEL")]


def _followed(node: Node) -> Node:
    seen = 0
    while isinstance(node, tree.Ref):
        node = node.target()
        seen += 1
        if seen > 100:
            return tree.Anything()  # references that only lead to each other say nothing
    return node


def _under(path: str | tuple[str, ...], found: Iterable[Difference]) -> Iterator[Difference]:
    prefix = (path,) if isinstance(path, str) else path
    return (one.under(*prefix) for one in found)


def _screaming(keyword: str) -> str:
    """`maxLength` as `MAX_LENGTH`."""
    return "".join(f"_{one}" if one.isupper() else one.upper() for one in keyword)


def _how(required: bool, has_default: bool) -> str:
    if not required:
        return "OPTIONAL_PROPERTY"
    return "REQUIRED_PROPERTY_WITH_DEFAULT" if has_default else "REQUIRED_PROPERTY"


def _described(older: Node, newer: Node) -> Iterator[Difference]:
    for kind, before, after in (
        ("ID", older.id, newer.id),
        ("TITLE", older.title, newer.title),
        ("DESCRIPTION", older.description, newer.description),
        ("DEFAULT", older.default, newer.default),
    ):
        if before is not after and before != after:
            yield Difference(f"{kind}_CHANGED")


def _changed(keyword: str, kind: str, before: Any, after: Any) -> Iterator[Difference]:
    if before == after:
        return
    if before is None:
        how = "ADDED"
    elif after is None:
        how = "REMOVED"
    else:
        how = "INCREASED" if before < after else "DECREASED"
    yield Difference(f"{kind}_{how}", (keyword,))


def _strings(older: tree.String, newer: tree.String) -> Iterator[Difference]:
    yield from _changed("maxLength", "MAX_LENGTH", older.max_length, newer.max_length)
    yield from _changed("minLength", "MIN_LENGTH", older.min_length, newer.min_length)
    if older.pattern != newer.pattern:
        how = "CHANGED"
        if older.pattern is None:
            how = "ADDED"
        elif newer.pattern is None:
            how = "REMOVED"
        yield Difference(f"PATTERN_{how}", ("pattern",))


def _numbers(older: tree.Number, newer: tree.Number) -> Iterator[Difference]:
    for keyword, before, after in (
        ("maximum", older.maximum, newer.maximum),
        ("minimum", older.minimum, newer.minimum),
        ("exclusiveMaximum", older.exclusive_maximum, newer.exclusive_maximum),
        ("exclusiveMinimum", older.exclusive_minimum, newer.exclusive_minimum),
    ):
        yield from _changed(keyword, _screaming(keyword), before, after)
    how = _multiples(older.multiple_of, newer.multiple_of)
    if how is not None:
        yield Difference(f"MULTIPLE_OF_{how}", ("multipleOf",))
    if older.integer != newer.integer:
        yield Difference("TYPE_EXTENDED" if older.integer else "TYPE_NARROWED")


def _multiples(before: Decimal | None, after: Decimal | None) -> str | None:
    if before == after:
        return None
    if before is None:
        return "ADDED"
    if after is None:
        return "REMOVED"
    if before and _is_multiple(after, before):
        return "EXPANDED"
    if after and _is_multiple(before, after):
        return "REDUCED"
    return "CHANGED"


def _is_multiple(of: Decimal, by: Decimal) -> bool:
    """In whole numbers: decimals of very different sizes have no room for a remainder."""
    over, under = (of / by).as_integer_ratio() if abs((of / by).adjusted()) < 20 else (0, 2)
    return under == 1 and over * by == of


def _enums(older: tree.Enum, newer: tree.Enum) -> Iterator[Difference]:
    kind = _sets(older.values, newer.values)
    if kind is not None:
        yield Difference(f"ENUM_ARRAY_{kind}", ("enum",))


def _sets(before: frozenset[str] | None, after: frozenset[str] | None) -> str | None:
    if before == after:
        return None
    if after is None:
        return "REMOVED"
    if before is None:
        return "ADDED"
    if after >= before:
        return "EXTENDED"
    return "NARROWED" if before >= after else "CHANGED"


def _required(older: tree.Object, newer: tree.Object) -> Iterator[Difference]:
    for name in older.properties:
        after = newer.properties.get(name)
        if after is None or (name in older.required) == (name in newer.required):
            continue
        if name in older.required:
            kind = "REQUIRED_ATTRIBUTE_REMOVED"
        elif after.default is not NOTHING:
            kind = "REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED"
        else:
            kind = "REQUIRED_ATTRIBUTE_ADDED"
        yield Difference(kind, ("required", name))


def _partly(held: tree.Object, name: str) -> Node | None:
    """The schema that a property of this name must fit where it is not named itself."""
    for pattern, node in held.patterns.items():
        if re2.search(pattern, name):
            return node
    return tree.rest_of(held)


def _is_wider(older: tree.Combined, newer: tree.Combined) -> bool:
    single_before, single_after = len(older.of) == 1, len(newer.of) == 1
    return (
        newer.criterion == "anyOf"
        or (single_before and (single_after or newer.criterion == "oneOf"))
        or (single_after and older.criterion == "allOf")
    )


def _distinct(nodes: list[Node]) -> list[Node]:
    """What is listed twice counts once."""
    return list({node.source: node for node in reversed(nodes)}.values())[::-1]

"""JSON Schemas: kinds of difference, one by one; and what is called harmless, harms no instance."""

import contextlib
import json
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from ottla.registry.json_schema.compatibility import all_differences, differences
from ottla.registry.json_schema.kinds import COMPATIBLE, COMPATIBLE_IF_LENIENT
from ottla.registry.json_schema.loading import Loader
from ottla.registry.json_schema.matching import matching
from ottla.registry.json_schema.schema import parse
from ottla.registry.parsed import NotASchema
from ottla.registry.types import parse as parse_any

S, W, N = {"type": "string"}, {"type": "integer"}, {"type": "number"}
OPEN = {"type": "object", "properties": {"a": S}}
CLOSED = {**OPEN, "additionalProperties": False}
PARTLY = {**OPEN, "additionalProperties": N}
ADDED_A, ADDED_INT = {"a": S, "b": S}, {"a": S, "b": W}
ITEMS = {"type": "array", "items": [S]}


def kinds(older: Any, newer: Any) -> list[str]:
    found = all_differences(Loader(older, {}).load(), Loader(newer, {}).load())
    return sorted(f"{one.kind} #/{'/'.join(one.path)}" for one in found)


CASES = [
    (S, {**S, "title": "t", "description": "d"}, ["DESCRIPTION_CHANGED #/", "TITLE_CHANGED #/"]),
    (S, W, ["TYPE_CHANGED #/"]),
    (W, N, ["TYPE_EXTENDED #/"]),
    (N, W, ["TYPE_NARROWED #/"]),
    (W, {}, []),
    (False, W, []),
    (S, {**S, "maxLength": 5}, ["MAX_LENGTH_ADDED #/maxLength"]),
    ({**S, "minLength": 5}, {**S, "minLength": 3}, ["MIN_LENGTH_DECREASED #/minLength"]),
    ({**S, "pattern": "a"}, {**S, "pattern": "b"}, ["PATTERN_CHANGED #/pattern"]),
    ({**N, "maximum": 5}, {**N, "maximum": 6.5}, ["MAXIMUM_INCREASED #/maximum"]),
    (
        {**N, "exclusiveMinimum": 1},
        {**N, "exclusiveMinimum": 2},
        ["EXCLUSIVE_MINIMUM_INCREASED #/exclusiveMinimum"],
    ),
    ({**N, "multipleOf": 10}, {**N, "multipleOf": 5}, ["MULTIPLE_OF_REDUCED #/multipleOf"]),
    ({**N, "multipleOf": 0.5}, {**N, "multipleOf": 1.5}, ["MULTIPLE_OF_EXPANDED #/multipleOf"]),
    ({**N, "multipleOf": 4}, {**N, "multipleOf": 6}, ["MULTIPLE_OF_CHANGED #/multipleOf"]),
    ({"enum": [1, "x"]}, {"enum": ["x", 1.0, 2]}, ["ENUM_ARRAY_EXTENDED #/enum"]),
    ({"enum": [1, 2]}, {"enum": [1]}, ["ENUM_ARRAY_NARROWED #/enum"]),
    ({"const": 1}, {"const": 2}, ["ENUM_ARRAY_CHANGED #/const"]),
    (
        OPEN,
        {**OPEN, "properties": ADDED_A},
        ["OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b"],
    ),
    (
        OPEN,
        {**OPEN, "properties": {"a": S, "b": {}}},
        ["PROPERTY_WITH_EMPTY_SCHEMA_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b"],
    ),
    (
        CLOSED,
        {**CLOSED, "properties": ADDED_A, "required": ["b"]},
        ["REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b"],
    ),
    (
        CLOSED,
        {**CLOSED, "properties": {"a": S, "b": {**S, "default": ""}}, "required": ["b"]},
        ["REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b"],
    ),
    (
        PARTLY,
        {**PARTLY, "properties": {"a": S, "b": N}},
        [
            "OPTIONAL_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b",
            "PROPERTY_ADDED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
        ],
    ),
    (
        {**OPEN, "properties": ADDED_A},
        OPEN,
        ["PROPERTY_REMOVED_FROM_OPEN_CONTENT_MODEL #/properties/b"],
    ),
    (
        {**CLOSED, "properties": ADDED_A},
        CLOSED,
        ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b"],
    ),
    (
        {**PARTLY, "properties": ADDED_INT},
        PARTLY,
        [
            "PROPERTY_REMOVED_IS_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b",
            "TYPE_EXTENDED #/properties/b",
        ],
    ),
    (OPEN, CLOSED, ["ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"]),
    (CLOSED, OPEN, ["ADDITIONAL_PROPERTIES_ADDED #/additionalProperties"]),
    (OPEN, PARTLY, ["ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties"]),
    (OPEN, {**OPEN, "required": ["a"]}, ["REQUIRED_ATTRIBUTE_ADDED #/required/a"]),
    (
        OPEN,
        {**OPEN, "dependencies": {"a": ["b"]}},
        ["DEPENDENCY_ARRAY_ADDED #/dependencies/a"],
    ),
    (ITEMS, {**ITEMS, "items": [S, W]}, ["ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1"]),
    (
        {**ITEMS, "additionalItems": False, "items": [S, W]},
        {**ITEMS, "additionalItems": False},
        ["ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1"],
    ),
    (
        {"type": "array", "items": S},
        {"type": "array", "items": S, "uniqueItems": True},
        ["UNIQUE_ITEMS_ADDED #/uniqueItems"],
    ),
    (S, {"oneOf": [W, S]}, ["SUM_TYPE_EXTENDED #/"]),
    ({"oneOf": [W, S]}, S, ["TYPE_CHANGED #/"]),
    ({"oneOf": [W, S]}, {"oneOf": [S]}, ["SUM_TYPE_NARROWED #/"]),
    ({"allOf": [W, S]}, {"anyOf": [W, S]}, ["COMBINED_TYPE_EXTENDED #/"]),
    ({"anyOf": [W, S]}, {"oneOf": [W, S]}, ["COMBINED_TYPE_CHANGED #/"]),
    (
        {"oneOf": [W, S]},
        {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
        ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"],
    ),
    ({"not": N}, {"not": W}, ["NOT_TYPE_NARROWED #/not"]),
    ({"not": W}, {"not": N}, ["NOT_TYPE_EXTENDED #/not"]),
    (
        {"$ref": "#/definitions/x", "definitions": {"x": S}},
        {"$ref": "#/definitions/x", "definitions": {"x": W}},
        ["TYPE_CHANGED #/"],
    ),
]


@pytest.mark.parametrize(("older", "newer", "expected"), CASES)
def test_each_change_is_of_its_kind(older: Any, newer: Any, expected: list[str]) -> None:
    assert kinds(older, newer) == expected


@pytest.mark.parametrize(("older", "newer", "expected"), CASES)
def test_a_schema_is_compatible_with_itself(older: Any, newer: Any, expected: list[str]) -> None:
    for one in (older, newer):
        found = all_differences(Loader(one, {}).load(), Loader(one, {}).load())
        assert [held for held in found if held.kind not in COMPATIBLE] == []


def test_a_change_deep_in_a_recursive_schema_is_found() -> None:
    def tree(leaf: Any) -> Any:
        node = {
            "type": "object",
            "properties": {"left": {"$ref": "#/definitions/n"}, "v": leaf},
            "additionalProperties": False,
        }
        return {"$ref": "#/definitions/n", "definitions": {"n": node}}

    assert differences(Loader(tree(W), {}).load(), Loader(tree(N), {}).load()) == []
    found = differences(Loader(tree(N), {}).load(), Loader(tree(S), {}).load())
    assert found[0].path[-2:] == ("properties", "v")


def test_the_lenient_policy_lets_open_models_grow() -> None:
    wider = {**OPEN, "properties": ADDED_A}
    older, newer = Loader(OPEN, {}).load(), Loader(wider, {}).load()
    assert differences(older, newer)
    assert not differences(older, newer, lenient=True)
    assert len(COMPATIBLE_IF_LENIENT) > len(COMPATIBLE)


def test_references_lead_into_other_documents_and_never_to_the_network() -> None:
    money = json.dumps({"$id": "money.json", "definitions": {"sum": W}})
    bill = json.dumps({"properties": {"a": {"$ref": "money.json#/definitions/sum"}}})
    schema = parse(bill, {"money.json": money}, True)
    schema.check(strict=False)
    with pytest.raises(NotASchema, match="not fetched"):
        parse(bill, {}, True).check(strict=False)


@pytest.mark.parametrize(
    "text",
    ["[]", "1", '"x"', "{", '{"type":"nothing"}', '{"required":"a"}', '{"pattern":"("}'],
)
def test_what_is_no_schema_is_refused(text: str) -> None:
    with pytest.raises(NotASchema):
        parse_any("JSON", text, {}, new=True).check(strict=False)


def test_the_largest_matching_is_found() -> None:
    assert len(matching({0: [0], 1: [0, 1], 2: [1, 2]})) == 3
    assert len(matching({0: [0], 1: [0]})) == 1


# --- drawn schemas

INSTANCES: list[Any] = [
    *(None, True, False, 0, 1, 2, 3, 5, 6, 10, -1, 2.5, "", "a", "ab", "abc", "b"),
    *([], [1], ["a"], ["a", 1], [1, 1], [None, "a", 2.5]),
    *({}, {"a": 1}, {"a": "x"}, {"b": 2}, {"a": 1, "b": "y"}, {"a": 1, "c": None}, {"c": 1}),
]


def drawn(dice: Random, depth: int = 2) -> Any:
    simple: list[Any] = [S, W, N, {}, {"type": "null"}, {"enum": [1, "a"]}, {"const": 2}]
    simple += [{**N, "maximum": dice.randint(0, 6)}, {**S, "minLength": dice.randint(0, 3)}]
    simple += [{**W, "multipleOf": dice.choice([1, 2, 3, 6])}]
    if not depth or dice.random() < 0.4:
        return dice.choice(simple)
    match dice.randrange(4):
        case 0:
            return {dice.choice(["anyOf", "allOf"]): [drawn(dice, depth - 1) for _ in range(2)]}
        case 1:
            return {
                "type": "array",
                "items": drawn(dice, depth - 1),
                "maxItems": dice.randint(1, 3),
            }
        case 2:
            return {"type": [dice.choice(["string", "integer"]), "null"]}
    names = dice.sample("abc", dice.randint(0, 3))
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: drawn(dice, depth - 1) for name in names},
        "required": dice.sample(names, dice.randint(0, len(names))),
    }
    if dice.random() < 0.6:
        made["additionalProperties"] = dice.choice([False, drawn(dice, 0)])
    return made


def changed(dice: Random, schema: Any) -> Any:
    """With one part drawn anew."""
    if not isinstance(schema, dict) or dice.random() < 0.25:
        return drawn(dice, 1)
    held = dict(schema)
    name = dice.choice([*held, "title"])
    match held.get(name):
        case dict() as within if name == "properties":
            which = dice.choice("abc")
            held[name] = {**within, which: changed(dice, within.get(which))}
        case list() as within if name in ("anyOf", "allOf"):
            held[name] = [changed(dice, within[0]), *within[1:]]
        case list() as within if name == "required":
            held[name] = within[1:]
        case int() as number if not isinstance(number, bool):
            held[name] = max(1, number + dice.choice([-1, 1, 2]))
        case _ if name == "additionalProperties":
            held[name] = dice.choice([True, False, drawn(dice, 0)])
        case _ if name == "items":
            held[name] = drawn(dice, 1)
    return held


def test_what_is_called_compatible_takes_every_instance_of_before() -> None:
    assert compared(range(1200)) > 150


@pytest.mark.long
@pytest.mark.timeout(600)
def test_ten_thousand_pairs_of_before_and_after() -> None:
    found = compared(range(10_000, 20_000))
    print("compatible of 10,000:", found)
    assert found > 1000


def compared(seeds: range) -> int:
    """How many pairs are called compatible; of each, every instance of the old fits the new."""
    compatible = 0
    for seed in seeds:
        dice = Random(seed)
        older = drawn(dice)
        newer = changed(dice, older)
        if differences(Loader(older, {}).load(), Loader(newer, {}).load()):
            continue
        compatible += 1
        before = jsonschema_rs.validator_for(older)
        after = jsonschema_rs.validator_for(newer)
        for instance in INSTANCES:
            if before.is_valid(instance):
                assert after.is_valid(instance), f"seed {seed}: {older} {newer} {instance}"
    return compatible


def instances(schema: Any) -> st.SearchStrategy[Any]:
    """What may fit a drawn schema: whoever draws looks whether it does."""
    anything = st.sampled_from(INSTANCES)
    if not isinstance(schema, dict):
        return anything
    if "enum" in schema or "const" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    for word in ("anyOf", "allOf"):
        if word in schema:
            return st.one_of(*map(instances, schema[word]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return st.one_of(*(instances({"type": one}) for one in kind))
    simple: dict[Any, st.SearchStrategy[Any]] = {
        "string": st.text("abc", max_size=5),
        "integer": st.integers(-20, 20),
        "number": st.one_of(st.integers(-20, 20), st.floats(-20, 20)),
        "null": st.none(),
    }
    if kind == "array":
        return st.lists(instances(schema.get("items", True)), max_size=schema.get("maxItems", 3))
    if kind == "object":
        named = {name: instances(one) for name, one in schema["properties"].items()}
        rest = schema.get("additionalProperties", True)
        more = {} if rest is False else {name: instances(rest) for name in set("abcd") - {*named}}
        needed = {name: named[name] for name in schema["required"]}
        others = {name: one for name, one in {**named, **more}.items() if name not in needed}
        return st.fixed_dictionaries(needed, optional=others)
    return simple.get(kind, anything)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [15, pytest.param(500, marks=pytest.mark.long)])
def test_instances_that_are_made_of_the_old_schema_fit_the_new_one(count: int) -> None:
    tried = 0

    @given(data=st.data())
    @settings(
        max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    def fit(older: Any, newer: Any, data: st.DataObject) -> None:
        nonlocal tried
        instance = data.draw(instances(older))
        assume(jsonschema_rs.validator_for(older).is_valid(instance))
        tried += 1
        assert jsonschema_rs.validator_for(newer).is_valid(instance), (older, newer)

    for seed in range(30_000, 30_000 + count):
        dice = Random(seed)
        older = drawn(dice)
        newer = changed(dice, older)
        if not differences(Loader(older, {}).load(), Loader(newer, {}).load()):
            with contextlib.suppress(Unsatisfiable):  # nothing fits the old one
                fit(older, newer)
    print("instances:", tried)
    assert tried > count

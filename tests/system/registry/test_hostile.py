"""Whatever is sent: an answer in time, and never a server error."""

import json
import time
from random import Random
from typing import Any

import pytest

from system.registry.drawn_avro import Draw
from system.registry.processes import Answer, Registry

ANSWER_SECONDS_MAX = 20
SHAPES: list[Any] = [None, True, 0, -1, 2**70, 1.5, "", "x", "é\u0000", [], [[]], {}, {"": {}}]
FIELDS = (
    "schema",
    "schemaType",
    "references",
    "metadata",
    "ruleSet",
    "version",
    "id",
    "compatibility",
    "mode",
    "alias",
    "defaultMetadata",
    "overrideRuleSet",
)
TYPES = ("AVRO", "JSON", "PROTOBUF", "avro", "")
PATHS = (
    ("POST", "/subjects/{}/versions"),
    ("POST", "/subjects/{}/versions?normalize=true"),
    ("POST", "/subjects/{}"),
    ("POST", "/compatibility/subjects/{}/versions/latest?verbose=true"),
    ("POST", "/compatibility/subjects/{}/versions"),
    ("PUT", "/config/{}"),
    ("PUT", "/mode/{}"),
)
PROTO = (
    'syntax = "proto3"; message A { int32 a = 1; oneof b { string c = 2; } map<string, A> d = 3; }'
)
JSON_SCHEMA = {
    "type": ["object", "null"],
    "properties": {"a": {"$ref": "#/definitions/a"}, "b": {"enum": [1, "x"]}},
    "definitions": {"a": {"oneOf": [{"type": "integer", "maximum": 5}, {"$ref": "#"}]}},
}


def well_answered(answer: Answer) -> None:
    assert answer.status < 500, answer
    if answer.status >= 400:
        assert set(answer.body) == {"error_code", "message"}


def mangled(dice: Random, text: str) -> str:
    """With a few characters elsewhere."""
    letters = list(text)
    for _ in range(dice.randint(0, 3)):
        at = dice.randrange(len(letters) + 1)
        match dice.randrange(3):
            case 0 if at < len(letters):
                del letters[at]
            case 1:
                letters.insert(at, dice.choice('{}[]()",:;=<>.0-\\é\u0000 a1$#/*'))
            case _ if at < len(letters):
                letters[at:at] = letters[at : at + dice.randint(1, 20)]
    return "".join(letters)


def drawn_schema(dice: Random, kind: str) -> str:
    match kind:
        case "JSON":
            return mangled(dice, json.dumps(JSON_SCHEMA))
        case "PROTOBUF":
            return mangled(dice, PROTO)
    return mangled(dice, json.dumps(Draw(dice.randrange(10_000)).schema()))


def drawn_body(dice: Random) -> Any:
    if dice.random() < 0.1:
        return dice.choice(SHAPES)
    body: dict[str, Any] = {}
    for name in dice.sample(FIELDS, dice.randint(0, 4)):
        body[name] = dice.choice([*SHAPES, {"properties": {"a": "b"}}, [{"name": "x"}]])
    if dice.random() < 0.7:
        kind = dice.choice(TYPES)
        body |= {"schemaType": kind, "schema": drawn_schema(dice, kind)}
    return body


def answer_all(registry: Registry, seeds: range) -> None:
    for seed in seeds:
        dice = Random(seed)
        method, path = dice.choice(PATHS)
        body: Any = drawn_body(dice)
        if dice.random() < 0.1:
            body = mangled(dice, json.dumps(body)).encode()
        subject = dice.choice(["f1", "f2", ":.c:f", "%2F", "%E9", ":"])
        answer = registry.ask(method, path.format(subject), body, timeout=ANSWER_SECONDS_MAX)
        assert answer.status < 500, (seed, method, path, body, answer)
        well_answered(answer)


def test_drawn_bodies_are_answered(registry: Registry) -> None:
    answer_all(registry, range(400))
    registry.delete("/mode?recursive=true")


@pytest.mark.long
def test_ten_thousand_drawn_bodies_are_answered(registry: Registry) -> None:
    answer_all(registry, range(1000, 11_000))


def nested_avro(depth: int) -> str:
    return '{"type":"array","items":' * depth + '"int"' + "}" * depth


def nested_json(depth: int) -> str:
    return '{"properties":{"a":' * depth + "{}" + "}}" * depth


def nested_proto(depth: int) -> str:
    return 'syntax = "proto3";' + "message M {" * depth + "}" * depth


def wide_avro(fields: int, kind: str) -> str:
    """Unions of records that all refer to each other."""
    names = [f"R{at}" for at in range(fields)]
    records = [
        {"type": "record", "name": name, "fields": [{"name": "x", "type": "null"}]}
        for name in names
    ]
    root = [{"name": f"f{at}", "type": [*names[: at + 1]] or kind} for at in range(fields)]
    first = [{"name": f"d{at}", "type": one} for at, one in enumerate(records)]
    return json.dumps({"type": "record", "name": "Root", "fields": [*first, *root]})


def mesh_json(count: int, shift: int) -> str:
    """Definitions in which every one may be any other."""
    every = [{"$ref": f"#/definitions/d{at}"} for at in range(count)]
    definitions = {
        f"d{at}": {
            "type": "object",
            "properties": {"x": {"oneOf": every}, "k": {"const": at + shift}},
        }
        for at in range(count)
    }
    return json.dumps({"oneOf": every, "definitions": definitions})


HOSTILE = [
    ("AVRO", nested_avro(5000), nested_avro(5000)),
    ("AVRO", nested_avro(100), nested_avro(100)),
    ("AVRO", wide_avro(150, "int"), wide_avro(150, "long")),
    ("AVRO", '{"type":"enum","name":"E","symbols":["A"' + ',"A"' * 50_000 + "]}", '"int"'),
    ("JSON", nested_json(5000), nested_json(5000)),
    ("JSON", nested_json(120), nested_json(120)),
    ("JSON", mesh_json(25, 0), mesh_json(25, 1)),
    ("JSON", '{"$ref":"#"}', '{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#"}}}'),
    ("JSON", '{"pattern":"(a+)+$"}', '{"pattern":"(a*)*$"}'),
    ("JSON", '{"multipleOf":1e-300}', '{"multipleOf":1e300}'),
    ("PROTOBUF", nested_proto(3000), nested_proto(3000)),
    ("PROTOBUF", nested_proto(60), nested_proto(60)),
    ("PROTOBUF", 'syntax = "proto3"; message M {' + "int32 a = 1;" * 3_000 + "}", PROTO),
    ("PROTOBUF", "/*" * 200_000, PROTO),
    ("PROTOBUF", 'import "/etc/passwd"; message M {}', 'import "../../x"; message M {}'),
]


@pytest.mark.parametrize(("kind", "older", "newer"), HOSTILE, ids=range(len(HOSTILE)))
def test_schemas_that_are_made_to_hurt_are_answered_in_time(
    registry: Registry, request: pytest.FixtureRequest, kind: str, older: str, newer: str
) -> None:
    subject = f"hostile-{request.node.callspec.id}"
    for schema in (older, newer):
        began = time.monotonic()
        answer = registry.ask(
            "POST",
            f"/subjects/{subject}/versions",
            {"schemaType": kind, "schema": schema},
            timeout=ANSWER_SECONDS_MAX,
        )
        well_answered(answer)
        assert time.monotonic() - began < ANSWER_SECONDS_MAX


def test_a_body_that_is_too_large_is_refused(registry: Registry) -> None:
    answer = registry.post("/subjects/big/versions", {"schema": "x" * 1_100_000})
    assert (answer.status, answer.code) == (413, 413)


def test_a_reference_may_not_lead_to_a_file_elsewhere(registry: Registry) -> None:
    inner = 'syntax = "proto3"; message In {}'
    registry.register("inner", inner, schemaType="PROTOBUF")
    named = [{"name": "../../escaped.proto", "subject": "inner", "version": 1}]
    outer = 'syntax = "proto3"; import "../../escaped.proto"; message Out {}'
    answer = registry.register("outer", outer, schemaType="PROTOBUF", references=named)
    assert answer.code == 42201

"""Avro schemas drawn by dice, and such that are nearly the same."""

import copy
from random import Random
from typing import Any

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
NAMES = ("A", "B", "Money", "string", "a.B", "x.y.Z", "x.y.Money")
FIELDS = ("f", "g", "h", "id")
SYMBOLS = ("RED", "GREEN", "BLUE", "LOST")
DEFAULTS: dict[str, list[Any]] = {
    "null": [None],
    "boolean": [True, False],
    "int": [0, -7, 2**31 - 1, 2**31],
    "long": [0, 2**40, -(2**63)],
    "float": [0.5, 1, 1e10, 1.5e-5, -0.0],
    "double": [3.14, 100.0, 12345678.9, 1e21, 1e-7, 0.001, 1e7],
    "bytes": ["\u00ff", ""],
    "string": ["", 'quoted "é"', "tab\t\u0001", "\u2028"],
}


class Draw:
    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.named: list[str] = []

    def schema(self, depth: int = 3) -> Any:
        kinds = ["primitive"] * 3
        if depth:
            kinds += ["record"] * 4 + ["enum", "fixed", "array", "map", "union", "logical", "name"]
        match self.dice.choice(kinds):
            case "primitive":
                return self.dice.choice(PRIMITIVES)
            case "logical":
                return self.dice.choice(
                    [
                        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
                        {"logicalType": "timestamp-millis", "type": "long", "more": {"b": 1}},
                        {"type": "string", "avro.java.string": "String"},
                    ]
                )
            case "array":
                return {"items": self.schema(depth - 1), "type": "array"}
            case "map":
                return {"type": "map", "values": self.schema(depth - 1), "p": [1, 2.5, None]}
            case "union":
                return [self.schema(depth - 1) for _ in range(self.dice.randint(0, 3))]
            case "name":
                return self.dice.choice([*self.named, "Nobody"])
            case "enum":
                return self.enum()
            case "fixed":
                return self.with_name({"type": "fixed", "size": self.dice.choice([0, 4, 16])})
        return self.record(depth)

    def enum(self) -> Any:
        symbols = self.dice.sample(SYMBOLS, self.dice.randint(1, 3))
        made = self.with_name({"symbols": symbols, "type": "enum"})
        if self.dice.random() < 0.4:
            made["default"] = self.dice.choice(SYMBOLS)
        return made

    def record(self, depth: int) -> Any:
        made = self.with_name({"type": self.dice.choice(["record"] * 5 + ["error"])})
        if self.dice.random() < 0.3:
            self.named.append(made["name"])
        made["fields"] = [self.field(name, depth) for name in self.some_fields()]
        return made

    def some_fields(self) -> list[str]:
        return self.dice.sample(FIELDS, self.dice.randint(0, 3))

    def field(self, name: str, depth: int) -> Any:
        made: dict[str, Any] = {"name": name, "type": self.schema(depth - 1)}
        if self.dice.random() < 0.5:
            kind = made["type"]
            if isinstance(kind, list) and kind:
                kind = self.dice.choice(kind)
            known = DEFAULTS.get(kind) if isinstance(kind, str) else None
            made["default"] = self.dice.choice(known or [None, 1, "x", [], {}])
        if self.dice.random() < 0.2:
            made["aliases"] = self.dice.sample(FIELDS, 1)
        if self.dice.random() < 0.2:
            made = {"order": self.dice.choice(["ignore", "descending", "Ascending"]), **made}
        if self.dice.random() < 0.2:
            made |= {"doc": "why", "own": {"z": 1, "a": "é"}}
        return made

    def with_name(self, made: dict[str, Any]) -> dict[str, Any]:
        made["name"] = self.dice.choice(NAMES)
        if self.dice.random() < 0.3:
            made["namespace"] = self.dice.choice(["", "x.y", "other"])
        if self.dice.random() < 0.2:
            made["aliases"] = self.dice.sample(NAMES[:3] + NAMES[4:], 2)
        if self.dice.random() < 0.2:
            made["doc"] = "what"
        return made

    def changed(self, schema: Any) -> Any:
        """The same with one thing different, somewhere."""
        copied = copy.deepcopy(schema)
        places = _objects(copied)
        if not places or self.dice.random() < 0.1:
            return self.schema()
        part = self.dice.choice(places)
        for _ in range(self.dice.randint(1, 2)):
            self._change(part)
        return copied

    def _change(self, part: dict[str, Any]) -> None:
        name = self.dice.choice(sorted(part))
        match name:
            case "fields":
                if part["fields"] and self.dice.random() < 0.5:
                    part["fields"].pop()
                else:
                    part["fields"].append(self.field(self.dice.choice(FIELDS), 1))
            case "symbols":
                part["symbols"] = self.dice.sample(SYMBOLS, self.dice.randint(1, 4))
            case "size":
                part["size"] += 1
            case "type" | "items" | "values":
                if not (isinstance(part[name], str) and part[name] not in PRIMITIVES):
                    part[name] = self.schema(1)
            case "name":
                part["name"] = self.dice.choice([*NAMES, *FIELDS])
            case "default" | "doc" | "aliases" | "namespace":
                del part[name]


def _objects(part: Any) -> list[dict[str, Any]]:
    if isinstance(part, list):
        return [one for held in part for one in _objects(held)]
    if not isinstance(part, dict):
        return []
    within = [one for held in part.values() for one in _objects(held)]
    return [part, *within] if "type" in part else within

"""A field's place: a name (V1), or names with dots between (V2), where backticks hold dots."""

from typing import Any

from ottla.connect.data import DataError, Field, Schema, Struct, Type
from ottla.connect.definitions import InvalidConfig, Key, Kind
from ottla.connect.transforms.transform import need_map, need_struct
from ottla.connect.validators import one_of

SYNTAX = Key(
    name="field.syntax.version",
    kind=Kind.STRING,
    default="V1",
    importance="HIGH",
    doc="V1: fields of the root. V2: dots lead into fields, backticks hold names with dots.",
    validator=one_of("V1", "V2", any_case=True),
)
_PURPOSE = "nested field access"


class FieldPath:
    def __init__(self, key: str, said: str, syntax: str) -> None:
        self._steps = [said] if syntax.upper() == "V1" else _steps(key, said)

    def field(self, schema: Schema) -> Field | None:
        current: Schema | None = schema
        found: Field | None = None
        for step in self._steps:
            assert current is not None
            if current.type is not Type.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            found = current.field(step)
            if found is None:
                return None
            current = found.schema
        return found

    def in_struct(self, struct: Struct, replace_null: bool) -> Any:
        current = struct
        for step in self._steps[:-1]:
            if current.schema.field(step) is None:
                return None
            inner = current.get(step)
            if inner is None:
                return None
            current = need_struct(inner, _PURPOSE)
        last = self._steps[-1]
        if current.schema.field(last) is None:
            return None
        return current.get(last) if replace_null else current.without_default(last)

    def in_map(self, held: dict[str, Any]) -> Any:
        current = held
        for step in self._steps[:-1]:
            inner = current.get(step)
            if inner is None:
                return None
            current = need_map(inner, _PURPOSE)
        return current.get(self._steps[-1])


def _steps(key: str, path: str) -> list[str]:
    steps: list[str] = []
    at = 0
    while 0 <= at < len(path):
        if path[at] == "`":
            step, at = _quoted(key, path, at)
            steps.append(step)
            continue
        end = path.find(".", at)
        steps.append(path[at:] if end < 0 else path[at:end])
        at = len(path) if end < 0 else end + 1
    if path.endswith("."):
        steps.append("")
    return steps


def _quoted(key: str, path: str, opening: int) -> tuple[str, int]:
    """The step between backticks, and where the next one begins."""
    made = ""
    begin = at = opening + 1
    while True:
        at = path.find("`", at)
        escaped = at > 0 and path[at - 1] == "\\"
        if at < 0 or (at == len(path) - 1 and escaped):
            raise InvalidConfig(
                {
                    key: [
                        f"Incomplete backtick pair in path: [{path}], consider adding a backslash "
                        f"before backtick at position {opening} to escape it"
                    ]
                }
            )
        if at == len(path) - 1:
            return made + path[begin:at], at + 1
        if path[at + 1] == ".":
            if not escaped:
                return made + path[begin:at], at + 2
            made += path[begin : at - 1] + "`"
            begin = at + 1
        at += 1

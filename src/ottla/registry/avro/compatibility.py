"""Which data a schema can read: Apache Avro's rules, pair by pair of types.

Names of records, enums and fixed are compared without their namespaces. A pair that is met again
while it is being compared counts as compatible: recursive types end there.
"""

from typing import NamedTuple

from ottla.registry.avro.tree import NAMED, NOTHING, Field, Type
from ottla.registry.bounds import Budget

_PROMOTED = {
    "long": ("int",),
    "float": ("int", "long"),
    "double": ("int", "long", "float"),
    "bytes": ("string",),
    "string": ("bytes",),
}
"""Type of the reader -> types of writers that it also takes."""


class Difference(NamedTuple):
    kind: str
    path: str
    about: str

    def __str__(self) -> str:
        """As Confluent's registry says it; `%s` are the two schemas, the reader's first."""
        described = _DESCRIBED[self.kind].format(path=self.path, about=self.about)
        return (
            f"{{errorType:'{self.kind}', description:'{described}', additionalInfo:'{self.about}'}}"
        )


_DESCRIBED = {
    "FIXED_SIZE_MISMATCH": "The size of FIXED type field at path '{path}' in the %s schema does "
    "not match with the %s schema",
    "TYPE_MISMATCH": "The type (path '{path}') of a field in the %s schema does not match with the "
    "%s schema",
    "NAME_MISMATCH": "The name of the schema has changed (path '{path}')",
    "MISSING_ENUM_SYMBOLS": "The %s schema is missing enum symbols '{about}' at path '{path}' in "
    "the %s schema",
    "MISSING_UNION_BRANCH": "The %s schema is missing a type inside a union field at path "
    "'{path}' in the %s schema",
    "READER_FIELD_MISSING_DEFAULT_VALUE": "The field '{about}' at path '{path}' in the %s schema "
    "has no default value and is missing in the %s schema",
}


class Ambiguous(ValueError):
    """A field of the reader that is two of the writer's."""


def differences(reader: Type, writer: Type) -> list[Difference]:
    """Why the reader cannot read all that the writer writes; nothing if it can."""
    return _Comparison().compare(reader, writer, ())


class _Comparison:
    def __init__(self) -> None:
        self._budget = Budget()
        self._seen: dict[tuple[int, int], list[Difference]] = {}

    def compare(self, reader: Type, writer: Type, path: tuple[str, ...]) -> list[Difference]:
        pair = (id(reader), id(writer))
        known = self._seen.get(pair)
        if known is not None:
            return known
        self._budget.step()
        self._seen[pair] = []
        found = self._seen[pair] = self._pair(reader, writer, path)
        return found

    def _pair(self, reader: Type, writer: Type, path: tuple[str, ...]) -> list[Difference]:
        if reader.kind == writer.kind:
            return self._same_kind(reader, writer, path)
        if writer.kind == "union":
            found = []
            for at, branch in enumerate(writer.items):
                found += self.compare(reader, branch, (*path, str(at)))
            return found
        if reader.kind == "union":
            if any(not self.compare(branch, writer, ()) for branch in reader.items):
                return []
            return [_lacking(writer, path)]
        if writer.kind in _PROMOTED.get(reader.kind, ()):
            return []
        about = (
            f"reader type: {reader.kind.upper()} not compatible with writer type: "
            f"{writer.kind.upper()}"
        )
        return [_difference("TYPE_MISMATCH", path, about)]

    def _same_kind(self, reader: Type, writer: Type, path: tuple[str, ...]) -> list[Difference]:
        if reader.kind == "union":
            return [
                _lacking(branch, (*path, str(at)))
                for at, branch in enumerate(writer.items)
                if self.compare(reader, branch, ())
            ]
        if reader.kind in ("array", "map"):
            within = "items" if reader.kind == "array" else "values"
            return self.compare(reader.items[0], writer.items[0], (*path, within))
        if reader.kind not in NAMED:
            return []
        found = _names(reader, writer, path)
        match reader.kind:
            case "fixed" if reader.size != writer.size:
                about = f"expected: {writer.size}, found: {reader.size}"
                found.append(_difference("FIXED_SIZE_MISMATCH", (*path, "size"), about))
            case "enum":
                found += _symbols(reader, writer, path)
            case "record":
                found += self._fields(reader, writer, path)
        return found

    def _fields(self, reader: Type, writer: Type, path: tuple[str, ...]) -> list[Difference]:
        found: list[Difference] = []
        written = {one.name: one for one in writer.fields}
        for at, wanted in enumerate(reader.fields):
            here = (*path, "fields", str(at))
            source = _source(wanted, written)
            if source is not None:
                found += self.compare(wanted.type, source.type, (*here, "type"))
            elif wanted.default is not NOTHING:
                continue
            elif wanted.type.kind == "enum" and wanted.type.default is not None:
                found += self.compare(wanted.type, writer, (*here, "type"))
            else:
                found.append(_difference("READER_FIELD_MISSING_DEFAULT_VALUE", here, wanted.name))
        return found


def _source(wanted: Field, written: dict[str, Field]) -> Field | None:
    """The writer's field under the reader's name or one of its aliases."""
    found = [written[name] for name in (wanted.name, *wanted.aliases) if name in written]
    if len(found) > 1:
        raise Ambiguous(f"Reader record field {wanted.name} matches multiple fields in the writer")
    return found[0] if found else None


def _names(reader: Type, writer: Type, path: tuple[str, ...]) -> list[Difference]:
    if reader.name == writer.name or writer.full_name in _alias_names(reader):
        return []
    about = f"expected: {writer.full_name}"
    return [_difference("NAME_MISMATCH", (*path, "name"), about)]


def _alias_names(reader: Type) -> list[str]:
    """An alias without a namespace, of a type that has one, is written with a dot before it."""
    return [
        f".{alias}" if "." not in alias and reader.namespace else alias for alias in reader.aliases
    ]


def _symbols(reader: Type, writer: Type, path: tuple[str, ...]) -> list[Difference]:
    missing = sorted(set(writer.symbols) - set(reader.symbols))
    if not missing or reader.default is not None:
        return []
    about = f"[{', '.join(missing)}]"
    return [_difference("MISSING_ENUM_SYMBOLS", (*path, "symbols"), about)]


def _lacking(writer: Type, path: tuple[str, ...]) -> Difference:
    about = f"reader union lacking writer type: {writer.kind.upper()}"
    return _difference("MISSING_UNION_BRANCH", path, about)


def _difference(kind: str, path: tuple[str, ...], about: str) -> Difference:
    return Difference(kind, "/" + "/".join(path), about)

"""What a newer Protobuf file changes of an older one, by the tags of fields.

Removing a field is harmless, its tag is skipped; removing a message is not. Types of the same wire
form may take each other's place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ottla.registry.bounds import Budget
from ottla.registry.protobuf.names import Defined, Names
from ottla.registry.protobuf.tree import (
    SCALARS,
    Enum,
    Field,
    File,
    Message,
    OneOf,
    map_types,
)

HARMLESS = frozenset(
    [
        "MESSAGE_ADDED",
        "MESSAGE_MOVED",
        "ENUM_ADDED",
        "ENUM_REMOVED",
        "ENUM_CONST_ADDED",
        "ENUM_CONST_CHANGED",
        "ENUM_CONST_REMOVED",
        "FIELD_ADDED",
        "FIELD_REMOVED",
        "FIELD_NAME_CHANGED",
        "FIELD_STRING_OR_BYTES_LABEL_CHANGED",
        "ONEOF_ADDED",
        "ONEOF_REMOVED",
        "ONEOF_FIELD_ADDED",
        "ONEOF_FIELD_MOVED_TO_TOP_LEVEL",
    ]
)
_TEXTS = {
    "PACKAGE_CHANGED": "The package at '{path}' in the %s schema does not match the package in "
    "the %s schema",
    "MESSAGE_REMOVED": "The %s schema is missing a MESSAGE type at path '{path}' in the %s schema",
    "FIELD_KIND_CHANGED": "The type of a field at path '{path}' in the %s schema does not match "
    "the %s schema",
    "FIELD_SCALAR_KIND_CHANGED": "The kind of a SCALAR field at path '{path}' in the %s schema "
    "does not match its kind in the %s schema",
    "FIELD_NAMED_TYPE_CHANGED": "The type of a MESSAGE field at path '{path}' in the %s schema "
    "does not match its type in the %s schema",
    "FIELD_NUMERIC_LABEL_CHANGED": "The label for a NUMERIC field at path '{path}' in the %s "
    "schema does not match its label in the %s schema",
    "REQUIRED_FIELD_ADDED": "A required field  at path '{path}' in the %s schema is missing in "
    "the %s schema",
    "REQUIRED_FIELD_REMOVED": "The %s schema is missing a required field at path: '{path}' in "
    "the %s schema",
    "ONEOF_FIELD_REMOVED": "The %s schema is missing a oneof field at path '{path}' in the %s "
    "schema",
    "MULTIPLE_FIELDS_MOVED_TO_ONEOF": "Multiple fields in the oneof at path '{path}' in the %s "
    "schema are outside a oneof in the %s schema",
    "FIELD_MOVED_TO_EXISTING_ONEOF": "A field in the oneof at path '{path}' in the %s schema is "
    "outside an existing oneof in the %s schema",
}
_WIRE_FORMS = {
    "int32": "number",
    "int64": "number",
    "uint32": "number",
    "uint64": "number",
    "bool": "number",
    "sint32": "signed",
    "sint64": "signed",
    "string": "text",
    "bytes": "text",
    "fixed32": "fixed32",
    "sfixed32": "fixed32",
    "fixed64": "fixed64",
    "sfixed64": "fixed64",
    "float": "float",
    "double": "double",
}


class Difference(NamedTuple):
    kind: str
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        described = _TEXTS.get(self.kind, "").replace("{path}", "#/" + "/".join(self.path))
        return f'{{errorType:"{self.kind}", description:"{described}"}}'


class Side(NamedTuple):
    """One of the two files, with all that its names may mean, and the texts of its references."""

    file: File
    names: Names
    texts: Mapping[str, str]

    def text_with(self, defined: Defined) -> str:
        """Of the file that has the type; nothing for the file itself."""
        return self.texts.get(defined.file, "") if defined.file else ""


def differences(older: Side, newer: Side) -> list[Difference]:
    """Those that are not harmless."""
    return [one for one in all_differences(older, newer) if one.kind not in HARMLESS]


def all_differences(older: Side, newer: Side) -> list[Difference]:
    found = []
    if (older.file.package or "") != (newer.file.package or ""):
        found.append(Difference("PACKAGE_CHANGED"))
    scope = _Scope((), older.names.package, newer.names.package)
    found += _Comparison(older, newer).types(older.file.types, newer.file.types, scope)
    return found


class _Scope(NamedTuple):
    """Where a name stands: in which message, of which package on either side."""

    messages: tuple[str, ...]
    older_package: str
    newer_package: str

    def inside(self, name: str) -> "_Scope":
        return self._replace(messages=(*self.messages, name))


class _Comparison:
    def __init__(self, older: Side, newer: Side) -> None:
        self._older = older
        self._newer = newer
        self._under_way: set[int] = set()
        self._budget = Budget()

    def types(
        self,
        older: Sequence[Message | Enum],
        newer: Sequence[Message | Enum],
        scope: _Scope,
    ) -> Iterator[Difference]:
        before = {one.name: one for one in older if isinstance(one, Message)}
        after = {one.name: one for one in newer if isinstance(one, Message)}
        positions = list(before), list(after)
        for name in dict.fromkeys([*before, *after]):
            path = (*scope.messages, name)
            if name not in after:
                if not before[name].is_map_entry:
                    yield Difference("MESSAGE_REMOVED", path)
            elif name not in before:
                if not after[name].is_map_entry:
                    yield Difference("MESSAGE_ADDED", path)
            else:
                yield from self.messages(before[name], after[name], scope.inside(name))
                if positions[0].index(name) != positions[1].index(name):
                    yield Difference("MESSAGE_MOVED", path)
        yield from _enums(older, newer, scope.messages)

    def messages(self, older: Message, newer: Message, scope: _Scope) -> Iterator[Difference]:
        """A message within itself was compared already."""
        self._budget.step()
        first = id(older) not in self._under_way
        if first:
            self._under_way.add(id(older))
            yield from self._fields(older, newer, scope)
        yield from self.types(older.types, newer.types, scope)
        if first:
            self._under_way.discard(id(older))

    def _fields(self, older: Message, newer: Message, scope: _Scope) -> Iterator[Difference]:
        before, oneof_before = _by_tag(older)
        after, oneof_after = _by_tag(newer)
        path = scope.messages
        yield from _moved_together(newer.oneofs, before, oneof_before, path)
        names_before = {one.name for one in older.oneofs}
        names_after = {one.name for one in newer.oneofs}
        for name in sorted(names_before ^ names_after):
            kind = "ONEOF_REMOVED" if name in names_before else "ONEOF_ADDED"
            yield Difference(kind, (*path, name))
        gone = {
            one.name
            for one in older.oneofs
            if one.name not in names_after and not any(field.tag in after for field in one.fields)
        }
        for tag in sorted(before.keys() | after.keys()):
            was_in, is_in = oneof_before.get(tag), oneof_after.get(tag)
            if tag not in after:
                yield from _removed(before[tag], was_in, gone, path)
            elif tag not in before:
                yield _added(after[tag], is_in, path)
            else:
                if was_in is not None and is_in is None:
                    yield Difference("ONEOF_FIELD_MOVED_TO_TOP_LEVEL", (*path, str(tag)))
                here = (*path, *([is_in] if is_in else []), str(tag))
                yield from self._field(before[tag], after[tag], scope, here)

    def _field(
        self, older: Field, newer: Field, scope: _Scope, path: tuple[str, ...]
    ) -> Iterator[Difference]:
        if older.name != newer.name:
            yield Difference("FIELD_NAME_CHANGED", path)
        labels = (older.label, newer.label)
        yield from self._field_types(older.type, newer.type, labels, scope, path)

    def _field_types(
        self,
        older: str,
        newer: str,
        labels: tuple[str | None, str | None],
        scope: _Scope,
        path: tuple[str, ...],
    ) -> Iterator[Difference]:
        before = self._kind(older, self._older.names, scope.messages, scope.older_package)
        after = self._kind(newer, self._newer.names, scope.messages, scope.newer_package)
        if before[0] != after[0]:
            yield Difference("FIELD_KIND_CHANGED", path)
        elif before[0] == "scalar":
            if before[1] != after[1]:
                yield Difference("FIELD_SCALAR_KIND_CHANGED", path)
            elif None not in labels and labels[0] != labels[1]:
                kind = "STRING_OR_BYTES" if before[1] == "text" else "NUMERIC"
                yield Difference(f"FIELD_{kind}_LABEL_CHANGED", path)
        elif before[0] == "map":
            for one, two in zip(before[1], after[1], strict=True):
                yield from self._field_types(one, two, (None, None), scope, path)
        else:
            yield from self._message_types(older, newer, scope, path)

    def _kind(
        self, written: str, names: Names, scope: Sequence[str], package: str
    ) -> tuple[str, str | tuple[str, str]]:
        found = map_types(written)
        if found is not None:
            return "map", found
        if written in SCALARS:
            return "scalar", _WIRE_FORMS[written]
        full = names.resolve(written, scope, package)
        if full is None:
            return "message", ""
        one = names.defined(full).type
        if isinstance(one, Enum):
            return "scalar", "number"
        if one.is_map_entry:
            held = {field.name: field.type for field in one.fields}
            return "map", (held.get("key", "string"), held.get("value", "string"))
        return "message", ""

    def _message_types(
        self, older: str, newer: str, scope: _Scope, path: tuple[str, ...]
    ) -> Iterator[Difference]:
        before = self._older.names.resolve(older, scope.messages, scope.older_package)
        after = self._newer.names.resolve(newer, scope.messages, scope.newer_package)
        if before is None or after is None:
            if older != newer:
                yield Difference("FIELD_NAMED_TYPE_CHANGED", path)
            return
        one, two = self._older.names.defined(before), self._newer.names.defined(after)
        local_before = _local(before, one.package)
        if local_before != _local(after, two.package):
            yield Difference("FIELD_NAMED_TYPE_CHANGED", path)
            return
        if self._older.text_with(one) == self._newer.text_with(two):
            return  # in the files themselves, which are compared anyway, or nothing has changed
        if not isinstance(one.type, Message) or not isinstance(two.type, Message):
            return
        inner = _Scope(tuple(local_before.split(".")), one.package, two.package)
        found = [*self.messages(one.type, two.type, inner)]
        yield from found
        if any(held.kind not in HARMLESS for held in found):
            yield Difference("FIELD_NAMED_TYPE_CHANGED", path)


def _local(full: str, package: str) -> str:
    return full.removeprefix(f"{package}.") if package else full


def _by_tag(message: Message) -> tuple[dict[int, Field], dict[int, str]]:
    """Every field, and the oneof that it is in."""
    fields = {one.tag: one for one in message.fields}
    within = {}
    for oneof in message.oneofs:
        for one in oneof.fields:
            fields[one.tag] = one
            within[one.tag] = oneof.name
    return fields, within


def _moved_together(
    oneofs: Sequence[OneOf],
    before: dict[int, Field],
    oneof_before: dict[int, str],
    path: tuple[str, ...],
) -> Iterator[Difference]:
    """Fields that could both be set, and now exclude each other."""
    for oneof in oneofs:
        groups: set[str | int] = set()
        alone = 0
        for one in oneof.fields:
            if one.tag in oneof_before:
                groups.add(oneof_before[one.tag])
            elif one.tag in before:
                groups.add(one.tag)
                alone += 1
        if len(groups) > 1:
            kind = (
                "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if alone > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF"
            )
            yield Difference(kind, (*path, oneof.name))


def _removed(
    older: Field, was_in: str | None, gone: set[str], path: tuple[str, ...]
) -> Iterator[Difference]:
    if was_in is not None:
        if was_in not in gone:
            yield Difference("ONEOF_FIELD_REMOVED", (*path, was_in, str(older.tag)))
        return
    kind = "REQUIRED_FIELD_REMOVED" if older.label == "required" else "FIELD_REMOVED"
    yield Difference(kind, (*path, str(older.tag)))


def _added(newer: Field, is_in: str | None, path: tuple[str, ...]) -> Difference:
    if is_in is not None:
        return Difference("ONEOF_FIELD_ADDED", (*path, is_in, str(newer.tag)))
    kind = "REQUIRED_FIELD_ADDED" if newer.label == "required" else "FIELD_ADDED"
    return Difference(kind, (*path, str(newer.tag)))


def _enums(
    older: Sequence[Message | Enum], newer: Sequence[Message | Enum], path: tuple[str, ...]
) -> Iterator[Difference]:
    before = {one.name: one for one in older if isinstance(one, Enum)}
    after = {one.name: one for one in newer if isinstance(one, Enum)}
    for name in dict.fromkeys([*before, *after]):
        here = (*path, name)
        if name not in after:
            yield Difference("ENUM_REMOVED", here)
        elif name not in before:
            yield Difference("ENUM_ADDED", here)
        else:
            yield from _constants(before[name], after[name], here)


def _constants(older: Enum, newer: Enum, path: tuple[str, ...]) -> Iterator[Difference]:
    before = {one.tag: one.name for one in older.constants}
    after = {one.tag: one.name for one in newer.constants}
    for tag in sorted(before.keys() | after.keys()):
        here = (*path, str(tag))
        if tag not in after:
            yield Difference("ENUM_CONST_REMOVED", here)
        elif tag not in before:
            yield Difference("ENUM_CONST_ADDED", here)
        elif before[tag] != after[tag]:
            yield Difference("ENUM_CONST_CHANGED", here)

"""Which type a name means: looked for in the message where it stands, then further out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ottla.registry.protobuf.tree import Enum, File, Message


class Defined(NamedTuple):
    package: str
    type: Message | Enum
    file: str  # the name of the reference that brings it; "" for the file itself


class Names:
    """Of a file and of those that it refers to."""

    def __init__(self, file: File, references: Mapping[str, File]) -> None:
        self.package = file.package or ""
        self._types: dict[str, Defined] = {}
        for name, one in references.items():
            self._collect(one, name)
        self._collect(file, "")

    def _collect(self, file: File, name: str) -> None:
        package = file.package or ""
        for path, one in _nested(file.types, ()):
            full = ".".join((package, *path)) if package else ".".join(path)
            self._types[full] = Defined(package, one, name)

    def resolve(self, name: str, scope: Sequence[str], package: str | None = None) -> str | None:
        """The full name; None where nothing is known by it."""
        if name.startswith("."):
            return name[1:] if name[1:] in self._types else None
        within = package if package is not None else self.package
        prefix = [*(within.split(".") if within else []), *scope]
        while True:
            full = ".".join((*prefix, name))
            if full in self._types:
                return full
            if not prefix:
                return None
            prefix.pop()

    def defined(self, full: str) -> Defined:
        return self._types[full]

    def message(self, full: str) -> Message | None:
        found = self._types[full].type
        return found if isinstance(found, Message) else None


def _nested(
    types: Sequence[Message | Enum], path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Message | Enum]]:
    for one in types:
        here = (*path, one.name)
        yield here, one
        if isinstance(one, Message):
            yield from _nested(one.types, here)

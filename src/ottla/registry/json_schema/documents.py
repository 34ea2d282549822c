"""Where a `$ref` leads: in the document itself, or in one that the registry knows by a reference.

Nothing is ever fetched: what is not known here is an error.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urljoin

from ottla.registry.parsed import NotASchema

_META = ("http://json-schema.org/", "https://json-schema.org/")
Place = tuple[str, Any]
"""The base URI in force there, and what stands there."""


class Documents:
    def __init__(self, root: Any, references: Mapping[str, Any]) -> None:
        self._by_uri: dict[str, Any] = {"": root}
        for name, document in references.items():
            self._by_uri[name] = document
            self._index(document, name)
        self._index(root, "")

    def _index(self, document: Any, base: str) -> None:
        for at, part in walk(document, base):
            self._by_uri.setdefault(at, part)
            for name in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(name), str):
                    self._by_uri.setdefault(f"{at}#{part[name]}", part)

    def find(self, reference: str, base: str) -> Place:
        uri, _, fragment = urljoin(base, reference).partition("#")
        if reference.startswith("#"):
            uri, fragment = base.partition("#")[0], reference[1:]
        plain = reference.partition("#")[0]
        for candidate in (uri, plain):
            for whole in (f"{candidate}#{fragment}", candidate):
                if whole in self._by_uri and (reference.startswith("#") or whole):
                    if whole != candidate:
                        return candidate, self._by_uri[whole]
                    return _pointed(candidate, self._by_uri[whole], fragment, reference)
        if uri.startswith(_META):
            return uri, True  # a meta-schema: any schema
        raise NotASchema(f"Unresolved $ref '{reference}': references are not fetched")


def _pointed(base: str, document: Any, fragment: str, reference: str) -> Place:
    found = document
    for piece in unquote(fragment).split("/")[1:]:
        name = piece.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            raise NotASchema(f"Unresolved $ref '{reference}'")
        if isinstance(found, dict) and isinstance(found.get("$id"), str):
            base = urljoin(base, found["$id"])
    return base, found


def walk(document: Any, base: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in a document, with the base URI in force there."""
    waiting = [(base, document)]
    while waiting:
        at, part = waiting.pop()
        if isinstance(part, dict):
            name = part.get("$id", part.get("id"))
            if isinstance(name, str):
                at = urljoin(at, name).partition("#")[0]
            yield at, part
            waiting += [(at, one) for one in part.values()]
        elif isinstance(part, list):
            waiting += [(at, one) for one in part]

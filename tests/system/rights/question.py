"""A question to a broker or controller: an API and the fields of its request."""

from collections.abc import Callable
from typing import Any, NamedTuple

Ids = dict[str, bytes]
NO_SUCH_ID = b"no such topic id"


class Question(NamedTuple):
    name: str
    api: str
    fields: Callable[[Ids], dict[str, Any]]
    versions: range | None = None
    """Those that can say it; None: all."""
    at_controller: bool = False
    """Asked at a controller's listener, where brokers ask."""


def question(api: str, variant: str = "", versions: range | None = None, **fields: Any) -> Question:
    """A field that is a function is given the topics' ids."""

    def filled(ids: Ids) -> dict[str, Any]:
        return {name: said(ids) if callable(said) else said for name, said in fields.items()}

    return Question(f"{api} {variant}".strip(), api, filled, versions)

"""`/contexts/.staging/subjects/orders` is `/subjects/:.staging:orders`.

Pure: a path and its parameters in, those without the context out.
"""

from urllib.parse import quote, unquote

from ottla.registry.names import context_prefix, names_context
from ottla.serving.errors import RestError
from ottla.serving.routing import pieces_of

Parameters = list[tuple[str, str]]
_OWN = ("config", "mode")


def without_context(path: str, parameters: Parameters) -> tuple[str, Parameters]:
    """400 for the name of a context that is none."""
    first, *rest = pieces_of(path) or [""]
    if first != "contexts" or not rest:
        return path, parameters
    try:
        prefix = context_prefix(unquote(rest[0]))
    except ValueError as error:
        raise RestError(400, 400, str(error)) from None
    pieces = rest[1:]
    if not pieces:
        return f"/contexts/{quote(prefix, safe='')}", parameters
    return "/" + "/".join(_named(pieces, prefix)), _asked(pieces, parameters, prefix)


def _named(pieces: list[str], prefix: str) -> list[str]:
    """With the context before the subject; settings without a subject become the context's."""
    if pieces[0] in _OWN:
        if len(pieces) == 1:
            return [*pieces, quote(prefix, safe="")] if prefix else pieces
        return [pieces[0], _within(pieces[1], prefix), *pieces[2:]]
    if "subjects" in pieces and pieces.index("subjects") + 1 < len(pieces):
        at = pieces.index("subjects") + 1
        if pieces[0] == "schemas":
            return pieces  # /schemas/ids/7/subjects
        return [*pieces[:at], _within(pieces[at], prefix), *pieces[at + 1 :]]
    return pieces


def _within(piece: str, prefix: str) -> str:
    return piece if names_context(unquote(piece)) else quote(prefix, safe="") + piece


def _asked(pieces: list[str], parameters: Parameters, prefix: str) -> Parameters:
    if pieces[:2] == ["schemas", "ids"]:
        return _prefixed("subject", parameters, prefix)
    if pieces in (["schemas"], ["subjects"]):
        return _prefixed("subjectPrefix", parameters, prefix)
    return parameters


def _prefixed(name: str, parameters: Parameters, prefix: str) -> Parameters:
    said = [value for key, value in parameters if key == name] or [""]
    kept = [(key, value) for key, value in parameters if key != name]
    return kept + [(name, one if names_context(one) else prefix + one) for one in said]

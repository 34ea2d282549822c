"""Secrets taken out of what is shown: answers, traces, the log. Pure.

What a reference such as `${file:…}` stood for is shown as the reference again, and a password as
`[hidden]`, wherever they stand in a text. What is very short may be a part of anything, and stays;
so does a password that is somebody's name as well.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from ottla.connect.providers import REFERENCE

SHORTEST = 4
HIDDEN = "[hidden]"


class Redaction:
    def __init__(
        self, said: Mapping[str, str], resolved: Mapping[str, str], passwords: Iterable[str] = ()
    ) -> None:
        """`passwords` names keys whose values are none of a reader's business."""
        found: dict[str, str] = {}
        hidden = set(passwords)
        open_values = [value for name, value in resolved.items() if name not in hidden]
        for name in hidden:
            password = resolved.get(name, "")
            if not any(password in one for one in open_values):
                found[password] = HIDDEN
        for name, value in said.items():
            found |= dict(_secrets(value, resolved.get(name, value)))
        # The longest first: one may be a part of another.
        self._secrets = sorted(
            ((secret, shown) for secret, shown in found.items() if len(secret) >= SHORTEST),
            key=lambda one: -len(one[0]),
        )

    def __call__(self, text: str) -> str:
        for secret, shown in self._secrets:
            text = text.replace(secret, shown)
        return text


def _secrets(said: str, resolved: str) -> Iterator[tuple[str, str]]:
    """What each reference of a value stands for."""
    if said == resolved:
        return
    yield resolved, said
    references = [one[0] for one in REFERENCE.finditer(said)]
    literals = [re.escape(one) for one in _between(said)]
    found = re.fullmatch("(.*)".join(literals), resolved, re.DOTALL)
    if found is not None:
        yield from zip(found.groups(), references, strict=True)


def _between(said: str) -> Iterator[str]:
    end = 0
    for one in REFERENCE.finditer(said):
        yield said[end : one.start()]
        end = one.end()
    yield said[end:]

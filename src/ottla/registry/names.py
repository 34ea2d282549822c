"""Names of subjects and contexts: `orders-value`, `:.staging:orders-value`.

Ids count per context. A name without a context is in the default one, whose name is a single dot.
"""

from typing import NamedTuple

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ".__GLOBAL"
"""Settings and modes of every context that has none of its own."""
WILDCARD = ":*:"
_PREFIX = ":."
_UNUSABLE = ("__GLOBAL", "__EMPTY")


class QualifiedSubject(NamedTuple):
    context: str
    subject: str

    @property
    def in_default(self) -> bool:
        return self.context == DEFAULT_CONTEXT

    @property
    def prefix(self) -> str:
        """What stands before a subject of this context; nothing in the default one."""
        return "" if self.in_default else f":{self.context}:"

    def __str__(self) -> str:
        return self.prefix + self.subject


def qualified(name: str) -> QualifiedSubject:
    if name.startswith(_PREFIX):
        context, _, subject = name[1:].partition(":")
        return QualifiedSubject(context, subject)
    if name.startswith(WILDCARD):
        return QualifiedSubject("*", name.removeprefix(WILDCARD))
    return QualifiedSubject(DEFAULT_CONTEXT, name)


def normal(name: str) -> str:
    """The one spelling under which a subject is kept: `:.:orders` is `orders`."""
    return str(qualified(name))


def context_of(name: str | None) -> str:
    return DEFAULT_CONTEXT if name is None else qualified(name).context


def prefix_of(name: str) -> str:
    return qualified(name).prefix


def within(parent: str, name: str) -> QualifiedSubject:
    """A subject that another one names: in the other's context, unless it names one itself."""
    found = qualified(name)
    if found.in_default:
        return QualifiedSubject(context_of(parent), found.subject)
    return found


def context_prefix(context: str) -> str:
    """`staging`, `.staging` and `:.staging:` as what stands before a subject.

    ValueError with a sentence for a name that has a colon within."""
    bare = context.removeprefix(":").removesuffix(":")
    if ":" in bare:
        raise ValueError(f"Context name '{bare}' cannot contain a colon")
    if not bare.startswith("."):
        bare = "." + bare
    return "" if bare == DEFAULT_CONTEXT else f":{bare}:"


def names_context(name: str) -> bool:
    return name.startswith((_PREFIX, WILDCARD))


def is_default_context(name: str | None) -> bool:
    return name is None or qualified(name) == QualifiedSubject(DEFAULT_CONTEXT, "")


def is_global_context(name: str | None) -> bool:
    return name is not None and qualified(name) == QualifiedSubject(GLOBAL_CONTEXT, "")


def is_context(name: str | None) -> bool:
    """Whether a name stands for all subjects of a context."""
    return name is None or not qualified(name).subject


def covers(scope: str | None, subject: str) -> bool:
    """Whether a subject is the scope, or of the context that the scope is."""
    if scope is None or scope == subject:
        return True
    whole = qualified(scope)
    if whole.subject:
        return False
    return whole.context in (GLOBAL_CONTEXT, context_of(subject))


def is_valid(name: str, *, for_setting: bool = False, may_be_empty: bool = True) -> bool:
    """Whether something may be registered, or set, under the name."""
    if any(_is_control(character) for character in name):
        return False
    found = qualified(name)
    if found.subject in _UNUSABLE:
        return False
    if not may_be_empty and found.subject in ("", "*"):
        return False
    return for_setting or found.context != GLOBAL_CONTEXT


def _is_control(character: str) -> bool:
    return character < " " or "\x7f" <= character <= "\x9f"

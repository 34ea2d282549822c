"""Regular expressions of clients: RE2, whose time grows with the text and never explodes."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ottla.errors import ErrorCode, KafkaError

MAX_LENGTH = 4_096


@lru_cache(maxsize=1_000)
def _compiled(pattern: str) -> Any:
    import re2  # native, and wanted by few

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        shown = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {shown}.",
        ) from None


def check(pattern: str) -> None:
    if len(pattern) > MAX_LENGTH:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, "The regular expression is too long."
        )
    _compiled(pattern)


def matching(pattern: str, names: Iterable[str]) -> tuple[str, ...]:
    """The names that match as a whole, sorted."""
    matches = _compiled(pattern).fullmatch
    return tuple(sorted(name for name in names if matches(name) is not None))

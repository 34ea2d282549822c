"""The usual validators of ConfigDef, with Java's sentences. Pure."""

from collections.abc import Sequence
from typing import Any

from ottla.connect.definitions import DistinctValues, Validator, invalid


def one_of(*words: str, any_case: bool = False) -> Validator:
    """ValidString, or CaseInsensitiveValidString."""
    known = [one.upper() for one in words] if any_case else list(words)
    kind = " (case insensitive)" if any_case else ""

    def check(name: str, value: Any) -> None:
        said = value.upper() if any_case and value is not None else value
        if said not in known:
            raise invalid(name, value, f"String must be one of{kind}: {', '.join(known)}")

    return check


def non_empty(name: str, value: Any) -> None:
    """NonEmptyString."""
    if value is not None and not value:
        raise invalid(name, value, "String must be non-empty")


def without_control_characters(name: str, value: Any) -> None:
    """NonEmptyStringWithoutControlChars."""
    if value is None:
        return
    if not value:
        raise invalid(name, value, "String may not be empty")
    found = sorted({ord(sign) for sign in value if ord(sign) < 32 or 127 <= ord(sign) < 160})
    if found:
        shown = ", ".join(map(str, found))
        raise invalid(
            name,
            value,
            f"String may not contain control sequences but had the following ASCII chars: {shown}",
        )


def non_null(name: str, value: Any) -> None:
    if value is None:
        raise invalid(name, None, "entry must be non null")


def at_least(minimum: float, *, or_null: bool = False) -> Validator:
    return between(minimum, None, or_null=or_null)


def between(minimum: float, maximum: float | None, *, or_null: bool = False) -> Validator:
    """Range."""

    def check(name: str, value: Any) -> None:
        if value is None:
            if or_null:
                return
            raise invalid(name, None, "Value must be non-null")
        if value < minimum:
            raise invalid(name, value, f"Value must be at least {minimum}")
        if maximum is not None and value > maximum:
            raise invalid(name, value, f"Value must be no more than {maximum}")

    return check


def distinct_values(*, empty: bool = True, known: Sequence[str] = ()) -> Validator:
    """ValidList."""
    return DistinctValues(empty=empty, check_one=one_of(*known) if known else None, known=known)


def unique_aliases(name: str, value: Any) -> None:
    non_null(name, value)
    if len(set(value)) != len(value):
        raise invalid(name, value, "Duplicate alias provided.")


def every(*validators: Validator) -> Validator:
    """CompositeValidator: the first that is not content speaks."""

    def check(name: str, value: Any) -> None:
        for one in validators:
            one(name, value)

    return check

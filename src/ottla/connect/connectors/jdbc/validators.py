"""What single keys must be. Pure."""

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from ottla.connect.connectors.jdbc.url import read_url


def one_of(*allowed: Any) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value not in allowed:
            said = ", ".join(one for one in allowed if one)
            raise ValueError(
                f"Invalid value {value} for configuration {name}: must be one of {said}"
            )

    return check


def at_least(least: int) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value < least:
            raise ValueError(
                f"Invalid value {value} for configuration {name}: Value must be at least {least}"
            )

    return check


def zone(name: str, value: Any) -> None:
    try:
        ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"Invalid value {value} for configuration {name}: there is no such time zone"
        ) from None


def url(name: str, value: Any) -> None:
    """The URL itself may hold a password: it is not shown."""
    try:
        read_url(value, None, None, "source")
    except ValueError as error:
        raise ValueError(f"Invalid value for configuration {name}: {error}") from None

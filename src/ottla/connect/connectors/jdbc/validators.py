"""What keys of JDBC connectors must be, beyond `connect.validators`. Pure."""

from typing import Any
from zoneinfo import ZoneInfo

from ottla.connect.connectors.jdbc.url import read_url
from ottla.connect.definitions import Validator, invalid


def one_of(*allowed: str | None) -> Validator:
    """Null, too, where it is among them."""
    said = ", ".join(one for one in allowed if one)

    def check(name: str, value: Any) -> None:
        if value not in allowed:
            raise invalid(name, value, f"must be one of {said}")

    return check


def zone(name: str, value: Any) -> None:
    try:
        ZoneInfo(value)
    except (KeyError, TypeError, ValueError, OSError):
        raise invalid(name, value, "there is no such time zone") from None


def url(name: str, value: Any) -> None:
    """The URL itself may hold a password: it is not shown."""
    if value is None:  # missing, which somebody else tells
        return
    try:
        read_url(value, None, None, "source")
    except ValueError as error:
        raise ValueError(f"Invalid value for configuration {name}: {error}") from None

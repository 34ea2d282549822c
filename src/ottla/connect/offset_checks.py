"""What offsets that are set by hand may hold: for the `check_offset` of a connector. Pure.

A ConnectError is the answer to whoever sets them.
"""

from collections.abc import Collection

from ottla.connect.connector import ConnectError, Place


def check_primitive(place: Place) -> None:
    """As Connect asks it of every connector's."""
    for name, value in place.items():
        for kind, shown in ((dict, "MAP"), (list, "ARRAY")):
            if isinstance(value, kind):
                raise ConnectError(
                    "Offsets may only contain primitive types as values, but field "
                    f"{name} contains {shown}"
                )


def check_partition(partition: Place | None, *kinds: Collection[str]) -> None:
    """One with other keys would never be looked up."""
    if not any(set(partition or {}) == set(kind) for kind in kinds):
        shown = ", or ".join(" and ".join(f"'{name}'" for name in kind) for kind in kinds)
        raise ConnectError(f"Partition objects should contain the keys {shown}, and no other")


def check_numbers(offset: Place, *names: str) -> None:
    """Whole and not negative, where they are said."""
    for name in names:
        value = offset.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise ConnectError(
                f"The value for the '{name}' key in the offset should be a whole number, and not "
                "negative"
            )

"""What an offset of a source may look like, where its connector says so."""

from collections.abc import Sequence
from typing import Any

from ottla.connect import plugins
from ottla.connect.connector import ConnectError, Plugin
from ottla.connect.offset_checks import check_primitive


def checked_offsets(plugin: Plugin | None, said: Sequence[tuple[Any, Any]]) -> None:
    """ConnectError for offsets that the connector could not go on from.

    A connector's module may have `check_offset(partition, offset)`; one without it takes any.
    """
    if plugin is None:
        raise ConnectError(
            "The connector's class is not served here: its offsets cannot be judged."
        )
    check = getattr(plugins.module_of(plugin), "check_offset", None)
    for partition, offset in said:
        for what in (partition, offset):
            if what is not None and not isinstance(what, dict):
                raise ConnectError(f"{what} is no JSON object.")
            check_primitive(what or {})
        if check is not None and offset is not None:
            check(partition, offset)

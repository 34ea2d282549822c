"""Every API has its row of rights, and a guard where the row sends for one."""

import pytest

from ottla.broker.api import Api, Listeners, Right, apis
from ottla.broker.rights.guard import _closed, guard_of

IN_HANDLER = {"produce", "fetch"}  # their answers are bytes
OPEN = {"api_versions", "sasl_handshake", "sasl_authenticate", "describe_cluster"}
ROWS = [*apis(Listeners.BROKER).values(), *apis(Listeners.CONTROLLER).values()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.listeners.name}")
def test_no_api_is_without_a_rule(row: Api) -> None:
    if row.right is Right.NONE:
        assert row.name in OPEN
    elif row.right is Right.RESOURCES and row.name not in IN_HANDLER:
        assert guard_of(row.area, row.name) is not _closed


def test_what_has_no_guard_is_closed() -> None:
    assert guard_of("cluster", "an api that nobody thought of") is _closed

"""GTIDs in both forms, and which definitions of a history an offset has behind it."""

import pytest

from ottla.connect.connectors.mysql_cdc.gtids import MariaDbGtids, MySqlGtids, gtids
from ottla.connect.connectors.mysql_cdc.recovery import at_or_before

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def test_mariadb_counts_by_domain_and_server() -> None:
    known = gtids("0-1-5,\n1-2-7")
    assert isinstance(known, MariaDbGtids)
    assert known.with_one("0-1-6").text == "0-1-6,1-2-7"
    assert known.with_one("0-3-9").connect_state == "0-3-9,1-2-7"
    assert known.within(known.with_one("0-3-9"))
    assert not known.with_one("2-1-1").within(known)


def test_mysql_counts_by_source() -> None:
    known = gtids(f"{UUID}:1-5")
    assert isinstance(known, MySqlGtids)
    more = known.with_one(f"{UUID}:6")
    assert more.text == f"{UUID}:1-6"
    assert known.within(more)
    assert not more.within(known)
    assert len(known.encoded()) == 8 + 16 + 8 + 16


@pytest.mark.parametrize(
    ("recorded", "stored", "before"),
    [
        ({"gtids": "0-1-5"}, {"gtids": "0-1-6"}, True),
        ({"gtids": "0-1-7"}, {"gtids": "0-1-6"}, False),
        ({"gtids": "0-1-6", "event": 1}, {"gtids": "0-1-6"}, False),
        ({"gtids": "0-1-6", "event": 1}, {"gtids": "0-1-6", "event": 2}, True),
        ({"gtids": "0-1-6", "snapshot": "INITIAL"}, {"gtids": "0-1-6"}, True),
        ({"file": "b.000002", "pos": 4}, {"gtids": "0-1-6"}, True),
        ({"gtids": "0-1-6"}, {"file": "b.000002", "pos": 4}, False),
        ({"file": "b.000002", "pos": 4}, {"file": "b.000010", "pos": 4}, True),
        ({"file": "b.000002", "pos": 5}, {"file": "b.000002", "pos": 4}, False),
        ({"file": "b.000002", "pos": 4, "server_id": 1, "ts_sec": 9}, {"ts_sec": 8}, False),
    ],
)
def test_a_definition_counts_if_it_was_made_before_the_offset(
    recorded: dict[str, object], stored: dict[str, object], before: bool
) -> None:
    assert at_or_before(recorded, stored) is before

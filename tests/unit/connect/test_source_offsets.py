"""Offsets that are set by hand: what a connector could not go on from is refused in a sentence."""

from typing import Any

import pytest

from ottla.connect import plugins
from ottla.connect.connector import ConnectError
from ottla.connect.source_offsets import checked_offsets

TABLE = {"protocol": "1", "table": "public.orders"}
SERVER = {"server": "shop"}
STREAMED = {
    "lsn_proc": 7,
    "messageType": "INSERT",
    "lsn_commit": 5,
    "lsn": 7,
    "txId": 3,
    "ts_usec": 1,
}


@pytest.mark.parametrize(
    ("plugin", "partition", "offset"),
    [
        ("jdbc-source", TABLE, {"incrementing": 5}),
        ("jdbc-source", TABLE, {"incrementing": -5}),
        ("jdbc-source", {"query": "query"}, {"timestamp_nanos": 1000, "timestamp": 1}),
        ("jdbc-source", TABLE, None),
        ("postgres-cdc", SERVER, STREAMED),
        ("postgres-cdc", SERVER, {"lsn": 9, "snapshot": "INITIAL", "snapshot_completed": True}),
        ("postgres-cdc", SERVER, None),
    ],
)
def test_what_a_connector_writes_itself_can_be_set(
    plugin: str, partition: Any, offset: Any
) -> None:
    checked_offsets(plugins.find(plugin), [(partition, offset)])


@pytest.mark.parametrize(
    ("plugin", "partition", "offset", "sentence"),
    [
        ("jdbc-source", {"table": "orders"}, {"incrementing": 5}, "'protocol' and 'table'"),
        ("jdbc-source", TABLE, {"incrementing": "5"}, "'incrementing'.* whole number"),
        ("jdbc-source", TABLE, {"timestamp": 1.5}, "'timestamp'.* whole number"),
        ("jdbc-source", TABLE, {"timestamp": 1, "timestamp_nanos": 10**9}, "of one second"),
        ("jdbc-source", TABLE, {"number": 5}, "'incrementing' or 'timestamp'"),
        ("jdbc-source", TABLE, {"incrementing": [5]}, "field incrementing contains ARRAY"),
        ("postgres-cdc", {"topic": "shop"}, STREAMED, "'server', and no other"),
        ("postgres-cdc", None, STREAMED, "'server'"),
        ("postgres-cdc", SERVER, {**STREAMED, "lsn": "0/16B3748"}, "'lsn'.* whole number"),
        ("postgres-cdc", SERVER, {"lsn_proc": 7}, "contain the key 'lsn'"),
        ("postgres-cdc", SERVER, {**STREAMED, "messageType": "SELECT"}, "SELECT"),
        ("postgres-cdc", SERVER, {"lsn": 1, "snapshot_completed": "yes"}, "no boolean"),
        ("postgres-cdc", SERVER, {"lsn": {"a": 1}}, "field lsn contains MAP"),
        ("file-source", {"filename": "x"}, {"position": [1]}, "contains ARRAY"),
    ],
)
def test_what_a_connector_could_not_go_on_from_is_refused(
    plugin: str, partition: Any, offset: Any, sentence: str
) -> None:
    with pytest.raises(ConnectError, match=sentence):
        checked_offsets(plugins.find(plugin), [(partition, offset)])

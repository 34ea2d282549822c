"""The demo's customers in their table: as the connector would bring them into the topic."""

import json
from pathlib import Path

from ottla.cli.demo_table import TableOfCustomers, connector
from ottla.client.connection import Connection
from ottla.connect.pipeline import Failure
from ottla.connect.preview import source_rows


def test_who_moves_is_a_row_that_changed(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    table = TableOfCustomers(Connection("127.0.0.1:1"), file)
    table.put("c0", "Customer 0", "Poland")
    table.put("c1", "Customer 1", "Austria")
    table.put("c0", "Customer 0", "Czechia")
    found = list(source_rows(connector(file), {}, 10, list[Failure]().append))
    table.close()
    shown = sorted((one.topic, one.key or b"", json.loads(one.value or b"")) for one in found)
    assert [(topic, key, row["country"]) for topic, key, row in shown] == [
        ("customers", b"c0", "Czechia"),
        ("customers", b"c1", "Austria"),
    ]
    assert isinstance(shown[0][2]["changed_at"], int)

"""What Debezium wrote for `tables.sql` and `changes.sql`, kept so that it need not run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from support import golden
from support.cdc import Shown
from support.mysql_cdc import without_positions

FOLDER: Final = Path(__file__).parent
TABLES, CHANGES = FOLDER / "tables.sql", FOLDER / "changes.sql"
DATABASE: Final = "shop"
CONFIGURATIONS: Final[Mapping[str, Mapping[str, str]]] = {  # by topic.prefix
    "plain": {"skipped.operations": "none"},
    "modes1": {
        "decimal.handling.mode": "string",
        "time.precision.mode": "connect",
        "bigint.unsigned.handling.mode": "precise",
        "binary.handling.mode": "hex",
        "provide.transaction.metadata": "true",
        "include.schema.changes": "false",
    },
    "modes2": {
        "decimal.handling.mode": "double",
        "time.precision.mode": "isostring",
        "binary.handling.mode": "base64",
        "snapshot.mode": "no_data",
        "tombstones.on.delete": "false",
    },
    "modes3": {
        "time.precision.mode": "nanoseconds",
        "binary.handling.mode": "base64-url-safe",
        "schema.history.internal.store.only.captured.tables.ddl": "true",
        "table.include.list": "shop.wild,shop.composite,shop.later,shop.strict",
        "column.exclude.list": "shop.wild.c_text",
    },
}


def recorded(prefix: str) -> dict[str, list[Shown]]:
    """By topic."""
    found = golden.read(FOLDER / "debezium.json")
    return {
        topic: records
        for topic, records in found.items()
        if topic == prefix or topic.startswith(f"{prefix}.")
    }


def comparable(record: Shown) -> Shown:
    """Without what differs between two runs; the names of server and database do not."""
    shown = without_positions(record)
    if record["value"] is None or "source" not in record["value"]["payload"]:
        return shown
    source = record["value"]["payload"]["source"]
    payload = dict(shown["value"]["payload"])
    payload["source"] = {
        name: value if name in ("db", "name") else payload["source"][name]
        for name, value in source.items()
    }
    return {**shown, "value": {**shown["value"], "payload": payload}}

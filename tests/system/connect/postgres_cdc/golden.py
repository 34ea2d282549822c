"""What Debezium wrote for `tables.sql` and `changes.sql`, kept so that it need not run."""

import json
from pathlib import Path
from typing import Any

from support.cdc import Shown

FOLDER = Path(__file__).parent
TABLES, CHANGES = FOLDER / "tables.sql", FOLDER / "changes.sql"


def recorded() -> dict[str, list[Shown]]:
    """By topic. Schemas stand in the file once, and are put back where they belong."""
    kept = json.loads((FOLDER / "debezium.json").read_text())
    schemas = kept["schemas"]

    def schema(at: int) -> Any:
        whole = dict(schemas[at])
        if "fields" in whole:
            whole["fields"] = [
                {**schemas[one["$schema"]], "field": one["field"]} if "$schema" in one else one
                for one in whole["fields"]
            ]
        return whole

    grouped: dict[str, list[Shown]] = {}
    for record in kept["records"]:
        for part in ("key", "value"):
            if record[part] is not None:
                record[part]["schema"] = schema(record[part]["schema"])
        grouped.setdefault(record["topic"], []).append(record)
    return grouped

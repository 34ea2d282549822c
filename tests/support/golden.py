"""What Debezium wrote, kept in a file so that it need not run. A schema stands in it once."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support.cdc import Shown


def read(file: Path) -> dict[str, list[Shown]]:
    """By topic, with schemas put back where they belong."""
    kept = json.loads(file.read_text())
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


def write(file: Path, records: Iterable[Shown]) -> None:
    schemas: list[Any] = []

    def number(schema: Any) -> int:
        if schema not in schemas:
            schemas.append(schema)
        return schemas.index(schema)

    def referred(schema: Any) -> int:
        if schema.get("type") != "struct":
            return number(schema)
        fields = []
        for one in schema["fields"]:
            if one.get("type") == "struct" and len(one["fields"]) > 4:
                inner = {name: value for name, value in one.items() if name != "field"}
                fields.append({"field": one["field"], "$schema": number(inner)})
            else:
                fields.append(one)
        return number({**schema, "fields": fields})

    kept = []
    for record in records:
        shown = dict(record)
        for part in ("key", "value"):
            if shown[part] is not None:
                shown[part] = {**shown[part], "schema": referred(shown[part]["schema"])}
        kept.append(shown)
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in schemas)
    rows = ",\n".join(json.dumps(one, ensure_ascii=False) for one in kept)
    file.write_text(f'{{"schemas": [\n{lines}\n],\n"records": [\n{rows}\n]}}\n')

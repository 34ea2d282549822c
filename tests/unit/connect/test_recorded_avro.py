"""What Confluent's AvroData made of schemas and values, written down; see record_avro_tasks.py."""

import json
from pathlib import Path
from typing import Any

from support.avro_tasks import avro_answer, same_schema
from support.connect_shown import comparable

RECORDED = Path(__file__).with_name("recorded_avro_tasks.jsonl")


def test_schemas_and_values_become_avro_and_back_as_confluents_do() -> None:
    lines = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    assert len(lines) > 300
    for one in lines:
        ours = avro_answer(one["task"])
        assert not differs(ours, one["answer"]), f"ours: {json.dumps(ours)}\n{json.dumps(one)}"


def differs(ours: Any, theirs: Any) -> bool:
    if "error" in theirs or "error" in ours:
        return ("error" in theirs) is not ("error" in ours)
    if "avro" in theirs:
        return not same_schema(ours["avro"], theirs["avro"]) or ours["data"] != theirs["data"]
    return bool(comparable(ours) != comparable(theirs))

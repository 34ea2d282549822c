"""What Connect's own classes made of drawn records, written down; see record_tasks.py."""

import json
from pathlib import Path

from support.connect_shown import differs, our_answer

RECORDED = Path(__file__).with_name("recorded_tasks.jsonl")


def test_transforms_predicates_and_converters_do_what_connects_did() -> None:
    lines = RECORDED.read_text().splitlines()
    assert len(lines) > 200
    for line in lines:
        recorded = json.loads(line)
        ours = our_answer(recorded["task"])
        assert not differs(ours, recorded["answer"]), f"ours: {json.dumps(ours)}\n{line}"

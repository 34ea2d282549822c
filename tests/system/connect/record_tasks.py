"""Draws tasks, asks Connect's classes, and writes down what tests without Java compare with.

`python tests/system/connect/record_tasks.py` (with `tests` on the path) writes the file anew.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.connect_drawing import (
    TRANSFORMS,
    header_tasks,
    predicate_tasks,
    read_tasks,
    transform_tasks,
    write_tasks,
)
from support.jars import PROJECT
from system.connect.test_record_oracle import Oracle

RECORDED = PROJECT / "tests" / "unit" / "connect" / "recorded_tasks.jsonl"
_LONGEST = 900  # characters of a task


def drawn(tasks: st.SearchStrategy[Any], count: int) -> list[Any]:
    found: dict[str, Any] = {}

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(tasks)
    def draw(task: Any) -> None:
        text = json.dumps(task)
        if len(text) < _LONGEST:
            found[text] = task

    draw()
    return list(found.values())


def main() -> None:
    groups = [(transform_tasks(name), 14) for name in sorted(TRANSFORMS)]
    groups += [(predicate_tasks(), 10), (write_tasks(), 50), (read_tasks(), 50)]
    groups += [(header_tasks(), 60)]
    with tempfile.TemporaryDirectory() as classes:
        oracle = Oracle(Path(classes))
        with RECORDED.open("w") as written:
            for tasks, count in groups:
                for task in drawn(tasks, count):
                    line = {"task": task, "answer": oracle.answer(task)}
                    written.write(json.dumps(line, separators=(",", ":")) + "\n")
        oracle.close()


if __name__ == "__main__":
    main()

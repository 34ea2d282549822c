"""Connect's own transforms, predicates and converters say what becomes of a record."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.connect_drawing import (
    TRANSFORMS,
    header_tasks,
    predicate_tasks,
    read_tasks,
    transform_tasks,
    write_tasks,
)
from support.connect_shown import differs, our_answer
from support.jars import connect_libraries

pytestmark = [
    pytest.mark.java,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("javac") is None, reason="needs Java's compiler"),
    pytest.mark.timeout(900),
]
Many = settings(
    max_examples=250, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
PROGRAM = Path(__file__).with_name("RecordOracle.java")


class Oracle:
    """A Java process that answers line by line."""

    def __init__(self, classes: Path) -> None:
        path = f"{connect_libraries()}/*"
        subprocess.run(["javac", "-nowarn", "-cp", path, "-d", classes, PROGRAM], check=True)
        self.process = subprocess.Popen(
            ["java", "-Xmx256m", "-Duser.timezone=UTC", "-cp", f"{path}:{classes}", PROGRAM.stem],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def answer(self, task: Any) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(task).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Oracle]:
    started = Oracle(tmp_path_factory.mktemp("classes"))
    yield started
    started.close()


def compare(oracle: Oracle, task: dict[str, Any]) -> None:
    theirs, ours = oracle.answer(task), our_answer(task)
    assert not differs(ours, theirs), json.dumps({"task": task, "java": theirs, "ours": ours})


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_a_transform_makes_the_same_of_drawn_records(oracle: Oracle, name: str) -> None:
    @Many
    @given(st.data())
    def check(data: st.DataObject) -> None:
        compare(oracle, data.draw(transform_tasks(name)))

    check()


@pytest.mark.parametrize("tasks", [predicate_tasks, write_tasks, read_tasks, header_tasks])
def test_predicates_and_converters_do_the_same_with_drawn_records(
    oracle: Oracle, tasks: Any
) -> None:
    @settings(Many, max_examples=1000)
    @given(tasks())
    def check(task: dict[str, Any]) -> None:
        compare(oracle, task)

    check()

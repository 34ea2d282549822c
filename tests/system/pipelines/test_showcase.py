"""`ottla demo --spark`, as `make run` shows it: from nothing to results, and to a clean end."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ottla.pipelines.lifecycle.showcase import PEOPLE

CHANGES = re.compile(r"([\d,]+) rows of the table customers have arrived by jdbc-source")
RESULTS = re.compile(r"([\d,]+) results, median age \d+ ms: (.+)")


@pytest.fixture(params=[[], ["--secure"]], ids=["open", "secure"])
def demo(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        [sys.executable, "-m", "ottla", "demo", "--spark", *request.param],
        stdout=subprocess.PIPE,
        text=True,
    )
    yield started
    started.kill()
    started.wait()


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_main_job_starts_shows_results_and_ends_at_ctrl_c(
    demo: "subprocess.Popen[str]",
) -> None:
    assert demo.stdout is not None
    said: list[str] = []
    counts: list[int] = []
    for line in demo.stdout:
        said.append(line)
        if found := RESULTS.match(line):
            counts.append(int(found[1].replace(",", "")))
        if len(counts) == 3:  # a line every five seconds
            break
    assert len(counts) == 3, said
    assert counts[0] < counts[1] < counts[2]
    assert re.search(r"Czechia \d", said[-1])
    os.kill(demo.pid, signal.SIGINT)
    rest, _ = demo.communicate(timeout=100)
    assert demo.returncode == 0
    assert rest.splitlines()[-1].endswith("Spark and the broker have stopped.")
    assert any(line.startswith("Spark's own page: http://") for line in said)
    assert "failed" not in "".join(said)
    arrived = [int(found[1]) for line in said if (found := CHANGES.match(line))]
    assert arrived, said
    assert arrived[-1] >= PEOPLE

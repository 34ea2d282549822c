"""The tutorial, done as a reader would: its snippets in order, its commands in a shell.

Only the block that starts a Spark cluster (marked bash) is not run here: `test_clusters` does that.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ottla.pipelines.api.app import App
from ottla.pipelines.lifecycle.brokers import connect

PAGE = Path(__file__).parents[3] / "docs" / "pipelines.md"
SOURCE = Path(__file__).parents[3] / "src"
BLOCK = re.compile(
    r"^```(?P<kind>python|sh)\n(?P<code>.*?)^```\n(\n```\n(?P<said>.*?)^```)?",
    re.MULTILINE | re.DOTALL,
)
# `ottla` as if it were installed; the broker of the test run is there already.
OTTLA = """#!/bin/sh
[ "$1" = start ] || exec {python} -m ottla "$@"
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_every_snippet_of_the_tutorial_runs(
    driven: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTTLA_BOOTSTRAP", driven)
    monkeypatch.setenv("OTTLA_STATE", str(tmp_path / "state"))
    program = tmp_path / "bin" / "ottla"
    program.parent.mkdir()
    program.write_text(OTTLA.format(python=sys.executable))
    program.chmod(0o755)
    environment = os.environ | {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(SOURCE),
        "OTTLA_STATE": str(tmp_path / "state"),
    }
    namespace: dict[str, object] = {}
    blocks = list(BLOCK.finditer(PAGE.read_text()))
    assert len(blocks) >= 8
    try:
        for number, block in enumerate(blocks):
            if block["kind"] == "python":
                if number == 0:
                    (tmp_path / "shop.py").write_text(block["code"])
                exec(compile(block["code"], str(PAGE), "exec"), namespace)
                continue
            done = subprocess.run(
                ["sh", "-e", "-c", block["code"]],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=200,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            for line in (block["said"] or "").splitlines():
                assert line in done.stdout
    finally:  # another run finds the cluster as this one did
        names = ["orders", "totals", "large-orders", "totals-v2", "large-orders-v2"]
        names += ["above-5", "shop-dead-letters", "script-dead-letters"]
        connect(App("shop", bootstrap=driven).definition()).delete_topics(names)

"""Kafka's tools in one virtual machine, and the program of the Go clients, for the whole run."""

import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.toolbox import Toolbox

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("toolbox")
    opened = Toolbox(folder, folder / "toolbox.log")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def go_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("go") is None:
        pytest.skip("Go is not installed")
    program = tmp_path_factory.mktemp("go") / "interop"
    subprocess.run(
        ["go", "build", "-buildvcs=false", "-o", program, "."], cwd=HERE / "go", check=True
    )
    return program


@pytest.fixture
def name() -> str:
    """A name for a topic or group of the test's own."""
    return f"interop-{uuid.uuid4().hex[:8]}"

"""Clients of Connect's REST API that others wrote, unchanged, before Connect and before a worker of
ours: kafka-connect-api (PyPI), kafka-connect-client (npm), org.sourcelab's (Maven).

What they see is written down once; either kind of worker has to show it.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from support.connect_workers import LocalWorker
from support.jars import connect_client_libraries
from system.connect.original import Original
from system.connect.requests import SOURCE

pytestmark = [pytest.mark.foreign, pytest.mark.long, pytest.mark.timeout(400)]
HERE = Path(__file__).parent / "clients"
ALTERED = "The offsets for this connector have been altered successfully"
RESET = ALTERED.replace("altered", "reset")
WRONG, OF, NULL = "Invalid value", "for configuration tasks.max", "Value must be non-null"
KNOWN = {"RUNNING": ["RUNNING", "RUNNING"], "PAUSED": ["PAUSED", "PAUSED"]}


@pytest.fixture(scope="module", params=["connect", "ottla"])
def port(request: pytest.FixtureRequest, bootstrap: str) -> Iterator[int]:
    if request.param == "connect":
        if shutil.which("java") is None:
            pytest.skip("Java is not installed")
        with Original(bootstrap) as connect:
            yield connect.port
    else:
        with LocalWorker(bootstrap) as worker:
            yield worker.port


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "in.txt"
    file.write_text("1\n2\n3\n")
    topic = f"lines-{uuid4()}"
    return {"connector.class": SOURCE, "tasks.max": "1", "file": str(file), "topic": topic}


def seen_by(*command: str | Path, port: int, config: dict[str, str], **environment: str) -> Any:
    """What a scenario printed."""
    ran = subprocess.run(
        [*command, str(port), config["file"], config["topic"]],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One of its own: the client is no dependency of ours."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = ("install", "-q", "kafka-connect-api==0.5.10")
    subprocess.run([folder / "bin" / "pip", *install], check=True, capture_output=True)
    return folder / "bin" / "python"


def test_the_client_in_python_is_served(python: Path, port: int, config: dict[str, str]) -> None:
    seen = seen_by(python, HERE / "scenario.py", port=port, config=config)
    assert seen == {
        "version": True,
        "unknown": 404,
        "created": ["by-python", "source"],
        "running": KNOWN["RUNNING"],
        "exists": True,
        "connectors": ["by-python"],
        "config": {**config, "batch.size": "7", "name": "by-python"},
        "class": SOURCE,
        "tasks": [[0, "7", True]],
        "paused": KNOWN["PAUSED"],
        "resumed": KNOWN["RUNNING"],
        "cycled": KNOWN["RUNNING"],
        "logger": "WARN",
        "left": [],
    }


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("npm") is None:
        pytest.skip("Node is not installed")
    folder = tmp_path_factory.mktemp("node")
    shutil.copy(HERE / "package.json", folder)
    subprocess.run(["npm", "install", "--silent"], cwd=folder, check=True)
    return folder / "node_modules"


def test_the_client_in_javascript_is_served(
    node_modules: Path, port: int, config: dict[str, str]
) -> None:
    seen = seen_by(
        *("node", HERE / "scenario.js"), port=port, config=config, NODE_PATH=str(node_modules)
    )
    whole = {**config, "name": "by-node"}
    assert seen.pop("early")[0] == 400
    assert seen == {
        "cluster": ["commit", "kafka_cluster_id", "version"],
        "created": [201, "by-node", "source", f"http://127.0.0.1:{port}/connectors/by-node"],
        "running": KNOWN["RUNNING"],
        "again": [409, "Connector by-node already exists"],
        "connectors": ["by-node"],
        "got": {
            "name": "by-node",
            "config": whole,
            "tasks": [{"connector": "by-node", "task": 0}],
            "type": "source",
        },
        "updated": 200,
        "config": {**whole, "batch.size": "7"},
        "tasks": [[{"connector": "by-node", "task": 0}, "7"]],
        "task": "RUNNING",
        "restarted": 204,  # it sends what it is asked for as a body, which nobody reads
        "forms": [[415, "HTTP 415 Unsupported Media Type"]] * 5,
        "stopped": ["STOPPED"],
        "altered": {"message": ALTERED},
        "offsets": {
            "offsets": [{"partition": {"filename": config["file"]}, "offset": {"position": 2}}]
        },
        "reset": {"message": RESET},
        "none": {"offsets": []},
        "plugin": ["source"],
        "errors": [3, [f"{WRONG} x {OF}: Not a number of type INT", f"{WRONG} null {OF}: {NULL}"]],
        "deleted": 204,
        "unknown": [404, "No status found for connector by-node"],
    }


def test_the_client_in_java_is_served(port: int, config: dict[str, str]) -> None:
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    jars = f"{connect_client_libraries()}/*"
    program = ("java", "-Xmx256m", "-cp", jars, HERE / "Scenario.java")
    seen = seen_by(*program, port=port, config=config)
    whole = {**config, "name": "by-java"}
    assert seen == {
        "version": True,
        "created": ["by-java", "source"],
        "running": KNOWN["RUNNING"],
        "connectors": ["by-java"],
        "expanded": [["by-java"], whole, "RUNNING", 1, 1],
        "updated": "7",
        "config": {**whole, "batch.size": "7"},
        "tasks": config["file"],
        "task": "RUNNING",
        "restarted": [True, True],
        "task restarted": True,
        "paused": [True, KNOWN["PAUSED"]],
        "resumed": [True, KNOWN["RUNNING"]],
        "stopped": [True, ["STOPPED"]],
        "topics": "by-java",
        "forgotten": True,
        "plugin": "source",
        "errors": 2,
        "unknown": "Connector unknown not found",
        "wrong": 400,
        "deleted": True,
        "left": [],
    }

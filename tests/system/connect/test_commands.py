"""`ottla connect …`: the same commands before a worker of ours and before Kafka Connect."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.connect_tool import ConnectTool
from support.connect_workers import LocalWorker
from system.connect.original import Original
from system.connect.requests import SINK, SOURCE


@pytest.fixture(scope="module")
def tool(bootstrap: str) -> Iterator[ConnectTool]:
    with LocalWorker(bootstrap) as worker:
        yield ConnectTool(worker.url, bootstrap)


def story(tool: ConnectTool, folder: Path) -> None:
    """A connector's life, command by command."""
    lines, file = folder / "in.txt", folder / "lines.json"
    lines.write_text("1\n2\n3\n")
    config = {"connector.class": SOURCE, "tasks.max": 1, "file": str(lines), "topic": "lines"}
    file.write_text(json.dumps({"name": "another", "config": config}))

    assert SOURCE in tool("plugins").stdout
    assert {one["type"] for one in tool.json("plugins", "--json")} >= {"source", "sink"}
    assert tool("validate", str(file)).stdout == ""
    wrong = folder / "wrong.properties"
    wrong.write_text(f"name=wrong\nconnector.class={SOURCE}\ntasks.max=none\nfile={lines}\n")
    told = tool("validate", str(wrong), code=1).stdout.splitlines()
    assert {one.partition(":")[0] for one in told} == {"tasks.max", "topic"}
    assert tool.json("list", "--json") == {}

    tool("add", "lines", str(file), "--set", f"topic=of-{folder.name}")
    tool.until("lines", "RUNNING", tasks="RUNNING")
    assert tool("list").stdout.split("\t")[:4] == ["lines", "source", "RUNNING", "1 RUNNING"]
    assert tool("status", "lines").stdout.splitlines()[0].startswith("connector\tRUNNING\t")
    tool("pause", "lines")
    tool.until("lines", "PAUSED", tasks="PAUSED")
    tool("resume", "lines")
    tool.until("lines", "RUNNING", tasks="RUNNING")
    tool("restart", "lines", "--only-failed")
    tool("restart", "lines")
    tool.until("lines", "RUNNING", tasks="RUNNING")
    offsets(tool, folder, str(lines))

    tool("delete", "lines", stdin="n\n", code=1)
    assert list(tool.json("list", "--json")) == ["lines"]
    tool("delete", "lines", "--yes")
    tool.until_gone("lines")
    assert "No status found" in tool.refused("status", "lines")
    assert tool("list").stdout == ""


def offsets(tool: ConnectTool, folder: Path, lines: str) -> None:
    """They are altered only while it is stopped."""
    moved = [{"partition": {"filename": lines}, "offset": {"position": 4}}]
    file = folder / "offsets.json"
    file.write_text(json.dumps({"offsets": moved}))
    assert "STOPPED" in tool.refused("offsets", "lines", "--set", str(file))
    tool("stop", "lines")
    tool.until("lines", "STOPPED")
    tool("offsets", "lines", "--set", str(file))
    assert tool.json("offsets", "lines") == {"offsets": moved}
    tool("offsets", "lines", "--reset")
    assert tool.json("offsets", "lines") == {"offsets": []}
    tool("resume", "lines")
    tool.until("lines", "RUNNING", tasks="RUNNING")


def test_a_connector_is_led_through_its_life_by_commands(tool: ConnectTool, tmp_path: Path) -> None:
    story(tool, tmp_path)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_same_commands_lead_one_of_kafka_connect(bootstrap: str, tmp_path: Path) -> None:
    with Original(bootstrap) as connect:
        story(ConnectTool(connect.url, bootstrap), tmp_path)


def test_what_went_wrong_is_told_with_the_status(tool: ConnectTool) -> None:
    sink = ("--set", f"connector.class={SINK}", "--set", "topics=lines")
    tool("add", "lost", *sink, "--set", "file=/no-such-folder/file")
    tool.until("lost", "RUNNING", tasks="FAILED")
    shown = tool("status", "lost")
    assert "0\tFAILED" in shown.stdout
    assert "Task 0: ConnectException: no folder /no-such-folder" in shown.stderr
    tool("delete", "lost", "--yes")


def test_a_configuration_is_asked_for(tool: ConnectTool, tmp_path: Path) -> None:
    assert "--set KEY=VALUE" in tool.refused("add", "nothing")
    empty = tmp_path / "empty.json"
    empty.write_text("{}")
    assert "says no connector.class" in tool.refused("validate", str(empty))
    empty.write_text("[")
    assert "cannot be read" in tool.refused("validate", str(empty))


def test_a_database_is_connected_to_when_its_configuration_is_validated(
    tool: ConnectTool, tmp_path: Path
) -> None:
    file, shop = tmp_path / "shop.json", tmp_path / "shop.db"
    keys = {"connector.class": "jdbc-source", "mode": "bulk", "topic.prefix": "shop-"}
    file.write_text(json.dumps({**keys, "connection.url": f"jdbc:sqlite:{shop}"}))
    told = tool("validate", str(file), code=1).stdout
    assert told.startswith("connection.url: The database")
    sqlite3.connect(shop).execute("CREATE TABLE orders (id INTEGER)")
    assert tool("validate", str(file)).stdout == ""
    checked = tool.json("validate", str(file), "--json")["configs"]
    found = {one["value"]["name"]: one["value"]["recommended_values"] for one in checked}
    assert found["table.whitelist"] == ["orders"]


def test_where_no_connect_answers_the_command_to_start_one_is_named() -> None:
    assert "ottla connect start" in ConnectTool("http://127.0.0.1:1").refused("list")

"""`ottla connect add NAME --wizard` and `preview`: asked, tried, shown; nothing created before."""

import json
import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from support.connect_tool import ConnectTool, eventually
from support.connect_workers import LocalWorker
from system.connect.original import Original
from system.connect.requests import SOURCE

JDBC = "io.confluent.connect.jdbc.JdbcSourceConnector"
POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"


@pytest.fixture(scope="module")
def worker(bootstrap: str) -> Iterator[LocalWorker]:
    with LocalWorker(bootstrap) as one:
        yield one


@pytest.fixture
def tool(worker: LocalWorker, bootstrap: str) -> Iterator[ConnectTool]:
    made = ConnectTool(worker.url, bootstrap)
    yield made
    for name in made.json("list", "--json"):
        made("delete", name, "--yes")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    file = tmp_path / "shop.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT)")
        database.execute("CREATE TABLE people (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)")
        database.execute("INSERT INTO orders (item) VALUES ('tea'), ('salt')")
        database.execute("INSERT INTO people (name) VALUES ('Ann')")
    return file


def answers(*lines: str) -> str:
    return "".join(f"{one}\n" for one in lines)


def config_of(tool: ConnectTool, name: str) -> Any:
    """As Kafka Connect's, a list leaves out whoever has not told its state yet."""
    eventually(lambda: name in tool.json("list", "--json"))
    return tool.json("list", "--json")[name]["info"]["config"]


def test_only_what_is_required_is_asked_tables_are_offered_and_rows_shown(
    tool: ConnectTool, shop: Path
) -> None:
    given = answers(JDBC, f"jdbc:sqlite:{shop}", "incrementing", "shop-", "1", "y")
    done = tool("add", "shop", "--wizard", stdin=given)
    asked = re.findall(r"^([a-z.]+)(?: \(empty: all of them\))?: ", done.output, re.MULTILINE)
    assert asked == ["connector.class", "connection.url", "mode", "topic.prefix", "table.whitelist"]
    assert "There are 2 tables" in done.stderr
    shown = [line.split("\t") for line in done.stdout.splitlines() if line.startswith("shop-")]
    assert [(topic, json.loads(value)["item"]) for topic, _, value in shown] == [
        ("shop-orders", "tea"),
        ("shop-orders", "salt"),
    ]
    assert config_of(tool, "shop") == {
        "name": "shop",
        "connector.class": JDBC,
        "connection.url": f"jdbc:sqlite:{shop}",
        "mode": "incrementing",
        "topic.prefix": "shop-",
        "table.whitelist": "orders",
    }


def test_what_is_wrong_is_told_and_asked_again(tool: ConnectTool, shop: Path) -> None:
    said = ("--set", f"connector.class={JDBC}", "--set", "topic.prefix=shop-")
    given = answers(f"jdbc:sqlite:{shop}", "timestamp", "at", "", "y")
    done = tool("add", "shop", "--wizard", *said, stdin=given)
    assert "mode timestamp needs timestamp.column.name" in done.stderr
    assert "It cannot be shown from here: orders has no column at" in done.stderr
    assert config_of(tool, "shop")["timestamp.column.name"] == "at"


def test_who_says_no_or_nothing_more_has_created_nothing(tool: ConnectTool, shop: Path) -> None:
    given = [JDBC, f"jdbc:sqlite:{shop}", "bulk", "shop-", "", "n"]
    for count in range(len(given) + 1):
        tool("add", "shop", "--wizard", stdin=answers(*given[:count]), code=1)
    assert tool.json("list", "--json") == {}


def test_a_name_that_is_taken_is_refused_before_anything_is_asked(
    tool: ConnectTool, shop: Path
) -> None:
    file = shop.with_name("in.txt")
    file.write_text("")
    source = ("--set", "connector.class=FileStreamSource", "--set", "topic=t")
    tool("add", "there", *source, "--set", f"file={file}")
    assert "already" in tool.refused("add", "there", "--wizard")


def test_a_key_that_is_not_served_ends_it_with_a_sentence(tool: ConnectTool) -> None:
    said = ("--set", f"connector.class={POSTGRES}", "--set", "signal.data.collection=x")
    given = answers("127.0.0.1", "ottla", "shop", "shop")
    assert "signal.data.collection" in tool.refused("add", "pg", "--wizard", *said, stdin=given)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_wizard_serves_kafka_connect_too(bootstrap: str, shop: Path) -> None:
    lines = shop.with_name("in.txt")
    lines.write_text("one\ntwo\n")
    with Original(bootstrap) as connect:
        tool = ConnectTool(connect.url, bootstrap)
        given = answers(SOURCE, "lines", "y")
        done = tool("add", "lines", "--wizard", "--set", f"file={lines}", stdin=given)
        assert re.findall(r"^([a-z.]+): ", done.output, re.MULTILINE) == [
            "connector.class",
            "topic",
        ]
        assert "lines\t-\tone\nlines\t-\ttwo\n" in done.stdout
        tool.until("lines", "RUNNING", tasks="RUNNING")


def test_a_password_is_not_shown_and_ctrl_c_creates_nothing(
    worker: LocalWorker, tool: ConnectTool
) -> None:
    """In a terminal. Nobody listens at port 1, so the wizard asks for who signs in, too."""
    terminal = Terminal(
        *("add", "pg", "--wizard", "--url", worker.url, "--set", f"connector.class={POSTGRES}"),
        *("--set", "database.port=1"),
    )
    for key, given in (
        ("database.hostname", "127.0.0.1"),
        ("database.user", "ottla"),
        ("database.dbname", "shop"),
        ("topic.prefix", "shop"),
        ("database.hostname [127.0.0.1]", ""),
        ("database.user [ottla]", ""),
        ("database.password", "hush-hush"),
        ("database.dbname [shop]", "\x03"),
    ):
        terminal.answer(f"{key}: ", given)
    assert terminal.end() == 1
    assert "refuses ottla" in terminal.text
    assert "${file:/path/to/secrets.properties:password}" in terminal.text.replace("\r\n", "")
    assert "hush-hush" not in terminal.text
    assert tool.json("list", "--json") == {}


def _in_terminal() -> None:
    """It is its own from now on; and Ctrl-C counts, even where the tests run in the background."""
    os.close(os.open(os.ttyname(0), os.O_RDWR))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, *arguments: str) -> None:
        self._own, theirs = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ottla", "connect", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**os.environ, "TERM": "dumb", "COLUMNS": "500"},
            preexec_fn=_in_terminal,
        )
        os.close(theirs)
        self.text = ""
        self._read = 0

    def answer(self, prompt: str, given: str) -> None:
        """Waits for the prompt. Ctrl-C is what a terminal makes a signal of."""
        deadline = time.monotonic() + 60
        while (at := self.text.find(prompt, self._read)) < 0:
            assert time.monotonic() < deadline, f"{prompt!r} does not come: {self.text}"
            self._more(1.0)
        self._read = at + len(prompt)
        os.write(self._own, given.encode() if given == "\x03" else f"{given}\n".encode())

    def end(self) -> int:
        """Python sees a Ctrl-C that comes just before it waits for a line with the next key only;
        so it is pressed until it is heard."""
        deadline = time.monotonic() + 30
        while (code := self._process.poll()) is None:
            assert time.monotonic() < deadline, f"it does not end: {self.text}"
            if not self._more(0.5):
                os.write(self._own, b"\x03")
        while self._more(0.2):
            continue
        os.close(self._own)
        return code

    def _more(self, wait_s: float) -> bool:
        if not select.select([self._own], [], [], wait_s)[0]:
            return False
        try:
            data = os.read(self._own, 65536)
        except OSError:  # nobody has the other end
            return False
        self.text += data.decode()
        return bool(data)


# --- preview of sinks, which read topics


def test_a_sink_shows_what_it_would_write_and_its_group_stays_where_it_is(
    tool: ConnectTool, bootstrap: str, tmp_path: Path
) -> None:
    topic = f"rows-{tmp_path.name}"
    producer = Producer({"bootstrap.servers": bootstrap})
    schema = {
        "type": "struct",
        "fields": [{"field": "id", "type": "int32"}, {"field": "item", "type": "string"}],
    }
    for number in range(3):
        payload = {"id": number, "item": "tea"}
        producer.produce(topic, json.dumps({"schema": schema, "payload": payload}))
    producer.flush(10)
    file = tmp_path / "sink.json"
    config = {
        "connector.class": "jdbc-sink",
        "connection.url": f"jdbc:sqlite:{tmp_path}/out.db",
        "topics": topic,
        "pk.mode": "record_value",
        "pk.fields": "id",
        "table.name.format": "tea",
    }
    file.write_text(json.dumps({"name": "out", "config": config}))
    shown = tool("preview", str(file), "--json", "--rows", "2").stdout.splitlines()
    assert [json.loads(one) for one in shown] == [
        {"place": "tea", "key": f'{{"id": {at}}}', "value": f'{{"id": {at}, "item": "tea"}}'}
        for at in range(2)
    ]
    assert not (tmp_path / "out.db").exists()
    groups = [one["group"] for one in _groups(bootstrap)]
    assert "connect-out" not in groups


def _groups(bootstrap: str) -> list[dict[str, str]]:
    from confluent_kafka.admin import AdminClient

    found = AdminClient({"bootstrap.servers": bootstrap}).list_consumer_groups().result(10)
    return [{"group": one.group_id} for one in found.valid]


def test_a_secret_of_a_worker_needs_its_file(tool: ConnectTool, shop: Path) -> None:
    secrets, file = shop.with_name("secrets"), shop.with_name("source.json")
    secrets.write_text(f"url=jdbc:sqlite:{shop}\n")
    config = {
        "connector.class": JDBC,
        "connection.url": f"${{file:{secrets}:url}}",
        "mode": "bulk",
        "topic.prefix": "shop-",
    }
    file.write_text(json.dumps(config))
    assert "name its file with --worker" in tool.refused("preview", str(file))
    worker = shop.with_name("worker.properties")
    worker.write_text(
        "config.providers=file\n"
        "config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider\n"
        "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
        "value.converter=org.apache.kafka.connect.storage.StringConverter\n"
    )
    shown = tool("preview", str(file), "--worker", str(worker), "--json").stdout.splitlines()
    assert json.loads(shown[0]) == {
        "topic": "shop-orders",
        "key": None,
        "value": "Struct{id=1,item=tea}",
    }

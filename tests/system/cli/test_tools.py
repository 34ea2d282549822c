"""The tools against a broker: `--broker kafka` shows that they serve Apache Kafka too."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer
from typer.testing import CliRunner, Result

from ottla.cli.app import app
from ottla.errors import OttlaError
from support.share import ShareMember, start_at_the_beginning


class Tool:
    """The command line, told where the broker is."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def __call__(
        self,
        *arguments: str,
        stdin: str | bytes | None = None,
        code: int = 0,
        env: dict[str, str] | None = None,
    ) -> Result:
        env = {"OTTLA_BOOTSTRAP": self._bootstrap, **(env or {})}
        result = CliRunner().invoke(app, arguments, input=stdin, env=env, prog_name="ottla")
        assert result.exit_code == code, result.output
        return result

    def json(self, *arguments: str) -> list[Any]:
        lines = self(*arguments, "--json").stdout.splitlines()
        return [json.loads(line) for line in lines]


@contextmanager
def reading(bootstrap: str, group: str, topic: str) -> Iterator[None]:
    """A member of the group that has partitions."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.subscribe([topic])
    try:
        deadline = monotonic() + 30
        while not consumer.assignment():
            assert monotonic() < deadline
            consumer.poll(0.1)
        yield
    finally:
        consumer.close()


@pytest.fixture
def ottla(bootstrap: str) -> Tool:
    return Tool(bootstrap)


@pytest.fixture
def topic(ottla: Tool) -> str:
    name = f"tools-{uuid4().hex[:10]}"
    ottla("topic", "create", name, "--partitions", "2")
    return name


def test_a_topic_is_created_listed_and_deleted(ottla: Tool) -> None:
    name = f"tools-{uuid4().hex[:10]}"
    ottla("topic", "create", name, "-p", "3", "-c", "retention.ms=60000")
    (topics,) = ottla.json("topic", "list")
    assert {"name": name, "partitions": 3, "replicas": 1} in topics
    (described,) = ottla.json("topic", "describe", name)
    assert described["configs"] == {"retention.ms": "60000"}
    ottla("topic", "delete", name, "--yes")
    (topics,) = ottla.json("topic", "list")
    assert name not in [each["name"] for each in topics]


def test_creating_a_topic_twice_needs_if_not_exists(ottla: Tool, topic: str) -> None:
    assert "exists already" in ottla("topic", "create", topic, "--if-not-exists").stderr
    ottla("topic", "create", topic, code=1)


def test_deleting_asks_first(ottla: Tool, topic: str) -> None:
    ottla("topic", "delete", topic, stdin="n\n", code=1)
    ottla("topic", "describe", topic)


def test_options_are_set_and_unset_and_partitions_added(ottla: Tool, topic: str) -> None:
    ottla("topic", "alter", topic, "--set", "cleanup.policy=compact", "--partitions", "4")
    ottla("topic", "alter", topic, "--set", "retention.ms=1000", "--unset", "cleanup.policy")
    (described,) = ottla.json("topic", "describe", topic)
    assert described["configs"] == {"retention.ms": "1000"}
    assert len(described["partitions"]) == 4


def test_a_topic_that_is_not_there_is_told_with_what_to_do(ottla: Tool) -> None:
    result = ottla("topic", "describe", "nowhere", code=1)
    assert isinstance(result.exception, OttlaError)
    assert "ottla topic list" in str(result.exception)


def test_lines_go_in_and_come_out_in_order(ottla: Tool, topic: str) -> None:
    lines = "".join(f"k:line {number}\n" for number in range(100))
    sent = ottla("produce", topic, "-k", ":", "-z", "lz4", "-H", "a=b", stdin=lines)
    assert "100 records sent" in sent.stderr
    read = ottla("consume", topic, "--from-beginning", "--exit-at-end", "--keys", "--headers")
    assert read.stdout.splitlines() == [f"a=b\tk\tline {number}" for number in range(100)]


def test_a_file_is_sent(ottla: Tool, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("one\ntwo")
    ottla("produce", topic, str(path), "--partition", "1")
    read = ottla("consume", topic, "-f", "-e", "-p", "1")
    assert read.stdout.splitlines() == ["one", "two"]


def test_a_new_group_is_told_that_it_starts_at_the_end(ottla: Tool, topic: str) -> None:
    ottla("produce", topic, stdin="one\ntwo\n")
    group = f"new-{uuid4().hex}"
    told = ottla("consume", topic, "--group", group, "-e")
    assert told.stdout == ""
    assert f"{group} is new and starts at the end of {topic}: 2 records" in told.stderr
    assert "--from-beginning" in told.stderr
    again = ottla("consume", topic, "--group", f"{group}-2", "-f", "-n", "2")
    assert sorted(again.stdout.split()) == ["one", "two"]
    assert again.stderr == ""


@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_that_has_had_enough_ends_the_command_quietly(
    bootstrap: str, ottla: Tool, topic: str, options: str
) -> None:
    ottla("produce", topic, stdin="x\n" * 5_000)
    command = f"{sys.executable} -m ottla consume {topic} -f -e {options} | head -n 1"
    done = subprocess.run(
        ["sh", "-c", command],
        env=os.environ | {"OTTLA_BOOTSTRAP": bootstrap},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


def test_what_consume_prints_as_json_can_be_produced_again(ottla: Tool, topic: str) -> None:
    record = {"key": "k", "value": {"a": 1}, "headers": {"h": "v"}, "timestamp": 1_700_000_000_000}
    raw = {"value": {"base64": "/w=="}, "partition": 1}
    stdin = json.dumps(record) + "\n" + json.dumps(raw) + "\n"
    ottla("produce", topic, "--json", stdin=stdin)
    read = ottla("consume", topic, "-f", "-e", "--json").stdout
    found = {str(each["key"]): each for each in map(json.loads, read.splitlines())}
    assert found["k"]["value"] == '{"a":1}'
    assert found["k"]["headers"] == [["h", "v"]]
    assert found["k"]["timestamp"] == 1_700_000_000_000
    assert found["None"]["value"] == {"base64": "/w=="}
    assert "2 records sent" in ottla("produce", topic, "--json", stdin=read).stderr


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{", "is not JSON"),
        ("[1]", "no object with a value"),
        ('{"value":"a","partition":"1"}', 'partition cannot be "1"'),
        ('{"value":"a","timestamp":1e3}', "timestamp cannot be 1000.0"),
        ('{"value":"a","timestamp":' + "9" * 30 + "}", "timestamp cannot be 999"),
        ('{"value":"a","headers":[1]}', "list of pairs"),
        ('{"value":"a","headers":7}', "list of pairs"),
        ('{"value":{"base64":"!"}}', "value is not base64"),
        ('{"value":"a","key":{"base64":7}}', "key is not base64"),
        ('{"value":"\\ud800"}', "value is not text"),
    ],
)
def test_a_bad_line_is_named_and_the_lines_before_it_are_sent(
    ottla: Tool, topic: str, line: str, sentence: str
) -> None:
    stdin = '{"value":"first"}\n' + line + '\n{"value":"last"}\n'
    result = ottla("produce", topic, "--json", stdin=stdin, code=1)
    assert isinstance(result.exception, OttlaError)
    assert str(result.exception).startswith("Line 2: ")
    assert sentence in str(result.exception)
    assert str(result.exception).endswith(f"1 records sent to {topic}.")
    assert ottla("consume", topic, "-f", "-e").stdout.split() == ["first"]


def test_a_line_without_the_separator_is_named(ottla: Tool, topic: str) -> None:
    result = ottla("produce", topic, "-k", ":", stdin="a:b\nc\n", code=1)
    assert str(result.exception).startswith("Line 2: 'c' has no ':'. 1 records sent")


def test_a_line_is_as_long_as_the_topic_allows(ottla: Tool, topic: str) -> None:
    stdin = "x" * 2_000_000 + "\n"
    result = ottla("produce", topic, "-p", "0", stdin=stdin, code=1)
    assert "Raise max.message.bytes of the topic." in str(result.exception)
    assert "the first of them line 1" in str(result.exception)
    ottla("topic", "alter", topic, "--set", "max.message.bytes=3000000")
    assert "1 records sent" in ottla("produce", topic, "-p", "0", stdin=stdin).stderr


def test_the_partition_asked_for_wins_over_the_one_in_the_line(ottla: Tool, topic: str) -> None:
    ottla("produce", topic, "--json", "-p", "0", stdin='{"value":"a","partition":1}\n')
    assert ottla("consume", topic, "-f", "-e", "-p", "0").stdout.split() == ["a"]


def test_consuming_begins_at_an_offset_or_before_the_end(ottla: Tool, topic: str) -> None:
    ottla("produce", topic, "-p", "0", stdin="a\nb\nc\nd\n")
    common = ("consume", topic, "-p", "0", "-e")
    assert ottla(*common, "--offset", "2").stdout.split() == ["c", "d"]
    assert ottla(*common, "--offset", "-1").stdout.split() == ["d"]
    assert ottla(*common, "--since", "1h").stdout.split() == ["a", "b", "c", "d"]
    assert ottla(*common, "-f", "--count", "1").stdout.split() == ["a"]


def test_a_group_goes_on_where_it_stopped(ottla: Tool, topic: str) -> None:
    group = f"group-{uuid4().hex[:10]}"
    ottla("produce", topic, "-p", "0", stdin="a\nb\nc\n")
    first = ottla("consume", topic, "-g", group, "-f", "-n", "2")
    assert first.stdout.split() == ["a", "b"]
    assert ottla("consume", topic, "-g", group, "-e").stdout.split() == ["c"]


def test_a_group_is_described_moved_and_deleted(ottla: Tool, topic: str) -> None:
    group = f"group-{uuid4().hex[:10]}"
    ottla("produce", topic, "-p", "0", stdin="a\nb\nc\n")
    ottla("consume", topic, "-g", group, "-f", "-e")
    (groups,) = ottla.json("group", "list")
    assert group in [each["group"] for each in groups]
    dry = ottla("group", "reset-offsets", group, "-t", f"{topic}:0", "--to", "-2", "--dry-run")
    assert dry.stdout.split() == [topic, "0", "3", "1"]
    ottla("group", "reset-offsets", group, "-t", f"{topic}:0", "--to", "-2")
    (described,) = ottla.json("group", "describe", group)
    lag = {each["partition"]: each["lag"] for each in described["partitions"]}
    assert lag[0] == 2
    ottla("group", "delete", group, "--yes")
    ottla("group", "describe", group, code=1)


@pytest.mark.parametrize(
    ("to", "after"), [("earliest", "0"), ("latest", "3"), ("1", "1"), ("99", "3"), ("1h", "0")]
)
def test_offsets_are_reset_to(ottla: Tool, topic: str, to: str, after: str) -> None:
    group = f"group-{uuid4().hex[:10]}"
    ottla("produce", topic, "-p", "0", stdin="a\nb\nc\n")
    moved = ottla("group", "reset-offsets", group, "-t", f"{topic}:0", "--to", to)
    assert moved.stdout.split() == [topic, "0", "-", after]


def test_a_group_is_called_what_it_is_called_however_long(ottla: Tool, topic: str) -> None:
    group = f"[bold]{uuid4().hex * 4}[/]"
    ottla("group", "reset-offsets", group, "-t", topic, "--to", "earliest")
    assert ottla("group", "describe", group).stdout.startswith(f"{group}  empty  0 members  0 ")
    assert ottla("group", "delete", group, "--yes").stderr == f"Deleted {group}.\n"


def test_a_share_group_is_described(ottla: Tool, topic: str, bootstrap: str) -> None:
    group = f"group-{uuid4().hex[:10]}"
    start_at_the_beginning(bootstrap, group)
    ottla("produce", topic, "-p", "0", stdin="a\nb\n")
    member = ShareMember(group, topic)
    assert member.beat(bootstrap) == 0
    assert len(member.take(bootstrap, 2)) == 2
    (described,) = ottla.json("group", "describe", group)
    shown = ottla("group", "describe", group).stdout
    member.leave(bootstrap)
    assert (described["type"], described["state"]) == ("share", "stable")
    first, second = described["partitions"]
    assert (first["lag"], first["readers"]) == (0, 1)  # where it starts is told with the next write
    assert (second["partition"], second["readers"]) == (1, 1)
    head, held, *_ = shown.splitlines()
    assert head == f"{group}  share group, stable  1 members  0 records behind"
    assert held.endswith(f"\t{topic} 0 1")
    (one,) = described["members"]
    assert [part["partition"] for part in one["partitions"]] == [0, 1]


def test_a_partition_named_twice_is_reset_once(ottla: Tool, topic: str) -> None:
    group = f"group-{uuid4().hex[:10]}"
    where = ("-t", topic, "-t", f"{topic}:0", "--to", "earliest")
    moved = ottla("group", "reset-offsets", group, *where)
    assert [line.split()[1] for line in moved.stdout.splitlines()] == ["0", "1"]


def test_offsets_of_a_group_that_reads_stay_and_the_error_says_so(
    ottla: Tool, topic: str, bootstrap: str
) -> None:
    group = f"group-{uuid4().hex[:10]}"
    ottla("produce", topic, "-p", "0", stdin="a\nb\nc\n")
    ottla("consume", topic, "-g", group, "-f", "-e")
    with reading(bootstrap, group, topic):
        where = ("-t", f"{topic}:0", "--to", "earliest")
        result = ottla("group", "reset-offsets", group, *where, code=1)
    assert "1 of 1 partitions were not moved" in str(result.exception)
    assert "Stop the group's consumers first." in str(result.exception)
    (described,) = ottla.json("group", "describe", group)
    assert described["partitions"][0]["committed"] == 3


def test_without_a_broker_the_error_says_what_to_do() -> None:
    result = CliRunner().invoke(app, ["topic", "list", "-b", "127.0.0.1:1"])
    assert isinstance(result.exception, OttlaError)
    assert "Start one with `ottla start`" in str(result.exception)


def test_topics_and_groups_are_completed_in_the_shell(ottla: Tool, topic: str) -> None:
    group = f"group-{uuid4().hex[:10]}"
    ottla("group", "reset-offsets", group, "-t", topic, "--to", "earliest")
    for kind, name in (("topic", topic), ("group", group)):
        typed = f"ottla {kind} describe {name[:-3]}"
        shell = {"_OTTLA_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": "3"}
        assert name in ottla(env=shell).stdout.split()

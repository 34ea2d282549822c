"""Each client writes, each other reads, in all three types: confluent-kafka's serializers (plain
and asynchronous, ids before the value and in headers, with rules), Confluent's for Node, franz-go's
in Go and Confluent's own client in Java. Nobody here wrote any of them."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from support.jars import protobuf_jars, registry_client_jar
from system.registry.processes import Registry
from system.registry.python_pairs import (
    SCHEMAS,
    Answer,
    Task,
    asynchronous,
    described,
    plain,
    register_ruled,
)
from system.registry.toolchains import go_program_of, node_modules_in

HERE = Path(__file__).parent / "pairs"
KINDS = tuple(SCHEMAS)
Client = Callable[[str, list[Task]], list[Answer]]
PYTHON: dict[str, Client] = {"python": plain, "asyncio": asynchronous}


def by_program(*command: str | Path, **environment: str) -> Client:
    """A client that is a program: tasks in, answers out."""

    def perform(url: str, tasks: list[Task]) -> list[Answer]:
        descriptor = FileDescriptorSet(file=[described()]).SerializeToString().hex()
        given = {"url": url, "descriptor": descriptor, "schemas": SCHEMAS, "tasks": tasks}
        ran = subprocess.run(
            command,
            input=json.dumps(given),
            capture_output=True,
            text=True,
            timeout=100,
            env={**os.environ, **environment},
        )
        assert ran.returncode == 0, ran.stderr
        answers: list[Answer] = json.loads(ran.stdout)
        return answers

    return perform


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Client:
    modules = node_modules_in(tmp_path_factory.mktemp("node"))
    return by_program("node", HERE / "pairs.js", NODE_PATH=str(modules))


@pytest.fixture(scope="module")
def others(node: Client, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Client]:
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    go = go_program_of(HERE, tmp_path_factory.mktemp("go"))
    (logging,) = (Path(pyspark.__file__).parent / "jars").glob("slf4j-api-*.jar")
    jars = map(str, (registry_client_jar(), *protobuf_jars().glob("*.jar"), logging))
    java = ("java", "-Xmx256m", "-cp", os.pathsep.join(jars), HERE / "Pairs.java")
    return {"node": node, "go": by_program(go), "java": by_program(*java)}


def told(writers: dict[str, Client], readers: dict[str, Client], url: str, **how: Any) -> int:
    """How many records were read as they were written."""
    written: list[tuple[Task, dict[str, Any]]] = []
    for name, client in writers.items():
        row = {"id": 8, "note": f"é from {name}"}
        tasks = [
            {"do": "write", "kind": kind, "topic": f"{name}-{kind}{len(how)}", "row": row, **how}
            for kind in KINDS
        ]
        for task, answer in zip(tasks, client(url, tasks), strict=True):
            assert "hex" in answer, (name, task, answer)
            assert bool(answer.get("header")) == bool(how.get("inHeader"))
            read = {**task, **answer, "do": "read", "latest": False}
            written.append((read, row))
    count = 0
    for name, client in readers.items():
        answers = client(url, [task for task, _ in written])
        for (task, row), answer in zip(written, answers, strict=True):
            assert answer == row, (name, task)
            count += 1
    return count


def test_what_one_of_pythons_clients_writes_the_other_reads(registry: Registry) -> None:
    assert told(PYTHON, PYTHON, registry.url) == 12
    assert told(PYTHON, PYTHON, registry.url, inHeader=True) == 12


def refuses(clients: dict[str, Client], url: str, kinds: Iterable[str] = KINDS) -> None:
    """What a rule forbids is not written, and what it allows is."""
    for kind in kinds:
        for name, client in clients.items():
            topic = f"ruled-{name}-{kind}"
            register_ruled(url, topic, kind)
            task = {"do": "write", "kind": kind, "topic": topic, "latest": True}
            good, bad = client(url, [{**task, "row": {"id": id, "note": "x"}} for id in (8, -8)])
            assert "hex" in good, (name, kind, good)
            assert "refused" in bad, (name, kind)
            (read,) = plain(url, [{**task, **good, "do": "read", "latest": False}])
            assert read == {"id": 8, "note": "x"}


def test_rules_run_in_pythons_clients(registry: Registry) -> None:
    refuses(PYTHON, registry.url)


RENAMING = "$merge([$sift($, function($v, $k) {{$k != '{0}'}}), {{'{1}': $.'{0}'}}])"


def migrates(clients: dict[str, Client], registry: Registry) -> None:
    """A new major version renames a field; who reads by it sees old records with the new name."""
    modes = (("UPGRADE", "note", "remark"), ("DOWNGRADE", "remark", "note"))
    rules = [
        {
            "name": mode.lower(),
            "kind": "TRANSFORM",
            "type": "JSONATA",
            "mode": mode,
            "expr": RENAMING.format(old, new),
        }
        for mode, old, new in modes
    ]
    for kind in ("AVRO", "JSON"):
        topic = f"moved-{'-'.join(clients)}-{kind}"
        subject, typed = f"{topic}-value", {"schemaType": kind}
        registry.put(f"/config/{subject}", {"compatibilityGroup": "major"})
        one, two = ({"properties": {"major": major}} for major in "12")
        assert registry.register(subject, SCHEMAS[kind], metadata=one, **typed).status == 200
        task = {"do": "write", "kind": kind, "topic": topic, "latest": True}
        (old,) = plain(registry.url, [{**task, "row": {"id": 8, "note": "x"}}])
        renamed = SCHEMAS[kind].replace("note", "remark")
        ruled = {"metadata": two, "ruleSet": {"migrationRules": rules}, **typed}
        assert registry.register(subject, renamed, **ruled).status == 200
        for name, client in clients.items():
            (read,) = client(registry.url, [{**task, **old, "do": "read"}])
            assert read == {"id": 8, "remark": "x"}, (name, kind)


def test_pythons_clients_read_old_records_as_the_new_version_has_them(registry: Registry) -> None:
    migrates(PYTHON, registry)


@pytest.mark.foreign
@pytest.mark.long
@pytest.mark.timeout(600)
def test_what_each_client_writes_each_other_reads(
    registry: Registry, node: Client, others: dict[str, Client]
) -> None:
    """Ids in headers are not known to the clients in Go and Java."""
    every = {**PYTHON, **others}
    assert told(every, every, registry.url) == 75
    heading = {**PYTHON, "node": node}
    assert told(heading, heading, registry.url, inHeader=True) == 27


@pytest.mark.foreign
@pytest.mark.long
@pytest.mark.timeout(600)
def test_rules_run_in_node(registry: Registry, node: Client) -> None:
    # Its CEL knows no type of Protobuf: a condition on a message is an error, taken for true.
    refuses({"node": node}, registry.url, ("AVRO", "JSON"))
    migrates({"node": node}, registry)

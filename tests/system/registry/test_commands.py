"""`ottla schema`, and a registry that `ottla start` brings along."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner, Result

import ottla
from ottla.cli.app import app
from ottla.cli.registry_child import with_port
from ottla.cli.registry_start import parse
from ottla.client.schema_moving import import_all, in_order
from ottla.client.schema_registry import Reference, RegistryAway, SchemaRegistry, stored
from ottla.errors import OttlaError
from support.confluent import create_topic
from support.homes import free_port
from support.jars import PROJECT
from system.registry.processes import Registry

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
PRICED = {**ORDER, "fields": [*ORDER["fields"], {"name": "price", "type": "double"}]}


def schema(*words: str, registry: str, given: str | None = None) -> Result:
    environment = {"OTTLA_REGISTRY": registry}
    return CliRunner().invoke(app, ["schema", *words], env=environment, input=given)


def written(folder: Path, name: str, content: object) -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def test_a_schema_is_registered_listed_shown_and_deleted(
    registry: Registry, tmp_path: Path
) -> None:
    file = written(tmp_path, "order.avsc", ORDER)
    done = schema("register", "cmd/orders", file, registry=registry.url)
    assert done.exit_code == 0, done.output
    id = int(done.stdout)
    listed = schema("list", "cmd/", "--json", registry=registry.url)
    (row,) = json.loads(listed.stdout)
    assert row == {"subject": "cmd/orders", "versions": [1], "type": "AVRO", "latest_id": id}
    for words in (["cmd/orders"], ["--id", str(id)], ["cmd/orders", "--version", "1"]):
        assert json.loads(schema("show", *words, registry=registry.url).stdout) == ORDER
    gone = schema("delete", "cmd/orders", "--yes", registry=registry.url)
    assert gone.exit_code == 0
    assert schema("show", "cmd/orders", registry=registry.url).exit_code == 1
    assert schema("list", "cmd/", registry=registry.url).stdout == ""


def test_a_check_of_files_needs_no_registry_and_names_each_difference(tmp_path: Path) -> None:
    old, new = written(tmp_path, "old.avsc", ORDER), written(tmp_path, "new.avsc", PRICED)
    nowhere = f"http://127.0.0.1:{free_port()}"
    refused = schema("check", new, "--against", old, registry=nowhere)
    assert refused.exit_code == 1
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in refused.stdout
    assert "'/fields/1'" in refused.stdout
    taken = schema("check", new, "--against", old, "--level", "FORWARD", registry=nowhere)
    assert taken.exit_code == 0, taken.output


def test_a_check_against_a_subject_goes_by_its_level(registry: Registry, tmp_path: Path) -> None:
    registry.register("checked", ORDER)
    new = written(tmp_path, "new.avsc", PRICED)
    assert schema("check", new, "--against", "checked", registry=registry.url).exit_code == 1
    registry.put("/config/checked", {"compatibility": "FORWARD"})
    assert schema("check", new, "--against", "checked", registry=registry.url).exit_code == 0
    changed = schema("diff", "checked", new, registry=registry.url)
    assert changed.exit_code == 1
    assert '+      "name": "price",' in changed.stdout
    assert schema("diff", "checked@1", "checked", registry=registry.url).exit_code == 0


def test_a_whole_registry_moves_with_its_ids(registry: Registry, bootstrap: str) -> None:
    registry.register("move-a", ORDER)
    user = {"type": "record", "name": "Bill", "fields": [{"name": "o", "type": "Order"}]}
    about = [{"name": "Order", "subject": "move-a", "version": 1}]
    registry.register("move-b", user, references=about)
    registry.register("move-b", {**user, "doc": "again"}, references=about)
    registry.delete("/subjects/move-b/versions/1")
    registry.put("/config/move-a", {"compatibility": "NONE"})
    lines = schema("export", "move-", registry=registry.url).stdout
    with Registry(bootstrap, name="moved") as other:
        taken = schema("import", registry=other.url, given=lines)
        assert taken.exit_code == 0, taken.output
        assert schema("export", "move-", registry=other.url).stdout == lines
        for path in ("/subjects/move-b/versions/2", "/config/move-a", "/mode/move-a"):
            theirs, ours = registry.get(path), other.get(path)
            if isinstance(ours.body, dict):
                for body in (ours.body, theirs.body):
                    body.pop("ts", None)
            assert ours == theirs
        again = schema("import", registry=other.url, given=lines)
        assert again.exit_code == 0, "what is there already may come again"


def test_a_schema_comes_after_those_that_it_refers_to() -> None:
    def one(subject: str, *needs: str) -> dict[str, object]:
        references = [Reference(need, need, 1).fields() for need in needs]
        return {"subject": subject, "version": 1, "schema": "x", "references": references}

    schemas = [stored(fields) for fields in (one("a", "c"), one("b"), one("c", "b"))]
    assert [each.subject for each in in_order(schemas)] == ["b", "c", "a"]


def test_what_is_away_or_nonsense_is_told_in_a_sentence(tmp_path: Path) -> None:
    url = f"http://someone:secret@127.0.0.1:{free_port()}"
    with pytest.raises(RegistryAway) as away:
        SchemaRegistry(url).subjects()
    assert "secret" not in str(away.value)
    with pytest.raises(OttlaError, match="neither a schema nor a setting"):
        import_all(SchemaRegistry(url), [{"x": 1}], print)
    unknown = written(tmp_path, "order.txt", "x")
    assert "--type" in str(schema("register", "x", unknown, registry=url).exception)


def test_the_usual_forms_are_understood_without_the_full_command_line() -> None:
    asked = parse(["file", "-b", "a:1", "--listen=h:2", "--set", "mode.mutability=false"])
    assert asked is not None
    assert asked.file == "file"
    assert [pair[:2] for pair in asked.said] == [
        ("kafkastore.bootstrap.servers", "a:1"),
        ("listeners", "h:2"),
        ("mode.mutability", "false"),
    ]
    assert parse(["--help"]) is None
    assert parse(["--set", "x"]) is None
    assert with_port(["start", "--registry", "f"]) == ["start", "--registry=8081", "f"]
    assert with_port(["start", "--registry", "80"]) == ["start", "--registry", "80"]


def test_a_node_brings_a_registry_along_and_takes_it_away(tmp_path: Path) -> None:
    port = free_port()
    settings = f"listeners=PLAINTEXT://127.0.0.1:{free_port()},CONTROLLER://127.0.0.1:{free_port()}"
    command = [sys.executable, "-m", "ottla", "start", "--registry", str(port)]
    with subprocess.Popen(
        [*command, "--data", str(tmp_path / "data"), "--set", settings],
        env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
        stdout=subprocess.PIPE,
        text=True,
    ) as node:
        assert node.stdout is not None
        assert node.stdout.readline().startswith("ready 127.0.0.1:")
        assert node.stdout.readline().startswith(f"Schema registry at http://127.0.0.1:{port}, ")
        there = SchemaRegistry(f"http://127.0.0.1:{port}")
        assert there.register("orders-value", {"schema": '"string"'}) == 1
        node.send_signal(signal.SIGTERM)
        assert node.wait(30) == 0
    with pytest.raises(RegistryAway):
        there.subjects()


def test_a_handle_starts_stops_and_forgets_nothing_in_between() -> None:
    with ottla.Registry() as registry:
        there = SchemaRegistry(registry.url)
        id = there.register("kept", {"schema": '"int"'})
        registry.kill()
        registry.start()
        assert there.version("kept").id == id
        assert registry.running
    assert not registry.running


def ottla_(*words: str, registry: Registry, given: str = "") -> Result:
    words = (*words, "--bootstrap", registry.bootstrap, "--registry", registry.url)
    return CliRunner().invoke(app, words, input=given)


def consumed(registry: Registry, topic: str) -> list[str]:
    said = ottla_("consume", topic, "-f", "-e", "--decode", registry=registry)
    assert said.exit_code == 0, said.output
    return said.stdout.splitlines()


def test_json_becomes_protobuf_and_json_again(registry: Registry) -> None:
    text = """
    syntax = "proto3";
    package shop;
    import "google/protobuf/timestamp.proto";
    message Other { string s = 1; }
    message Order {
      int64 id = 1;
      google.protobuf.Timestamp at = 2;
      message Line { uint32 count = 1; }
      repeated Line lines = 3;
    }
    """
    body = {"schema": text, "schemaType": "PROTOBUF"}
    assert registry.post("/subjects/sold-value/versions", body).status == 200
    create_topic(registry.bootstrap, "sold")
    row = {"id": "7", "at": "2026-01-02T03:04:05Z", "lines": [{"count": 4}]}
    as_protobuf = ("produce", "sold", "--protobuf", "sold-value")
    for words, given in (
        (("--message", "Order"), row),
        (("--message", "shop.Order.Line"), {"count": 4}),
        ((), {"s": "é"}),
    ):
        sent = ottla_(*as_protobuf, *words, registry=registry, given=f"{json.dumps(given)}\n")
        assert sent.exit_code == 0, sent.output
    assert [json.loads(line) for line in consumed(registry, "sold")] == [
        row,
        {"count": 4},
        {"s": "é"},
    ]
    wrong = ottla_(*as_protobuf, registry=registry, given='{"nothing": 1}\n')
    assert "does not fit the schema of sold-value" in str(wrong.exception)
    nobody = ottla_(*as_protobuf, "--message", "Nobody", registry=registry)
    said = "no message Nobody, but shop.Other, shop.Order, shop.Order.Line"
    assert said in str(nobody.exception)


def test_json_becomes_avro_and_json_again(registry: Registry) -> None:
    decimal = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
    when = {"type": "long", "logicalType": "timestamp-millis"}
    fields = [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "at", "type": when, "default": 0},
        {"name": "price", "type": decimal, "default": "\u0007"},
    ]
    registry.register("made-value", {"type": "record", "name": "Made", "fields": fields})
    create_topic(registry.bootstrap, "made")
    row = '{"id": 7, "note": "é"}\n'
    sent = ottla_("produce", "made", "--avro", "made-value", registry=registry, given=row)
    assert sent.exit_code == 0, sent.output
    (line,) = consumed(registry, "made")
    at = "1970-01-01T00:00:00+00:00"
    assert json.loads(line) == {"id": 7, "note": "é", "at": at, "price": "0.07"}
    again = json.dumps({**json.loads(line), "price": 1.5, "at": "2026-01-02T03:04:05+00:00"})
    ottla_("produce", "made", "--avro", "made-value", registry=registry, given=again)
    more = json.loads(consumed(registry, "made")[1])
    assert (more["price"], more["at"]) == ("1.50", "2026-01-02T03:04:05+00:00")
    wrong = ottla_(
        "produce", "made", "--avro", "made-value", registry=registry, given='{"id": "x"}'
    )
    assert "Line 1: It does not fit the schema of made-value" in str(wrong.exception)
    plain = ottla_("produce", "made", registry=registry, given="no frame\n")
    assert plain.exit_code == 0
    assert consumed(registry, "made")[2] == "no frame"


def test_json_must_fit_its_schema(registry: Registry) -> None:
    person = {"type": "object", "properties": {"age": {"type": "integer"}}}
    registry.register("person-value", person, schemaType="JSON")
    create_topic(registry.bootstrap, "person")
    words = ("produce", "person", "--json-schema", "person-value")
    assert ottla_(*words, registry=registry, given='{"age": 3}').exit_code == 0
    assert ottla_(*words, registry=registry, given='{"age": "x"}').exit_code == 1
    assert ottla_("produce", "person", "--avro", "person-value", registry=registry).exit_code == 1
    assert consumed(registry, "person") == ['{"age": 3}']


def test_protobuf_is_shown_whatever_message_of_its_file_it_is(registry: Registry) -> None:
    shared = 'syntax = "proto3"; package s; message Money { int64 cents = 1; }'
    registry.register("money", shared, schemaType="PROTOBUF")
    text = (
        'syntax = "proto3"; package t; import "money.proto"; '
        'import "google/protobuf/timestamp.proto"; message A { string a = 1; } '
        "message B { message C { s.Money price = 1; google.protobuf.Timestamp at = 2; } }"
    )
    about = [{"name": "money.proto", "subject": "money", "version": 1}]
    made = registry.register("proto-value", text, schemaType="PROTOBUF", references=about)
    assert made.status == 200, made
    create_topic(registry.bootstrap, "proto")
    head = b"\0" + made.body["id"].to_bytes(4, "big")
    producer = Producer({"bootstrap.servers": registry.bootstrap})
    producer.produce("proto", head + b"\0" + b"\x0a\x01x")
    producer.produce("proto", head + b"\x04\x02\x00" + b"\x0a\x02\x08\x07\x12\x02\x08\x01")
    assert producer.flush(10) == 0
    assert [json.loads(line) for line in consumed(registry, "proto")] == [
        {"a": "x"},
        {"price": {"cents": "7"}, "at": "1970-01-01T00:00:01Z"},
    ]

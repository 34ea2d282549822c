"""How a registry starts, and in which sentence it does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from ottla.errors import OttlaError
from ottla.registry.leadership import Identity, elect
from ottla.registry.server import connection_of
from ottla.registry.settings import read_settings
from ottla.serving.options import Said
from support.homes import free_port
from support.jars import PROJECT


def refused(*arguments: str) -> str:
    """What a start that does not succeed says."""
    ended = subprocess.run(
        [sys.executable, "-m", "ottla", "registry", "start", *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT / "src")},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert ended.returncode == 1, ended
    return ended.stderr


@pytest.mark.parametrize(
    ("partitions", "policy", "sentence"),
    [(2, "compact", "has 2 partitions"), (1, "delete", "cleanup.policy=delete")],
)
def test_a_topic_that_cannot_hold_schemas_is_refused(
    bootstrap: str, partitions: int, policy: str, sentence: str
) -> None:
    name = f"no-schemas-{partitions}-{policy}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topic = NewTopic(name, partitions, 1, config={"cleanup.policy": policy})
    admin.create_topics([topic])[name].result(20)
    listen = f"127.0.0.1:{free_port()}"
    assert sentence in refused("--bootstrap", bootstrap, "--listen", listen, "--topic", name)


def test_confluents_file_is_read_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "schema-registry.properties"
    file.write_text(
        "listeners=http://0.0.0.0:8085\n"
        "kafkastore.bootstrap.servers=PLAINTEXT://a:1,PLAINTEXT://b:2\n"
        "kafkastore.topic=_other\n"
        "avro.compatibility.level=full\n"
        "master.eligibility=false\n"
    )
    settings = read_settings(file)
    assert settings.addresses == (("http", "0.0.0.0", 8085),)
    assert settings["kafkastore.topic"] == "_other"
    assert settings["schema.compatibility.level"] == "FULL"
    assert settings["leader.eligibility"] is False
    assert connection_of(settings).bootstrap == "a:1,b:2"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("listener=x", "line 2: listener is no option that is known here"),
        ("mode.mutability=perhaps", "line 2: mode.mutability=perhaps: true or false is expected"),
        ("kafkastore.timeout.ms=soon", "a whole number is expected"),
        ("listeners=ftp://x:1", "http or https is expected"),
    ],
)
def test_a_wrong_line_is_told_with_its_place(tmp_path: Path, line: str, sentence: str) -> None:
    file = tmp_path / "x.properties"
    file.write_text(f"# nothing\n{line}\n")
    with pytest.raises(OttlaError) as error:
        read_settings(file)
    assert sentence in str(error.value)


def test_a_protocol_that_cannot_be_honoured_is_not_passed_over() -> None:
    said = [Said("kafkastore.bootstrap.servers", "SASL_SSL://a:1", "the command line")]
    with pytest.raises(OttlaError, match=r"kafkastore\.bootstrap\.servers: .* GSSAPI"):
        connection_of(read_settings(None, said))


def test_the_eligible_member_of_the_smallest_url_leads_unless_one_does_already() -> None:
    a, b = Identity("a", 1), Identity("b", 1)
    assert elect({"x": b, "y": a}) == "y"
    assert elect({"x": b, "y": a._replace(eligible=False)}) == "x"
    assert elect({"x": b._replace(leads=True), "y": a}) == "x"
    assert elect({"x": b._replace(leads=True), "y": a._replace(leads=True)}) == "y"
    assert elect({"y": a._replace(eligible=False)}) is None

"""How a cluster is reached: which words count, what is refused, and what is made of it."""

import ast
import subprocess
from pathlib import Path

import pytest

import ottla
from ottla.client.connection import (
    DEFAULT_BOOTSTRAP,
    Connection,
    given_connection,
    properties_of,
    read_connection,
)
from ottla.client.properties import Property
from ottla.errors import OttlaError


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines))
    return path


def option(name: str, value: str) -> list[Property]:
    return properties_of({name: value}, "-X")


def test_without_a_word_it_is_the_broker_on_this_machine() -> None:
    assert read_connection(environ={}) == Connection(DEFAULT_BOOTSTRAP)


def test_the_address_is_the_one_that_was_said_nearest(tmp_path: Path) -> None:
    named = write(tmp_path / "named.properties", "bootstrap.servers=file:1")
    general = write(tmp_path / "general.properties", "bootstrap.servers=general:1")
    both = {"OTTLA_BOOTSTRAP": "variable:1", "OTTLA_CLIENT_CONFIG": str(general)}
    one_more = option("bootstrap.servers", "option:1")

    def address(bootstrap: str | None = None, **said: object) -> str:
        return read_connection(bootstrap, **said).bootstrap  # type: ignore[arg-type]

    assert address("said:1", options=one_more, file=named, environ=both) == "said:1"
    assert address(options=one_more, file=named, environ=both) == "option:1"
    assert address(file=named, environ=both) == "file:1"
    assert address(environ=both) == "variable:1"
    assert address(environ={"OTTLA_CLIENT_CONFIG": str(general)}) == "general:1"


def test_a_file_that_is_named_replaces_that_of_the_environment(tmp_path: Path) -> None:
    named = write(tmp_path / "named.properties", "client.id=named")
    general = write(tmp_path / "general.properties", "client.rack=general")
    environ = {"OTTLA_CLIENT_CONFIG": str(general)}
    assert read_connection(environ=environ).librdkafka() == {"client.rack": "general"}
    named_one = read_connection(file=named, options=option("client.id", "x"), environ=environ)
    assert named_one.librdkafka() == {"client.id": "x"}


def test_an_unknown_property_is_refused_with_file_and_line(tmp_path: Path) -> None:
    file = write(tmp_path / "client.properties", "# brokers", "", "sasl.mechansim=PLAIN")
    with pytest.raises(OttlaError) as caught:
        read_connection(file=file, environ={})
    assert str(caught.value) == f"{file}, line 3: sasl.mechansim is no property of Kafka's clients."


def test_a_value_that_makes_no_sense_is_refused_with_file_and_line(tmp_path: Path) -> None:
    file = write(tmp_path / "client.properties", "linger.ms=soon", "sasl.mechanism=PLAIN")
    with pytest.raises(OttlaError, match=r"client.properties, line 1: Invalid value for "):
        read_connection(file=file, environ={})


def test_java_s_words_are_refused_where_they_stand_though_librdkafka_has_others(
    tmp_path: Path,
) -> None:
    file = write(
        tmp_path / "client.properties",
        "security.protocol=SSL",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={tmp_path}/nowhere.pem",
    )
    with pytest.raises(OttlaError, match=r"client.properties, line 3: ssl.ca.location"):
        read_connection(file=file, environ={})


def test_certificates_of_a_java_file_are_read_by_librdkafka(tmp_path: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-subj", "/CN=test", "-keyout", "key.pem", "-out", "ca.pem"],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "key.pem").read_text() + (tmp_path / "ca.pem").read_text())
    file = write(
        tmp_path / "client.properties",
        "security.protocol=SSL",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={tmp_path}/ca.pem",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={both}",
    )
    read_connection(file=file, environ={}).producer()


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(OttlaError, match=r"nowhere.properties cannot be read"):
        read_connection(file="nowhere.properties", environ={})


def test_the_wire_client_refuses_what_it_cannot_honour() -> None:
    plain = Connection("a:1", tuple(option("security.protocol", "PLAINTEXT")))
    plain.wire()
    for properties, sentence in (
        ({"broker.address.family": "v4"}, "-X: broker.address.family cannot be honoured"),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "NTLM"},
            "=NTLM cannot be honoured here; one of PLAIN, .*OAUTHBEARER, GSSAPI can",
        ),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "PLAIN needs sasl.username"),
        ({"security.protocol": "SSL", "ssl.ca.location": "nowhere"}, "nowhere cannot be read"),
    ):
        said = Connection("a:1", tuple(properties_of(properties, "-X")))
        with pytest.raises(OttlaError, match=sentence):
            said.wire()


def test_java_is_told_the_address_and_the_properties() -> None:
    connection = Connection("a:1", tuple(option("fetch.wait.max.ms", "7")))
    told = connection.java({"compression.type": "lz4", "fetch.max.wait.ms": "1"})
    assert told == {
        "bootstrap.servers": "a:1",
        "compression.type": "lz4",
        "fetch.max.wait.ms": "7",
    }


def test_at_another_cluster_clients_are_the_same_but_for_their_security() -> None:
    said = properties_of(
        {"linger.ms": "7", "security.protocol": "SASL_PLAINTEXT", "sasl.username": "ann"}, "-X"
    )
    there = Connection("a:1", tuple(said)).elsewhere("b:2")
    assert (there.bootstrap, there.librdkafka()) == ("b:2", {"linger.ms": "7"})


def test_code_names_a_file_or_gives_the_properties(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OTTLA_BOOTSTRAP", raising=False)
    file = write(tmp_path / "client.properties", "bootstrap.servers=c:3", "linger.ms=7")
    assert given_connection(None, file, "app.py:3").bootstrap == "c:3"
    assert given_connection(None, str(file), "app.py:3").librdkafka() == {"linger.ms": "7"}
    with pytest.raises(OttlaError, match=r"^app.py:3: nonsense is no property"):
        given_connection(None, {"nonsense": "1"}, "app.py:3")


def test_no_other_place_makes_kafka_clients() -> None:
    made = [
        f"{path.name}:{node.lineno}"
        for path in (Path(ottla.__file__).parent).rglob("*.py")
        if path.name != "connection.py" and "confluent_kafka" in (text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("AdminClient", "Consumer", "Producer")
    ]
    assert made == []


def test_kerberos_is_no_fault_of_properties_but_of_what_librdkafka_cannot(tmp_path: Path) -> None:
    file = write(
        tmp_path / "me.properties",
        "security.protocol=SASL_PLAINTEXT",
        "sasl.kerberos.keytab=/me.keytab",
        "sasl.kerberos.principal=me@EXAMPLE",
    )
    reached = read_connection(file=file, environ={})
    for make in (reached.producer, reached.consumer, reached.admin):
        with pytest.raises(OttlaError, match=r"does not speak Kerberos\. Commands that go over"):
            make({"group.id": "g"})
    assert "Krb5LoginModule" in reached.java()["sasl.jaas.config"]

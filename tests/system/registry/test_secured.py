"""A registry that asks who comes, on a cluster that does too."""

import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ottla.client.schema_registry import RegistryAway, RegistryRefusal, SchemaRegistry
from ottla.errors import OttlaError
from ottla.registry.protection import Protection
from ottla.registry.settings import read_settings
from ottla.serving.errors import RestError
from ottla.serving.options import Said
from ottla.serving.users import Users, read_users
from support.brokers import die_with_parent
from support.homes import free_port
from support.secured import SCRAM_MODULE, Secured, running_secured

USERS = "kim: secret,developer\nada: MD5:5ebe2294ecd0e0f08eab7690d2a6ee69\neve: x,visitor\n"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured("ottla", tmp_path_factory.mktemp("secured")) as broker:
        yield broker


@contextmanager
def served(secured: Secured, folder: Path) -> Iterator[str]:
    """A registry at https that knows its users and signs in to its cluster."""
    url = f"https://127.0.0.1:{free_port()}"
    folder.mkdir(exist_ok=True)
    (folder / "users").write_text(USERS)
    store = secured.process.home.settings
    file = folder / "schema-registry.properties"
    file.write_text(
        f"listeners={url}\n"
        "authentication.method=BASIC\n"
        "authentication.roles=developer\n"
        f"authentication.users={folder / 'users'}\n"
        f"kafkastore.bootstrap.servers=SASL_SSL://{secured.encrypted}\n"
        "kafkastore.sasl.mechanism=SCRAM-SHA-256\n"
        f"kafkastore.sasl.jaas.config={SCRAM_MODULE} required username=root password=secret;\n"
        "kafkastore.ssl.truststore.type=PEM\n"
        f"kafkastore.ssl.truststore.location={store['ssl.truststore.location']}\n"
        "kafkagroup.heartbeat.interval.ms=300\n"
        + "".join(f"{name}={value}\n" for name, value in store.items() if name.startswith("ssl.k"))
        + "".join(f"{name}={value}\n" for name, value in store.items() if name.startswith("ssl.t"))
    )
    command = [sys.executable, "-m", "ottla", "registry", "start", str(file)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, preexec_fn=die_with_parent, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(f"Schema registry at {url}, ")
            yield url
        finally:
            process.terminate()
            process.wait(20)


def test_users_sign_in_under_tls_and_a_follower_hands_their_words_on(
    secured: Secured, tmp_path: Path
) -> None:
    ca = str(secured.process.home.settings["ssl.truststore.location"])
    with served(secured, tmp_path / "a") as one, served(secured, tmp_path / "b") as two:
        ids = []
        for number, url in enumerate((one, two)):
            client = SchemaRegistryClient(
                {"url": url, "ssl.ca.location": ca, "basic.auth.user.info": "kim:secret"}
            )
            ids.append(client.register_schema(f"s{number}", Schema('"int"', "AVRO")))
            assert client.get_latest_version(f"s{number}").schema_id == ids[-1]
        assert ids[0] == ids[1], "the same schema, in one topic"
        stranger = SchemaRegistryClient({"url": one, "ssl.ca.location": ca})
        with pytest.raises(SchemaRegistryError) as refused:
            stranger.get_subjects()
        assert refused.value.http_status_code == 401
        place = one.removeprefix("https://")
        assert SchemaRegistry(f"https://kim:secret@{place}", ca).subjects() == ["s0", "s1"]
        with pytest.raises(RegistryRefusal) as visitor:
            SchemaRegistry(f"https://eve:x@{place}", ca).subjects()
        assert visitor.value.status == 403
        with pytest.raises(RegistryAway, match="certificate"):
            SchemaRegistry(f"https://kim:secret@{place}", ca=None).subjects()


def authorization(pair: str) -> str:
    return f"Basic {b64encode(pair.encode()).decode()}"


def test_a_password_is_right_in_plain_or_by_its_digest(tmp_path: Path) -> None:
    (tmp_path / "users").write_text(USERS)
    users = Users(read_users(tmp_path / "users"), "r")
    for right in ("kim:secret", "ada:secret", "eve:x"):
        users.check(authorization(right))
    for wrong in (None, "", "Basic", "Basic ???", "Bearer x", *map(authorization, ("kim:", ":"))):
        with pytest.raises(RestError) as refused:
            users.check(wrong)
        assert refused.value.status == 401


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"authentication.method": "BASIC"}, "needs authentication.users"),
        ({"listeners": "https://a:1"}, "ssl.keystore.location"),
        ({"listeners": "gopher://a:1"}, "http or https is expected"),
    ],
)
def test_what_protects_nobody_is_refused(said: dict[str, str], sentence: str) -> None:
    with pytest.raises(OttlaError, match=sentence):
        Protection(read_settings(None, [Said(name, value, "x") for name, value in said.items()]))

"""Files as Kafka reads them, and errors that say where they are."""

from pathlib import Path

import pytest

from ottla.config import ConfigSource
from ottla.config.load import (
    load,
    parse_listen,
    render_single_node,
    single_node,
)
from ottla.config.properties import parse_properties, render_properties
from ottla.config.settings import Settings
from ottla.config.topology import Listener, VoterAddress
from ottla.errors import OttlaError


def properties(text: str) -> dict[str, str]:
    return {entry.name: entry.value for entry in parse_properties(text)}


def written(directory: Path, text: str) -> Path:
    path = directory / "server.properties"
    path.write_text(text)
    return path


def test_names_and_values_are_parted_by_equals_colon_or_blank() -> None:
    assert properties("a=1\nb:2\nc 3\n d = 4 \ne\n") == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "4 ",
        "e": "",
    }


def test_comments_and_empty_lines_say_nothing() -> None:
    assert properties("# one\n! two\n\n   # three\na=#4\r\n") == {"a": "#4"}


def test_a_backslash_continues_a_line_without_the_next_one_s_indent() -> None:
    assert properties("log.dirs=/a,\\\n    /b\nc=d\\\\\n") == {"log.dirs": "/a,/b", "c": "d\\"}


def test_escapes_are_java_s() -> None:
    assert properties(r"a\=b=\t\u00e9\q") == {"a=b": "\té" + "q"}


def test_a_half_escape_is_an_error_with_its_line() -> None:
    with pytest.raises(OttlaError, match="line 2"):
        properties("a=1\nb=\\u12")


def test_what_is_rendered_reads_back() -> None:
    options = {"log.dirs": "C:\\data", "x": " indented", "y": "a=b:c # d"}
    assert properties(render_properties(options, about="two\nlines")) == options


def test_a_bad_value_names_file_line_and_option(tmp_path: Path) -> None:
    path = written(tmp_path, "node.id=1\n\nnum.partitions=none\n")
    with pytest.raises(OttlaError) as error:
        load(path)
    assert str(error.value) == (
        f"{path}, line 3: num.partitions cannot be 'none': a whole number is expected."
    )


def test_a_bad_assignment_names_the_option() -> None:
    with pytest.raises(OttlaError, match=r"--set num\.partitions cannot be '0': at least 1"):
        load(assignments=["num.partitions=0"])


@pytest.mark.parametrize(
    "line",
    [
        "principal.builder.class=example.Builder",
        "create.topic.policy.class.name=example.Policy",
        "alter.config.policy.class.name=example.Policy",
        "remote.log.storage.system.enable=true",
    ],
)
def test_protection_that_would_not_be_there_is_an_error(tmp_path: Path, line: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"node.id=1\n{line}\n")
    with pytest.raises(OttlaError, match=f"line 2: {line.partition('=')[0]} cannot be honoured"):
        load(file)
    name, _, _ = line.partition("=")
    file.write_text(f"node.id=1\n{name}={'false' if 'remote' in name else ''}\n")
    load(file)


def test_an_unknown_name_is_a_warning(tmp_path: Path) -> None:
    loaded = load(written(tmp_path, "node.id=1\nnum.partition=3\n"))
    assert loaded.warnings == (
        f"{tmp_path}/server.properties, line 2: num.partition is not an option and is ignored.",
    )


def test_options_without_effect_are_named_once_unless_they_are_at_their_default(
    tmp_path: Path,
) -> None:
    text = "num.io.threads=8\nnum.network.threads=5\nnum.partitions=5"
    loaded = load(written(tmp_path, text), assignments=["log.cleaner.threads=2"])
    assert loaded.warnings == (
        "Options that have no effect here are set: log.cleaner.threads, num.network.threads.",
    )


def test_listener_prefixes_are_not_unknown(tmp_path: Path) -> None:
    assert not load(written(tmp_path, "listener.name.a.ssl.keystore.type=PEM")).warnings


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OttlaError, match=r"absent cannot be read: No such file or directory\."):
        load(tmp_path / "absent")


def test_without_a_file_the_node_listens_on_loopback_only(tmp_path: Path) -> None:
    topology = load(data=tmp_path).settings.topology
    assert topology.listeners == (Listener("PLAINTEXT", "127.0.0.1", 9092),)
    assert topology.controller_listeners[0].host == "127.0.0.1"
    assert topology.node_id == 1
    assert topology.is_broker
    assert topology.is_controller
    assert topology.log_dirs == (tmp_path,)


def test_without_a_file_internal_topics_have_one_replica() -> None:
    settings = load().settings
    assert settings.int("offsets.topic.replication.factor") == 1
    assert settings.int("transaction.state.log.min.isr") == 1
    assert settings.int("share.coordinator.state.topic.replication.factor") == 1


def test_the_user_s_data_directory_follows_xdg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    assert load().settings.topology.log_dirs == (Path("/somewhere/ottla"),)


def test_listen_moves_the_clients_listener_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path, render_properties(single_node(("h", 1), tmp_path), about="x"))
    topology = load(path, listen=("127.0.0.1", 7)).settings.topology
    assert topology.advertised == (Listener("PLAINTEXT", "127.0.0.1", 7),)
    assert topology.listeners == topology.advertised
    assert topology.controller_listeners[0].name == "CONTROLLER"


def test_set_wins_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "num.partitions=3")
    assert load(path, assignments=["num.partitions=5"]).settings.int("num.partitions") == 5


def test_the_address_of_listen_is_advertised_and_told_as_given() -> None:
    settings = load(None, listen=("127.0.0.1", 7)).settings
    told = settings.describe("advertised.listeners")
    assert (told.value, told.source) == (
        "PLAINTEXT://127.0.0.1:7",
        ConfigSource.STATIC_BROKER_CONFIG,
    )


def test_set_wins_over_listen_and_data(tmp_path: Path) -> None:
    path = written(tmp_path, render_properties(single_node(("h", 1), tmp_path), about="x"))
    listeners = "listeners=PLAINTEXT://127.0.0.1:8,CONTROLLER://127.0.0.1:9"
    for file in (path, None):
        topology = load(
            file,
            listen=("127.0.0.1", 7),
            data=tmp_path / "data",
            assignments=[listeners, "log.dirs=/elsewhere"],
        ).settings.topology
        assert topology.advertised == (Listener("PLAINTEXT", "127.0.0.1", 8),)
        assert topology.listeners == topology.advertised
        assert topology.log_dirs == (Path("/elsewhere"),)


def test_a_listen_address_may_leave_out_the_host() -> None:
    assert parse_listen("9095") == ("127.0.0.1", 9095)
    assert parse_listen(":9095") == ("", 9095)
    assert parse_listen("[::1]:9095") == ("::1", 9095)


def kafka_file(**changes: str) -> Settings:
    options = {
        "node.id": "7",
        "process.roles": "broker,controller",
        "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "7@localhost:9093,8@[::1]:9094",
        "controller.quorum.bootstrap.servers": "localhost:9093",
        "log.dirs": "/a,/b",
    }
    return Settings(options | {name.replace("_", "."): value for name, value in changes.items()})


def test_kafka_s_own_sample_is_understood() -> None:
    topology = kafka_file().topology
    assert topology.voters == (VoterAddress(7, "localhost", 9093), VoterAddress(8, "::1", 9094))
    assert topology.bootstrap_controllers == (("localhost", 9093),)
    assert topology.log_dirs == (Path("/a"), Path("/b"))
    assert topology.metadata_dir == Path("/a")
    assert topology.inter_broker == "PLAINTEXT"


@pytest.mark.parametrize(
    ("host", "exposed"),
    [("localhost", False), ("127.0.0.2", False), ("[::1]", False), ("", True), ("[::]", True)],
)
def test_a_listener_beyond_loopback_is_known_as_exposed(host: str, exposed: bool) -> None:
    settings = kafka_file(listeners=f"PLAINTEXT://{host}:1,CONTROLLER://localhost:2")
    assert [each.name for each in settings.topology.exposed] == ["PLAINTEXT"] * exposed


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {
                "listeners": "PLAINTEXT://h:1,CONTROLLER://h:2",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT",
            },
            "CONTROLLER has no protocol",
        ),
        ({"listeners": "ODD://h:1,CONTROLLER://h:2"}, "ODD has no protocol"),
        ({"listeners": "PLAINTEXT://h:1"}, "lacks CONTROLLER"),
        ({"listeners": "PLAINTEXT://h:1,CONTROLLER://h:1"}, "port 1 is used twice"),
        ({"listeners": "PLAINTEXT//h:1"}, "write NAME://HOST:PORT"),
        ({"advertised_listeners": "PLAINTEXT://0.0.0.0:1"}, "clients cannot reach"),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:1,CONTROLLER://h:2"},
            "cannot reach PLAINTEXT at 0.0.0.0; .* advertised.listeners=PLAINTEXT://HOST:1",
        ),
        ({"controller_quorum_voters": "a@h:1"}, "write ID@HOST:PORT"),
        ({"inter_broker_listener_name": "ODD"}, "ODD is not among the listeners"),
        ({"log_dirs": "/a,/a"}, "a directory twice"),
        ({"cordoned_log_dirs": "/c"}, "not among log.dirs"),
        ({"cordoned_log_dirs": "*,/a"}, "not among log.dirs"),
        ({"process_roles": ""}, "process.roles is missing"),
        ({"early_start_listeners": "ODD"}, "early.start.listeners: ODD is neither"),
    ],
)
def test_contradictions_are_errors_before_anything_is_opened(
    changes: dict[str, str], sentence: str
) -> None:
    with pytest.raises(OttlaError, match=sentence):
        _ = kafka_file(**changes).topology


@pytest.mark.parametrize("with_file", [False, True])
def test_listening_on_all_interfaces_a_node_advertises_what_it_is_told(
    with_file: bool, tmp_path: Path
) -> None:
    file = written(tmp_path, render_properties(single_node(("h", 1), tmp_path), about="x"))
    path = file if with_file else None
    loaded = load(path, listen=("0.0.0.0", 7), advertise="node.example", data=tmp_path)
    topology = loaded.settings.topology
    assert topology.listeners == (Listener("PLAINTEXT", "0.0.0.0", 7),)
    assert topology.advertised == (Listener("PLAINTEXT", "node.example", 7),)


def test_the_file_of_a_directory_formatted_here_names_its_controller(tmp_path: Path) -> None:
    settings = Settings(single_node(("127.0.0.1", 9092), tmp_path, ("127.0.0.1", 9099)))
    options = properties(render_single_node(settings))
    assert options["controller.quorum.bootstrap.servers"] == "127.0.0.1:9099"
    assert options["log.dirs"] == str(tmp_path)

"""Options whose values stand elsewhere."""

from pathlib import Path

import pytest

from ottla.config.load import load
from ottla.errors import OttlaError

PACKAGE = "org.apache.kafka.common.config.provider."
BASE = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
config.providers=file,dir,env
config.providers.file.class={package}FileConfigProvider
config.providers.dir.class={package}DirectoryConfigProvider
config.providers.env.class={package}EnvVarConfigProvider
"""


def read(tmp_path: Path, *lines: str) -> str:
    """What ssl.key.password is, then."""
    file = tmp_path / "server.properties"
    file.write_text(BASE.format(package=PACKAGE) + "\n".join(lines))
    return load(file).settings.text("ssl.key.password")


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    (tmp_path / "secrets.properties").write_text("key=from a file\n")
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "key").write_text("from a directory")
    return tmp_path


def test_files_directories_and_variables_are_looked_up(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKER_KEY", "from the environment")
    asked = {
        f"${{file:{secrets}/secrets.properties:key}}": "from a file",
        f"${{dir:{secrets}/mounted:key}}": "from a directory",
        "${env:BROKER_KEY}": "from the environment",
        "a ${env:BROKER_KEY} b": "a from the environment b",
        "${vault:x:y}": "${vault:x:y}",
    }
    for text, value in asked.items():
        assert read(secrets, f"ssl.key.password={text}") == value


@pytest.mark.parametrize(
    "text",
    ["${file:DIR/secrets.properties:other}", "${dir:DIR/mounted:../secrets.properties}",
     "${env:NOBODY_SET_THIS}", "${file:DIR/missing:key}"],
)  # fmt: skip
def test_what_is_not_to_be_found_ends_the_start(secrets: Path, text: str) -> None:
    with pytest.raises(OttlaError):
        read(secrets, f"ssl.key.password={text.replace('DIR', str(secrets))}")


def test_paths_and_names_can_be_narrowed(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER", "x")
    with pytest.raises(OttlaError, match=r"allowed\.paths"):
        read(
            secrets,
            f"config.providers.file.param.allowed.paths={secrets}/mounted",
            f"ssl.key.password=${{file:{secrets}/mounted/../secrets.properties:key}}",
        )
    with pytest.raises(OttlaError, match="not to be found"):
        read(
            secrets,
            "config.providers.env.param.allowlist.pattern=BROKER_.*",
            "ssl.key.password=${env:OTHER}",
        )


def test_other_classes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OttlaError, match="cannot be loaded"):
        read(tmp_path, "config.providers=v", "config.providers.v.class=com.example.Vault")


def test_the_command_line_is_taken_as_it_is(secrets: Path) -> None:
    file = secrets / "server.properties"
    file.write_text(BASE.format(package=PACKAGE))
    text = f"${{file:{secrets}/secrets.properties:key}}"
    settings = load(file, assignments=[f"ssl.key.password={text}"]).settings
    assert settings.text("ssl.key.password") == text

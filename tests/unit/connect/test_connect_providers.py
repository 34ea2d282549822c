"""Secrets of connectors come from where the worker's file allows it, whatever path names them."""

from pathlib import Path

import pytest

from ottla.connect.connector import ConnectError
from ottla.connect.providers import Providers

_PACKAGE = "org.apache.kafka.common.config.provider"
_CLASSES = {
    "file": f"{_PACKAGE}.FileConfigProvider",
    "dir": f"{_PACKAGE}.DirectoryConfigProvider",
    "env": f"{_PACKAGE}.EnvVarConfigProvider",
}


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """A folder that is allowed, beside one that is not; links lead out of it, and back."""
    folder, outside = tmp_path / "allowed", tmp_path / "outside"
    for one in (folder, outside):
        one.mkdir()
        (one / "in.properties").write_text("password=hush-hush\n")
    (folder / "linked.properties").symlink_to(outside / "in.properties")
    (folder / "folder").symlink_to(outside)
    (outside / "back.properties").symlink_to(folder / "in.properties")
    return folder


def resolved(allowed: Path, said: str) -> str:
    given = {f"{name}.class": kind for name, kind in _CLASSES.items()} | {
        "file.param.allowed.paths": str(allowed),
        "dir.param.allowed.paths": f" {allowed} ,/nowhere",
        "env.param.allowlist.pattern": "SHOP_.*",
    }
    return Providers(list(_CLASSES), given).resolve({"key": said})["key"]


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("${file:{}/in.properties:password}", "hush-hush"),
        ("${file:{}/../allowed/in.properties:password}", "hush-hush"),
        ("${file:{}/../outside/back.properties:password}", "hush-hush"),
        ("${dir:{}:in.properties}", "password=hush-hush\n"),
        ("a ${env:SHOP_SECRET} b", "a hush b"),
    ],
)
def test_what_is_allowed_is_found(
    allowed: Path, monkeypatch: pytest.MonkeyPatch, said: str, secret: str
) -> None:
    monkeypatch.setenv("SHOP_SECRET", "hush")
    assert resolved(allowed, said.replace("{}", str(allowed))) == secret


@pytest.mark.parametrize(
    "said",
    [
        "${file:{}/../outside/in.properties:password}",
        "${file:{}-of-another/in.properties:password}",
        "${file:{}/linked.properties:password}",
        "${file:{}/folder/in.properties:password}",
        "${file:in.properties:password}",
        "${file:{}/in.properties:user}",
        "${dir:{}/folder:in.properties}",
        "${dir:{}:linked.properties}",
        "${dir:{}:folder/in.properties}",
        "${dir:{}:..}",
        "${dir:{}/..:outside}",
        "${env:HOME}",
        "${env:NOT_SHOP_SECRET}",
    ],
)
def test_what_lies_outside_is_refused_by_links_and_dots_too(
    allowed: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("NOT_SHOP_SECRET", "hush-hush")
    reference = said.replace("{}", str(allowed))
    with pytest.raises(ConnectError) as refused:
        resolved(allowed, reference)
    assert str(refused.value) == f"key: {reference} cannot be resolved."


def test_references_to_providers_that_are_not_named_stay_as_they_are(allowed: Path) -> None:
    assert resolved(allowed, "${vault:a:b}") == "${vault:a:b}"

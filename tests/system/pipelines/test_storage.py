"""Checkpoints on file systems that only Hadoop knows: the same files as in a folder here."""

from pathlib import Path

import pytest

from ottla.errors import OttlaError
from ottla.pipelines.lifecycle.state import Generations
from ottla.pipelines.planning.manifest import Manifest
from ottla.pipelines.runtime.sessions import session
from ottla.pipelines.runtime.storage import HadoopStorage, LocalStorage, Storage, open_storage


def never() -> None:
    raise AssertionError("no Spark is needed for a folder of this machine")


def test_a_path_and_a_file_address_are_the_same_folder(tmp_path: Path) -> None:
    for location in (tmp_path, str(tmp_path), f"file:{tmp_path}", f"file://{tmp_path}"):
        storage = open_storage(location, never)  # type: ignore[arg-type]
        assert isinstance(storage, LocalStorage)
        assert storage.location("x") == str(tmp_path / "x")


@pytest.mark.parametrize("kind", ["local", "hadoop"])
def test_a_storage_keeps_what_is_written(tmp_path: Path, kind: str) -> None:
    storage: Storage = LocalStorage(tmp_path)
    if kind == "hadoop":
        storage = HadoopStorage(session(), f"file://{tmp_path}")
    state = Generations(storage, "app", "cluster").current()
    assert state.manifest() is None
    assert state.checkpoints() == []
    for text in ("one", "two"):
        state.save(Manifest(application=text, stages={}))
        found = state.manifest()
        assert found is not None
        assert found.application == text
    offsets = state.path() / "totals" / "offsets"
    storage.write("app/cluster/1/totals/offsets/0", "v1\n{}\n")
    storage.write("app/cluster/1/totals~loading", "")
    assert state.checkpoints() == ["totals"]
    assert offsets.exists()
    assert (state.path() / "totals~loading").name == "totals~loading"
    state.remove("totals")
    assert state.checkpoints() == []
    assert not offsets.exists()


def test_a_file_system_that_spark_does_not_know_is_named() -> None:
    with pytest.raises(OttlaError, match="no file system for unheard://of"):
        HadoopStorage(session(), "unheard://of")

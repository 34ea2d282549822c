"""Setting up without thought: what is missing is said in a sentence, what is cached is checked."""

import hashlib
import os
import stat
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from ottla.errors import OttlaError
from ottla.pipelines import App, string
from ottla.pipelines.engine.options import RunOptions
from ottla.pipelines.engine.queries import Starter
from ottla.pipelines.lifecycle.state import Generations
from ottla.pipelines.runtime import archive, jars, pins, s3, sessions, settings, spark_home
from ottla.pipelines.runtime.java import find_java
from ottla.pipelines.runtime.settings import SparkSettings, configuration
from ottla.pipelines.runtime.spark_home import installed_spark
from ottla.pipelines.runtime.storage import HadoopPath, LocalStorage


@pytest.fixture(autouse=True)
def _forget_java() -> None:
    find_java.cache_clear()


def fake_java(folder: Path, version: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_no_java_is_one_sentence_that_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(OttlaError, match="openjdk-17-jre-headless"):
        find_java()


@pytest.mark.parametrize(
    ("version", "fine"), [("1.8.0_392", False), ("11.0.2", False), ("17", True)]
)
def test_an_old_java_is_refused_by_its_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, fine: bool
) -> None:
    fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if fine:
        assert find_java() == tmp_path
    else:
        with pytest.raises(OttlaError, match=r"is Java (8|11)\."):
            find_java()


def test_a_cached_jar_whose_bytes_changed_is_fetched_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    content = b"a jar"
    jar = pins.Jar("one.jar", hashlib.sha256(content).hexdigest())
    fetched = []

    def fetch(folder: Path, _: pins.Jars) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / jar.name).write_bytes(content)
        fetched.append(folder)

    monkeypatch.setenv("OTTLA_CACHE", str(tmp_path))
    monkeypatch.setattr(jars, "KAFKA", pins.Jars(jars=(jar,), requests=()))
    monkeypatch.setattr(jars, "_resolve", fetch)
    [path] = jars.connector_jars()
    jars.connector_jars()
    assert len(fetched) == 1  # the second time it is there
    path.write_bytes(b"something else")
    jars.connector_jars()
    assert len(fetched) == 2


def test_a_session_fixes_what_queries_rely_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "connector_jars", lambda: (Path("/a.jar"),))
    monkeypatch.setattr(settings, "compiled_jar", lambda: Path("/ours.jar"))
    chosen = configuration(SparkSettings(parallelism=3, master="spark://host:7077"))
    assert chosen["spark.sql.shuffle.partitions"] == "3"
    assert chosen["spark.sql.adaptive.enabled"] == "false"
    assert chosen["spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart"] == "false"
    assert chosen["spark.jars"] == "/a.jar,/ours.jar"  # shipped to executors that are elsewhere


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host:6443"])
def test_what_goes_between_driver_and_executors_is_guarded_where_a_secret_is_handed_out(
    monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    monkeypatch.setattr(settings, "connector_jars", lambda: (Path("/a.jar"),))
    monkeypatch.setattr(settings, "compiled_jar", lambda: Path("/ours.jar"))
    chosen = configuration(SparkSettings(master=master))
    assert chosen["spark.authenticate"] == "true"
    assert chosen["spark.network.crypto.enabled"] == "true"
    own = {"spark.network.crypto.enabled": "false"}
    assert configuration(SparkSettings(master=master, extra=own)).items() >= own.items()
    assert "spark.authenticate" not in configuration(SparkSettings(master="spark://host:7077"))


def test_a_new_class_data_archive_replaces_those_that_nobody_can_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java, cache = tmp_path / "java-17", tmp_path / "cache"
    fake_java(java, "17")
    monkeypatch.setenv("JAVA_HOME", str(java))
    monkeypatch.setenv("OTTLA_CACHE", str(cache))
    target = settings.archive_path()
    other, gone = cache / "spark-4.3.0-00000001", cache / "spark-4.3.0-00000002"
    for home, place in ((other, tmp_path), (gone, tmp_path / "removed")):
        home.mkdir()
        (home / "jars").symlink_to(place)
    kept = [f"classes-java-17-{other.name}-01.jsa", target.name.replace("java-17", "java-21")]
    earlier = target.stem.rpartition("-")[0] + "-000000000001.jsa"
    for name in (*kept, earlier, f"classes-java-17-{gone.name}-01.jsa"):
        (cache / name).touch()

    def make() -> None:
        Path(os.environ["OTTLA_MAKE_ARCHIVE"]).touch()

    monkeypatch.setattr(os, "nice", lambda by: None)
    monkeypatch.setattr(archive, "stand_back", lambda pid: None)  # not all of this session
    monkeypatch.setenv("OTTLA_MAKE_ARCHIVE", "")
    archive.make(target, cache / "lock", make)
    assert sorted(path.name for path in cache.glob("*.jsa")) == sorted([*kept, target.name])


def test_another_installation_of_spark_has_an_archive_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    java = tmp_path / "java-17"
    fake_java(java, "17")
    monkeypatch.setenv("JAVA_HOME", str(java))
    monkeypatch.setenv("OTTLA_CACHE", str(tmp_path / "cache"))
    here = settings.archive_path()
    for place in ("one", "two"):
        (tmp_path / place / "jars").mkdir(parents=True)
    elsewhere = []
    for place in ("one", "two"):
        monkeypatch.setattr(spark_home, "installed_spark", lambda place=place: tmp_path / place)
        monkeypatch.setattr(settings, "installed_spark", lambda place=place: tmp_path / place)
        elsewhere.append(settings.archive_path())
    assert len({here, *elsewhere}) == 3


def test_a_replay_opens_the_next_generation_and_a_restart_stays_in_it(tmp_path: Path) -> None:
    generations = Generations(LocalStorage(tmp_path), "app", "cluster")
    assert generations.current().generation == 1
    first = generations.open_next()  # nothing has run yet: the first pass is the replay
    assert first.generation == 1
    Path(first.checkpoint("out")).mkdir(parents=True)
    assert generations.open_next().generation == 2
    assert Generations(LocalStorage(tmp_path), "app", "cluster").current().generation == 2


def test_a_frame_in_the_file_starts_spark_with_the_page_and_the_log_of_the_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[SparkSettings] = []

    def session(settings: SparkSettings) -> None:
        asked.append(settings)
        raise OttlaError("enough seen")

    monkeypatch.setattr(sessions, "session", session)
    said = RunOptions(ui=True, state=tmp_path, conf={"spark.x": "run"})
    monkeypatch.setattr("ottla.pipelines.engine.choosing._prepared", said)
    of_app = {"spark.x": "app", "spark.y": "app"}
    orders = App("shop", parallelism=3, memory="2g", conf=of_app).stream("orders", value=string())
    with pytest.raises(OttlaError, match="enough seen"):
        _ = orders.df
    [settings] = asked
    assert settings.ui
    assert (settings.name, settings.parallelism) == ("shop", 3)
    assert settings.log == tmp_path / "shop" / "spark.log"
    assert settings.memory == "2g"
    assert settings.extra == {"spark.x": "run", "spark.y": "app"}


def test_what_is_fetched_is_not_what_pyspark_brings() -> None:
    """An older copy of a library would go before PySpark's own."""
    brought = {path.name.rpartition("-")[0] for path in Path(installed_spark(), "jars").iterdir()}
    fetched = [jar.name.partition("_")[2] for jar in (*pins.KAFKA.jars, *pins.S3.jars)]
    assert not brought & {name.rpartition("-")[0] for name in fetched}
    assert len(set(fetched)) == len(fetched)


def test_who_cannot_fetch_a_client_of_s3_is_told_which_line_names_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fetch(*_: object) -> None:
        raise OttlaError("There is no network.")

    monkeypatch.setenv("OTTLA_CACHE", str(tmp_path))
    monkeypatch.setattr(jars, "_resolve", fetch)
    with pytest.raises(OttlaError, match=r"Hadoop's client.*network.*--conf spark.jars="):
        s3._jars()


def test_a_session_that_cannot_take_our_jars_is_told_which_line_makes_one_that_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "connector_jars", lambda: ())
    monkeypatch.setattr(sessions, "compiled_jar", lambda: Path("/ours.jar"))
    lent = MagicMock()
    lent.sparkContext.master = "local[2]"
    loader = lent._jsparkSession.sharedState.return_value.jarClassLoader.return_value
    loader.loadClass.side_effect = RuntimeError("ClassNotFoundException")
    with pytest.raises(OttlaError, match=r"spark = ottla\.spark_session\(\)"):
        sessions._equip(lent)


class Conf(dict[str, str]):
    """A session's."""

    set = dict.__setitem__
    unset = dict.__delitem__


STATE_THREADS = "spark.sql.streaming.stateStore.fileChecksumThreadPoolSize"
FILES = "spark.sql.streaming.checkpointFileManagerClass"
AS_THE_PLACE_WANTS = {
    "folder": {STATE_THREADS: "0"},
    "hdfs": {},
    "s3a": {FILES: "ottla.ObjectCheckpoints"},
}


@pytest.mark.parametrize("place", AS_THE_PLACE_WANTS)
@pytest.mark.parametrize("before", [{}, *AS_THE_PLACE_WANTS.values()])
def test_checkpoints_are_written_as_their_place_wants_it(
    place: str, before: dict[str, str], tmp_path: Path
) -> None:
    """Whatever another application of the session has chosen."""
    assert chosen_files(place, tmp_path, before) == AS_THE_PLACE_WANTS[place]


@pytest.mark.parametrize("place", AS_THE_PLACE_WANTS)
def test_or_as_the_user_wants_it(place: str, tmp_path: Path) -> None:
    own = {STATE_THREADS: "8", FILES: "my.Files"}
    assert chosen_files(place, tmp_path, own) == own


def chosen_files(place: str, folder: Path, before: dict[str, str]) -> dict[str, str]:
    starter = object.__new__(Starter)
    starter.spark = MagicMock(conf=Conf(before))
    store = MagicMock(keeps_objects=place == "s3a")
    starter.folder = folder if place == "folder" else HadoopPath(store, "app")
    starter._choose_files()
    return starter.spark.conf

"""`ottla format` makes the directories that Apache Kafka's storage tool makes."""

import subprocess
import sys
from pathlib import Path

import pytest

from ottla.metadata.releases import levels_of_release, metadata_version, release_name
from ottla.quorum.control_records import control_records
from ottla.wire.record_batch import iterate_batches
from support.class_data import brief_java
from support.jars import class_path

CLUSTER_ID = "qxMSOLpFR9-f3GtICWzutw"
OTHER_ID = "MvDxzVmcRsaTz33bUuRU6A"
STATIC = "controller.quorum.voters=1@127.0.0.1:9093"
DYNAMIC = "controller.quorum.bootstrap.servers=127.0.0.1:9093"
TWO_VOTERS = f"1@127.0.0.1:9093:JEXY6aqzQY-32P5TStzaFg,2@127.0.0.1:9094:{OTHER_ID}"
SALT = "MWx2NHBkbnc0ZndxN25vdGN4bTB5Y2sx"
CASES = {
    "static": (STATIC, ()),
    "static, old": (STATIC, ("--release-version", "3.9")),
    "standalone": (DYNAMIC, ("--standalone",)),
    "initial": (DYNAMIC, ("--initial-controllers", TWO_VOTERS, "--feature", "share.version=0")),
    "users": (
        STATIC,
        (
            "--add-scram",
            f'SCRAM-SHA-512=[name=admin,salt="{SALT}",iterations=8192,password="a secret"]',
            "--add-scram",
            f"SCRAM-SHA-256=[name=bob,salt={SALT},saltedpassword={SALT}]",
        ),
    ),
    "none": (DYNAMIC, ("--no-initial-controllers", "--feature", "transaction.version=1")),
}


def properties(home: Path, quorum: str) -> Path:
    home.mkdir(parents=True)
    file = home / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"{quorum}\nlog.dirs={home}/d1,{home}/d2\n"
    )
    return file


def ottla_format(file: Path, *options: str, cluster_id: str = CLUSTER_ID) -> tuple[int, str]:
    command = [sys.executable, "-m", "ottla", "format", "-t", cluster_id, "-c", str(file)]
    done = subprocess.run([*command, *options], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def kafka_format(file: Path, *options: str) -> None:
    tool = [*brief_java(), "-cp", class_path(), "kafka.tools.StorageTool", "format"]
    command = [*tool, "-t", CLUSTER_ID, "-c", str(file), *options]
    subprocess.run(command, check=True, capture_output=True)


def files(home: Path) -> dict[str, Path]:
    found = (path for path in home.rglob("*") if path.is_file())
    return {str(path.relative_to(home)): path for path in found if path.parent != home}


def without_times(data: bytes) -> list[object]:
    """Batch by batch, without checksum and times; records that hold times or drawn ids by type."""
    told: list[object] = []
    for position, header in iterate_batches(data):
        batch = bytearray(data[position : position + header.size])
        batch[17:21], batch[27:43] = bytes(4), bytes(16)
        if header.is_control:
            told += [type(record).__name__ for _, record in control_records(data, position, header)]
            told.append(len(batch))
        else:
            told.append(bytes(batch))
    return told


def lines_without_times(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    return [line for line in lines if not line.startswith(("#", "directory.id="))]


@pytest.mark.java
@pytest.mark.parametrize("case", CASES)
def test_the_files_are_those_of_apache_kafkas_tool(tmp_path: Path, case: str) -> None:
    quorum, options = CASES[case]
    kafka_format(properties(tmp_path / "kafka", quorum), *options)
    code, said = ottla_format(properties(tmp_path / "ottla", quorum), *options)
    assert code == 0, said
    kafkas, ours = files(tmp_path / "kafka"), files(tmp_path / "ottla")
    assert ours.keys() == kafkas.keys()
    for name, path in kafkas.items():
        assert ours[name].stat().st_size == path.stat().st_size
        if path.suffix == ".checkpoint":
            assert without_times(ours[name].read_bytes()) == without_times(path.read_bytes())
        else:
            assert lines_without_times(ours[name]) == lines_without_times(path)


def test_the_directory_id_of_a_voter_is_the_one_given(tmp_path: Path) -> None:
    file = properties(tmp_path / "node", DYNAMIC)
    assert ottla_format(file, "--initial-controllers", TWO_VOTERS)[0] == 0
    meta = (tmp_path / "node" / "d1" / "meta.properties").read_text()
    assert "directory.id=JEXY6aqzQY-32P5TStzaFg\n" in meta
    assert f"cluster.id={CLUSTER_ID}\n" in meta


@pytest.mark.parametrize(
    ("quorum", "options", "part"),
    [
        (DYNAMIC, (), "--standalone"),
        (STATIC, ("--standalone",), "controller.quorum.voters"),
        (DYNAMIC, ("--standalone", "--no-initial-controllers"), "Give one of"),
        (DYNAMIC, ("--initial-controllers", "1@here"), "ID@HOST:PORT:DIRECTORY-ID"),
        (STATIC, ("--feature", "no.such=1"), "metadata.version"),
        (STATIC, ("--feature", "share.version"), "name=level"),
        (STATIC, ("--feature", "kraft.version=1"), "kraft.version is 0"),
        (STATIC, ("--release-version", "2.8"), "3.3"),
        (STATIC, ("-r", "4.0", "--feature", "metadata.version=20"), "not both"),
        (STATIC, ("-r", "3.9", "-f", "eligible.leader.replicas.version=1"), "needs"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence_and_nothing_is_written(
    tmp_path: Path, quorum: str, options: tuple[str, ...], part: str
) -> None:
    code, said = ottla_format(properties(tmp_path / "node", quorum), *options)
    assert (code, part in said) == (1, True), said
    assert files(tmp_path / "node") == {}


def test_a_formatted_directory_is_left_as_it_is(tmp_path: Path) -> None:
    file = properties(tmp_path / "node", STATIC)
    assert ottla_format(file)[0] == 0
    before = (tmp_path / "node" / "d1" / "meta.properties").read_bytes()
    code, said = ottla_format(file)
    assert (code, "formatted already" in said) == (1, True)
    assert ottla_format(file, "--ignore-formatted")[0] == 0
    code, said = ottla_format(file, "--ignore-formatted", cluster_id=OTHER_ID)
    assert (code, CLUSTER_ID in said) == (1, True)
    assert (tmp_path / "node" / "d1" / "meta.properties").read_bytes() == before


@pytest.mark.parametrize(
    ("release", "level", "features"),
    [
        ("3.3", 7, {}),
        ("3.7", 19, {}),
        ("3.7-IV0", 15, {}),
        ("4.0", 25, {"group.version": 1, "transaction.version": 2}),
        ("4.2.1", 29, {"share.version": 1, "streams.version": 1}),
        ("4.3", 30, {"eligible.leader.replicas.version": 1}),
    ],
)
def test_a_release_stands_for_its_levels(
    release: str, level: int, features: dict[str, int]
) -> None:
    assert metadata_version(release) == level
    levels = levels_of_release(level)
    assert {name: levels[name] for name in features} == features
    assert metadata_version(release_name(level)) == level

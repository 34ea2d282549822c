"""Directories that Apache Kafka 4.3.1 wrote, in `golden/`: read as they are, written alike."""

import asyncio
import shutil
from pathlib import Path

import pytest

from ottla.ids import parse_uuid
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.ports.disk import LocalDisk
from ottla.quorum.config import QuorumConfig
from ottla.quorum.control_records import build_control_batch, control_records
from ottla.quorum.driver import Quorum
from ottla.quorum.election_state import ElectionState
from ottla.quorum.snapshots import EMPTY, read_snapshot
from ottla.quorum.store import DIRECTORY, Store, format_dynamic
from ottla.quorum.voters import Address, VoterSet
from ottla.wire.record_batch import iterate_batches
from support.quorum_members import Memory

GOLDEN = Path(__file__).parent / "golden"
STATIC_VOTERS = VoterSet.static([(1, Address("CONTROLLER", "127.0.0.1", 19393))])


def copy_of(kind: str, to: Path) -> Path:
    shutil.copytree(GOLDEN / kind, to / DIRECTORY)
    return to


def directory_id(kind: str) -> bytes:
    lines = (GOLDEN / kind / "meta.properties").read_text().splitlines()
    return parse_uuid(dict(line.split("=", 1) for line in lines if "=" in line)["directory.id"])


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_the_votes_are_read_and_written_byte_for_byte(kind: str) -> None:
    data = (GOLDEN / kind / "quorum-state").read_bytes()
    state = ElectionState.from_json(data)
    assert state == ElectionState(epoch=1, leader=1)
    assert state.to_json(int(kind == "dynamic"), [1]) == data


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_control_batches_are_written_byte_for_byte(kind: str) -> None:
    data = (GOLDEN / kind / "00000000000000000000.log").read_bytes()
    position, header = next(iterate_batches(data))
    records = [record for _, record in control_records(data, position, header)]
    built = build_control_batch(records, base_offset=0, epoch=1, now_ms=header.base_timestamp)
    assert built == data[: header.size]


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_the_epochs_follow_from_the_batches(kind: str, tmp_path: Path) -> None:
    store = Store(LocalDisk(), copy_of(kind, tmp_path), STATIC_VOTERS)
    golden = (GOLDEN / kind / "leader-epoch-checkpoint").read_bytes()
    assert store.log.epochs.render().encode() == golden
    store.close()


def test_the_voters_of_a_formatted_directory_are_those_kafka_wrote(tmp_path: Path) -> None:
    golden = read_snapshot((GOLDEN / "dynamic" / EMPTY.file_name).read_bytes())
    assert golden.kraft_version == 1
    assert golden.voters is not None
    format_dynamic(LocalDisk(), tmp_path, golden.voters.voters, golden.last_timestamp)
    ours = read_snapshot((tmp_path / DIRECTORY / EMPTY.file_name).read_bytes())
    assert ours._replace(data=b"") == golden._replace(data=b"")
    assert len(ours.data) == len(golden.data)


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_a_log_of_kafka_goes_on_under_a_new_epoch(kind: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        memory = Memory()
        config = QuorumConfig(
            node_id=1,
            cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
            directory_id=directory_id(kind),
            log_dir=copy_of(kind, tmp_path),
            static_voters=STATIC_VOTERS if kind == "static" else VoterSet(),
        )
        quorum = Quorum(config, memory, SYSTEM_CLOCK, SYSTEM_CHANCE)
        await quorum.start()
        assert quorum.epoch == 2
        assert memory.values[0] == b"\x01\x17\x00\x01\x00\x12\x12Bootstrap records"
        assert len(memory.values) == quorum.high_watermark - (4 if kind == "dynamic" else 2)
        await quorum.stop()

    asyncio.run(scenario())

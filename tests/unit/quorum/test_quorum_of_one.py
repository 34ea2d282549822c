"""A quorum of one on real files: what is appended is there again after a start."""

import asyncio
from pathlib import Path

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.ports.disk import LocalDisk
from ottla.quorum.config import QuorumConfig
from ottla.quorum.driver import Quorum
from ottla.quorum.store import DIRECTORY, format_dynamic
from ottla.quorum.voters import Address, ReplicaKey, Voter, VoterSet
from support.ids import new_uuid
from support.quorum_members import Memory

DIRECTORY_ID = new_uuid()
ADDRESS = Address("CONTROLLER", "127.0.0.1", 9093)


def config(log_dir: Path, *, static: bool, segment_bytes: int = 1 << 30) -> QuorumConfig:
    return QuorumConfig(
        node_id=1,
        cluster_id="cluster",
        directory_id=DIRECTORY_ID,
        log_dir=log_dir,
        static_voters=VoterSet.static([(1, ADDRESS)]) if static else VoterSet(),
        endpoints=(ADDRESS,),
        segment_bytes=segment_bytes,
    )


def prepare(log_dir: Path, *, static: bool) -> None:
    if not static:
        voter = Voter(ReplicaKey(1, DIRECTORY_ID), (ADDRESS,))
        format_dynamic(LocalDisk(), log_dir, (voter,), 1)


async def started(settings: QuorumConfig) -> tuple[Quorum, Memory]:
    memory = Memory()
    quorum = Quorum(settings, memory, SYSTEM_CLOCK, SYSTEM_CHANCE)
    await quorum.start()
    return quorum, memory


@pytest.mark.parametrize("static", [True, False])
def test_what_was_committed_is_replayed_after_a_restart(tmp_path: Path, static: bool) -> None:
    async def scenario() -> None:
        prepare(tmp_path, static=static)
        quorum, memory = await started(config(tmp_path, static=static))
        assert quorum.is_leader
        first, second = await asyncio.gather(quorum.append([b"a", b"b"]), quorum.append([b"c"]))
        assert second == first + 2
        assert memory.values == [b"a", b"b", b"c"]
        await quorum.stop()

        again, replayed = await started(config(tmp_path, static=static))
        assert replayed.values == [b"a", b"b", b"c"]
        assert again.epoch == 2
        assert replayed.leaders == [(1, 2)]
        await again.stop()

    asyncio.run(scenario())


def test_a_torn_tail_is_cut_by_its_checksum(tmp_path: Path) -> None:
    async def scenario() -> None:
        quorum, _ = await started(config(tmp_path, static=True))
        await quorum.append([b"kept"])
        await quorum.append([b"torn" * 100])
        await quorum.stop()
        segment = tmp_path / DIRECTORY / "00000000000000000000.log"
        data = segment.read_bytes()
        segment.write_bytes(data[:-50] + b"\0" * 50)

        again, replayed = await started(config(tmp_path, static=True))
        assert replayed.values == [b"kept"]
        await again.append([b"new"])
        assert replayed.values == [b"kept", b"new"]
        await again.stop()

    asyncio.run(scenario())


def test_a_snapshot_takes_the_place_of_the_segments_it_covers(tmp_path: Path) -> None:
    async def scenario() -> None:
        small = config(tmp_path, static=True, segment_bytes=200)
        quorum, _ = await started(small)
        for number in range(20):
            await quorum.append([b"%d" % number * 20])
        await quorum.write_snapshot([b"state"], quorum.high_watermark, quorum.epoch)
        await quorum.append([b"after"])
        end = quorum.high_watermark
        await quorum.stop()
        assert len(list((tmp_path / DIRECTORY).glob("*.log"))) < 5

        again, replayed = await started(small)
        assert replayed.values == [b"state", b"after"]
        assert replayed.snapshots == [(end - 1, 1)]
        await again.stop()

    asyncio.run(scenario())


def test_a_snapshot_that_a_crash_left_unfinished_is_removed(tmp_path: Path) -> None:
    async def scenario() -> None:
        quorum, _ = await started(config(tmp_path, static=True))
        await quorum.append([b"kept"])
        await quorum.stop()
        torn = tmp_path / DIRECTORY / "00000000000000000002-0000000001.checkpoint.tmp"
        torn.write_bytes(b"half")

        again, replayed = await started(config(tmp_path, static=True))
        assert replayed.values == [b"kept"]
        assert not torn.exists()
        await again.stop()

    asyncio.run(scenario())


def test_after_a_stop_nothing_is_appended(tmp_path: Path) -> None:
    async def scenario() -> None:
        quorum, _ = await started(config(tmp_path, static=True))
        await quorum.stop()
        with pytest.raises(KafkaError) as refusal:
            quorum.append([b"late"])
        assert refusal.value.code == ErrorCode.NOT_CONTROLLER

    asyncio.run(scenario())

"""A disk that fails once is not trusted again: nothing more is acknowledged."""

import asyncio
import errno
from pathlib import Path

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.ports.disk import File, LocalDisk, LocalFile
from ottla.quorum.driver import Quorum
from support.quorum_members import Memory
from unit.quorum.test_quorum_of_one import config


class FailingFile(LocalFile):
    def __init__(self, path: Path, disk: "FailingDisk") -> None:
        super().__init__(path)
        self._disk = disk

    def sync(self) -> None:
        if self._disk.fails:
            raise OSError(errno.EIO, "the disk is gone")
        super().sync()


class FailingDisk(LocalDisk):
    fails = False

    def open(self, path: Path) -> File:
        return FailingFile(path, self)


def test_nothing_is_acknowledged_after_a_failed_sync(tmp_path: Path) -> None:
    async def scenario() -> None:
        disk, memory = FailingDisk(), Memory()
        quorum = Quorum(config(tmp_path, static=True), memory, SYSTEM_CLOCK, SYSTEM_CHANCE, disk)
        await quorum.start()
        disk.fails = True
        with pytest.raises(KafkaError) as refusal:
            await quorum.append([b"lost"])
        assert refusal.value.code == ErrorCode.NOT_CONTROLLER
        with pytest.raises(OSError, match="the disk is gone"):
            await quorum.failure
        disk.fails = False  # too late: what the failed sync was to write may be gone
        with pytest.raises(KafkaError):
            quorum.append([b"refused"])
        assert b"lost" not in memory.values
        assert not quorum.is_leader

    asyncio.run(scenario())

"""Acknowledgements that wait for the disk (`flush.messages`): one fsync for all who wait.

Those of a leader to its clients, and those of a follower to its leader.
"""

from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from ottla.errors import KafkaError
from ottla.log.flushing import GroupCommit
from ottla.log.partition_log import PartitionLog
from ottla.replication.leader import Leader


class Durability:
    def __init__(
        self,
        threads: Executor,
        moved: Callable[[Leader], None],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._threads = threads
        self._moved = moved
        self._spawn = spawn
        self._commits: WeakKeyDictionary[PartitionLog, GroupCommit] = WeakKeyDictionary()

    def ask(self, leader: Leader, offset: int) -> None:
        """See to it that everything below `offset` gets onto the disk; then wake who watches."""
        self._spawn(self._flush(leader, offset))

    async def _flush(self, leader: Leader, offset: int) -> None:
        with suppress(OSError, KafkaError):  # the directory's health tells it to all who wait
            await self.flushed(leader.log, offset)
        self._moved(leader)

    async def flushed(self, log: PartitionLog, offset: int) -> None:
        """Returns once everything below `offset` is on the disk; raises if the disk fails."""
        commit = self._commits.get(log)
        if commit is None:
            commit = self._commits[log] = GroupCommit(log, self._threads)
        await commit.flushed(offset)

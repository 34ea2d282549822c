"""Acknowledgements that wait for the disk (`flush.messages`): one fsync for all who wait."""

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
        commit = self._commits.get(leader.log)
        if commit is None:
            commit = self._commits[leader.log] = GroupCommit(leader.log, self._threads)
        self._spawn(self._flush(commit, leader, offset))

    async def _flush(self, commit: GroupCommit, leader: Leader, offset: int) -> None:
        with suppress(OSError, KafkaError):  # the directory's health tells it to all who wait
            await commit.flushed(offset)
        self._moved(leader)

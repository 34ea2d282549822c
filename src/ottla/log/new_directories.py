"""Directories of logs that are new: promised at once, made by a thread or by the first who writes.

A file system takes from a tenth of a millisecond to several for each, and a request may ask for
thousands of partitions. Nothing is lost with a promise that a crash breaks: the metadata log has
the partition, and a log whose directory was never made has no records.
"""

import os
from contextlib import suppress
from threading import Lock
from typing import NamedTuple

from ottla.ids import Uuid, show_uuid
from ottla.log.health import DirectoryHealth

PARTITION_METADATA = "partition.metadata"


class Promise(NamedTuple):
    topic_id: Uuid
    health: DirectoryHealth


class NewDirectories:
    """Shared by the loop and a thread, hence the lock; it is held for one directory at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._promised: dict[str, Promise] = {}

    def __bool__(self) -> bool:
        return bool(self._promised)

    def promise(self, path: str, topic_id: Uuid, health: DirectoryHealth) -> None:
        with self._lock:
            self._promised[path] = Promise(topic_id, health)

    def make(self, path: str) -> None:
        """Before the first file goes in there; does nothing where nothing was promised."""
        with self._lock:
            promise = self._promised.get(path)
            if promise is not None:
                make_directory(path, promise.topic_id)
                del self._promised[path]

    def make_all(self) -> None:
        """For a thread. What cannot be made is told to its directory and remains promised."""
        for path, promise in list(self._promised.items()):
            if promise.health.failure is None:
                try:
                    self.make(path)
                except OSError as error:
                    promise.health.report(error)

    def forget(self, path: str) -> bool:
        """True if it was not made yet, and now will not be."""
        with self._lock:
            return self._promised.pop(path, None) is not None


def make_directory(path: str, topic_id: Uuid) -> None:
    """With the id of the topic that it belongs to: whole, or not there at all."""
    with suppress(FileExistsError):
        os.mkdir(path)
    temporary = f"{path}/{PARTITION_METADATA}.tmp"
    with open(temporary, "wb", buffering=0) as file:
        file.write(f"version: 0\ntopic_id: {show_uuid(topic_id)}".encode())
    os.rename(temporary, f"{path}/{PARTITION_METADATA}")

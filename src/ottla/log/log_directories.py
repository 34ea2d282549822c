"""The directories a node lives in: those of log.dirs, and the metadata's where it is another.

Each of them is locked and says whose it is; logs of partitions lie only in those of log.dirs. A
log directory that cannot be used when the node starts is left out, as one that fails later is: its
partitions are offline, all others are served.
"""

import logging
from collections.abc import Callable, Iterable

from ottla.config.topology import Topology
from ottla.errors import OttlaError
from ottla.log.checkpoints import MetaProperties
from ottla.log.directory import LogDirectory
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources
from ottla.log.tail import TailCache
from ottla.ports.chance import Chance
from ottla.ports.disk import Sync

log = logging.getLogger(__name__)


class LogDirectories:
    def __init__(self, topology: Topology, sync: Sync, chance: Chance) -> None:
        resources = LogResources(OpenFiles(), TailCache(), sync, chance)
        self.logs = [LogDirectory(path, resources) for path in topology.log_dirs]
        by_path = {directory.path: directory for directory in self.logs}
        self.metadata = by_path.get(topology.metadata_dir) or LogDirectory(
            topology.metadata_dir, resources
        )
        self.all = self.logs if self.metadata in self.logs else [*self.logs, self.metadata]
        self.identities: dict[LogDirectory, MetaProperties] = {}
        """Whose they are; those that are missing were never formatted, or cannot be used."""

    def usable_logs(self) -> list[LogDirectory]:
        return [one for one in self.logs if one.health.failure is None]

    def lock(self) -> None:
        """Keep other nodes out, then read whose directories they are."""
        self.each(self.all, self._lock)

    def _lock(self, directory: LogDirectory) -> None:
        directory.lock()
        meta = directory.meta_properties()
        if meta is not None:
            self.identities[directory] = meta

    def unlock(self) -> None:
        for directory in self.all:
            directory.unlock()

    def each(
        self, directories: Iterable[LogDirectory], prepare: Callable[[LogDirectory], None]
    ) -> None:
        """A step of the start, for those of them that can be used."""
        for directory in directories:
            if directory.health.failure is None:
                try:
                    prepare(directory)
                except OSError as error:
                    self._leave_out(directory, error)

    def _leave_out(self, directory: LogDirectory, error: OSError) -> None:
        directory.give_up(error)
        if directory is self.metadata:
            raise OttlaError(
                f"{directory.path} cannot be used, and the metadata log lies there: "
                f"{error.strerror}."
            )
        if not self.usable_logs():
            raise OttlaError(
                f"No directory in log.dirs can be used, {directory.path} neither: {error.strerror}."
            )
        log.error(
            "%s cannot be used and is left out, its partitions are offline: %s",
            directory.path,
            error,
        )

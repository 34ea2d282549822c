"""The directories a node lives in: those of log.dirs, and the metadata's where it is another.

Each of them is locked and says whose it is; logs of partitions lie only in those of log.dirs.
"""

from ottla.config.topology import Topology
from ottla.log.checkpoints import MetaProperties
from ottla.log.directory import LogDirectory
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources
from ottla.log.tail import TailCache


class Homes:
    def __init__(self, topology: Topology) -> None:
        resources = LogResources(OpenFiles(), TailCache())
        self.logs = [LogDirectory(path, resources) for path in topology.log_dirs]
        by_path = {directory.path: directory for directory in self.logs}
        self.metadata = by_path.get(topology.metadata_dir) or LogDirectory(
            topology.metadata_dir, resources
        )
        self.all = self.logs if self.metadata in self.logs else [*self.logs, self.metadata]
        self.identities: dict[LogDirectory, MetaProperties] = {}
        """Whose they are; those that are missing were never formatted."""

    def lock(self) -> None:
        """Keep other nodes out, then read whose directories they are."""
        for directory in self.all:
            directory.lock()
            meta = directory.meta_properties()
            if meta is not None:
                self.identities[directory] = meta

    def unlock(self) -> None:
        for directory in self.all:
            directory.unlock()

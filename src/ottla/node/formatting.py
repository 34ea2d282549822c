"""A new data directory made ready, as Apache Kafka's storage tool would; or an old one checked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ottla.config import Settings
from ottla.config.load import render_single_node
from ottla.config.topology import Listener, VoterAddress
from ottla.errors import OttlaError
from ottla.ids import Uuid, show_uuid
from ottla.log.checkpoints import MetaProperties, write_meta_properties
from ottla.log.directory import LogDirectory
from ottla.log.log_directories import LogDirectories
from ottla.metadata.features import bootstrap_values
from ottla.ports.chance import Chance, new_uuid
from ottla.ports.disk import LocalDisk, Sync, write_durably
from ottla.quorum.snapshots import build_snapshot, read_snapshot
from ottla.quorum.store import BOOTSTRAP_CHECKPOINT, format_dynamic
from ottla.quorum.voters import Address, ReplicaKey, Voter

SERVER_PROPERTIES = "server.properties"


class Identity(NamedTuple):
    """Who the node is, as its directories say."""

    cluster_id: str
    directory_ids: tuple[Uuid, ...]  # one for each log directory that can be used
    metadata_directory_id: Uuid
    bootstrap: tuple[bytes, ...]  # the records a new cluster begins with


def identify(
    settings: Settings,
    directories: LogDirectories,
    controllers: Sequence[Listener],
    now_ms: int,
    sync: Sync,
    chance: Chance,
    joined: str | None = None,
) -> Identity:
    """Tell who this node is; format what is new. The directories are locked by now.

    Ports in the settings are the real ones, `controllers` our own listeners as others reach them.
    `joined` is the cluster that a new node was told of.
    """
    topology = settings.topology
    agreed = _agreed_cluster(topology.node_id, directories.identities)
    is_new = agreed is None
    cluster_id = agreed or joined or new_cluster_id(topology.voters, chance)

    def make_ready(directory: LogDirectory) -> None:
        meta = MetaProperties(topology.node_id, cluster_id, new_uuid(chance))
        bootstrap = build_snapshot(bootstrap_values(), now_ms=now_ms)
        write_durably(directory.path / BOOTSTRAP_CHECKPOINT, bootstrap, sync)
        is_first = is_new and joined is None
        is_first_voter = is_first and topology.is_controller and not topology.voters
        if is_first_voter and directory is directories.metadata:
            key = ReplicaKey(topology.node_id, meta.directory_id)
            endpoints = tuple(Address(each.name, each.host, each.port) for each in controllers)
            format_dynamic(LocalDisk(sync), directory.path, (Voter(key, endpoints),), now_ms)
        # Last: what was only begun is begun again.
        write_meta_properties(directory.path, meta, now_ms, sync)
        directories.identities[directory] = meta

    new = [one for one in directories.all if one not in directories.identities]
    new.sort(key=lambda one: one is not directories.metadata)  # its voter is known by this very id
    directories.each(new, make_ready)
    me = directories.identities[directories.metadata].directory_id
    if is_new:
        _leave_properties(settings, directories.usable_logs()[0].path)
    return Identity(
        cluster_id,
        tuple(
            directories.identities[directory].directory_id
            for directory in directories.usable_logs()
        ),
        me,
        _read_bootstrap(topology.metadata_dir),
    )


def new_cluster_id(voters: Sequence[VoterAddress], chance: Chance) -> str:
    """Nodes that are to form one quorum agree on a name before they can talk to each other."""
    if len(voters) < 2:
        return show_uuid(new_uuid(chance))
    from hashlib import sha256

    names = ",".join(sorted(f"{each.node_id}@{each.host}:{each.port}" for each in voters))
    return show_uuid(sha256(names.encode()).digest()[:16])


def _agreed_cluster(node_id: int, found: Mapping[LogDirectory, MetaProperties]) -> str | None:
    """The cluster that all formatted directories name; None where all are new."""
    for directory, meta in found.items():
        if meta.node_id != node_id:
            raise OttlaError(
                f"{directory.path} belongs to node {meta.node_id}, not to {node_id}. "
                "Correct node.id, or name another directory in log.dirs."
            )
    clusters = {meta.cluster_id for meta in found.values()}
    if len(clusters) > 1:
        raise OttlaError(f"log.dirs belong to different clusters: {', '.join(sorted(clusters))}.")
    return clusters.pop() if clusters else None


def _read_bootstrap(metadata_dir: Path) -> tuple[bytes, ...]:
    try:
        data = (metadata_dir / BOOTSTRAP_CHECKPOINT).read_bytes()
    except FileNotFoundError:
        return tuple(bootstrap_values())
    return tuple(read_snapshot(data).values())


def _leave_properties(settings: Settings, directory: Path) -> None:
    """A directory that Ottla formatted can be taken over by Apache Kafka with this file."""
    file = directory / SERVER_PROPERTIES
    if not file.exists():
        file.touch(0o600)  # there may be passwords among the options
        file.write_text(render_single_node(settings))

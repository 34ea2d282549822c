"""Directories made ready before the first start, as Apache Kafka's storage tool makes them.

`ottla start` formats what is new by itself; here a person decides: the cluster's id, its voters,
its feature levels. The files are those of `kafka-storage format`, byte for byte but for times and
ids that are drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ottla.config.topology import EVERYWHERE, Topology
from ottla.errors import OttlaError
from ottla.ids import Uuid, parse_uuid
from ottla.log.checkpoints import MetaProperties, write_meta_properties
from ottla.log.log_directories import LogDirectories
from ottla.metadata.features import bootstrap_values
from ottla.ports.chance import SYSTEM_CHANCE, new_uuid
from ottla.ports.disk import LocalDisk, sync, write_durably
from ottla.quorum.snapshots import build_snapshot
from ottla.quorum.store import BOOTSTRAP_CHECKPOINT, format_dynamic
from ottla.quorum.voters import Address, ReplicaKey, Voter
from ottla.wire.records.metadata import UserScramCredentialRecord


class InitialController(NamedTuple):
    """`1@host:9093:JEXY6aqzQY-32P5TStzaFg`."""

    node_id: int
    host: str
    port: int
    directory_id: Uuid


class StorageFormat(NamedTuple):
    cluster_id: str
    levels: Mapping[str, int]
    controllers: Sequence[InitialController]  # none: static voters, or a node that joins later
    ignore_formatted: bool = False
    users: Sequence[UserScramCredentialRecord] = ()  # that the cluster begins with


def format_directories(topology: Topology, wanted: StorageFormat, now_ms: int) -> list[Path]:
    """Those that were formatted; OttlaError where that cannot be, before anything is written."""
    directories = LogDirectories(topology, sync, SYSTEM_CHANCE)
    directories.lock()
    try:
        return list(_formatted(directories, topology, wanted, now_ms))
    finally:
        directories.unlock()
        for directory in directories.all:
            (directory.path / ".lock").unlink(missing_ok=True)


def _formatted(
    directories: LogDirectories, topology: Topology, wanted: StorageFormat, now_ms: int
) -> Iterator[Path]:
    _check(directories, topology, wanted)
    own = next((one for one in wanted.controllers if one.node_id == topology.node_id), None)
    for directory in directories.all:
        if directory in directories.identities:
            continue
        is_metadata = directory is directories.metadata
        directory_id = (
            own.directory_id if own is not None and is_metadata else new_uuid(SYSTEM_CHANCE)
        )
        bootstrap = build_snapshot(bootstrap_values(wanted.levels, wanted.users), now_ms=now_ms)
        write_durably(directory.path / BOOTSTRAP_CHECKPOINT, bootstrap, sync)
        if is_metadata and wanted.controllers:
            listener = topology.controller_names[0]
            voters = tuple(_voter(one, listener) for one in wanted.controllers)
            format_dynamic(LocalDisk(), directory.path, voters, now_ms)
        meta = MetaProperties(topology.node_id, wanted.cluster_id, directory_id)
        write_meta_properties(directory.path, meta, now_ms)
        yield directory.path


def _check(directories: LogDirectories, topology: Topology, wanted: StorageFormat) -> None:
    for directory, meta in directories.identities.items():
        if (meta.cluster_id, meta.node_id) != (wanted.cluster_id, topology.node_id):
            raise OttlaError(
                f"{directory.path} belongs to node {meta.node_id} of cluster {meta.cluster_id}."
            )
        if not wanted.ignore_formatted:
            raise OttlaError(
                f"{directory.path} is formatted already; with --ignore-formatted it stays as it is."
            )


def _voter(one: InitialController, listener: str) -> Voter:
    endpoint = Address(listener, one.host, one.port)
    return Voter(ReplicaKey(one.node_id, one.directory_id), (endpoint,))


def standalone(topology: Topology) -> InitialController:
    """This node as the only voter."""
    if not topology.is_controller:
        raise OttlaError("--standalone is for a node with the controller's role.")
    listener = topology.controller_listeners[0]
    host = "localhost" if listener.host in EVERYWHERE else listener.host
    return InitialController(topology.node_id, host, listener.port, new_uuid(SYSTEM_CHANCE))


def parse_controllers(text: str) -> list[InitialController]:
    """`ID@HOST:PORT:DIRECTORY-ID,…`, the same on every node of the quorum."""
    return [_parse_controller(one.strip()) for one in text.split(",") if one.strip()]


def _parse_controller(text: str) -> InitialController:
    try:
        node_id, _, rest = text.partition("@")
        place, _, directory = rest.rpartition(":")
        host, _, port = place.rpartition(":")
        found = InitialController(int(node_id), host.strip("[]"), int(port), parse_uuid(directory))
    except ValueError:
        raise OttlaError(
            f"--initial-controllers: {text!r} is not ID@HOST:PORT:DIRECTORY-ID."
        ) from None
    if not found.host:
        raise OttlaError(f"--initial-controllers: {text!r} has no host.")
    return found

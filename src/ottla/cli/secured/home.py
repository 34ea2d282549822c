"""A secured cluster's directory: `secure/` of its owner, and a folder for each node.

A node's folder holds all that the node needs: it can be carried to the node's host.
"""

import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from ottla.cli.secured.options import CLIENTS, KEYSTORE, TRUSTSTORE, Place, secured_options
from ottla.cli.secured.vault import Vault, private_folder, write_private
from ottla.config.load import load
from ottla.config.properties import render_properties
from ottla.config.topology import EVERYWHERE, Topology, show_address
from ottla.errors import OttlaError

FILE = "server.properties"
LOCAL = ("localhost", "127.0.0.1", "::1")


def write_node(
    vault: Vault,
    place: Place,
    folder: Path,
    options: Mapping[str, str],
    *,
    names: Iterable[str] = (),
    at: Path | None = None,
) -> Path:
    """Key, certificate and file of a new node; `at` is where the folder will lie on its host."""
    from ottla.security.authority import new_node

    private_folder(folder)
    hosts = [place.host, place.nodes_host, *names, *LOCAL]
    own = new_node(vault.authority(), place.node, filter(None, hosts), datetime.now(UTC))
    write_private(folder / KEYSTORE, own.chained)
    write_private(folder / TRUSTSTORE, vault.trusted)
    secured = {**options, **secured_options(place, at or folder.absolute())}
    about = f"Node {place.node} of a secured cluster; Apache Kafka reads this file too."
    write_private(folder / FILE, render_properties(secured, about=about))
    return folder / FILE


def format_voter(vault: Vault, file: Path) -> None:
    """Before its first start: the first user stands in what the cluster begins with."""
    from ottla.metadata.releases import chosen_levels
    from ottla.node.formatting import new_cluster_id
    from ottla.node.storage import StorageFormat, format_directories
    from ottla.ports.chance import SYSTEM_CHANCE
    from ottla.security.add_scram import parse_user

    topology = load(file).settings.topology
    if (topology.metadata_dir / "meta.properties").exists():
        return
    for directory in topology.log_dirs:
        private_folder(directory)
    user = parse_user(vault.first_user, SYSTEM_CHANCE)
    cluster_id = new_cluster_id(topology.voters, SYSTEM_CHANCE)
    wanted = StorageFormat(cluster_id, chosen_levels(None, {}), (), users=(user,))
    format_directories(topology, wanted, time.time_ns() // 1_000_000)


def clients_addresses(files: Iterable[Path]) -> list[str]:
    """Where clients find the nodes of these files."""
    return [clients_address(load(file).settings.topology) for file in files]


def clients_address(topology: Topology) -> str:
    found = next((one for one in topology.advertised if one.name == CLIENTS), None)
    if found is None:
        raise OttlaError(f"Node {topology.node_id} has no listener {CLIENTS}.")
    return show_address(found.host, found.port)


def clients_place(topology: Topology) -> tuple[str, int]:
    """Where the node listens for them."""
    found = next(one for one in topology.listeners if one.name == CLIENTS)
    return ("" if found.host in EVERYWHERE else found.host), found.port

"""`ottla secure init`: a folder for each of the hosts that a cluster will run on."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ottla.cli.local_cluster import CONTROLLERS_MAX, node_options
from ottla.cli.secured.home import FILE, clients_addresses, write_node
from ottla.cli.secured.options import Place
from ottla.cli.secured.vault import FIRST_USER, Vault, write_private
from ottla.config.load import load
from ottla.config.topology import show_address
from ottla.errors import OttlaError

_NODE = re.compile(r"(?:(\d+)@)?([A-Za-z0-9.:_-]+|\[[0-9a-fA-F:]+\])")


class Ports(NamedTuple):
    clients: int
    controllers: int
    nodes: int


def parse_hosts(given: Sequence[str]) -> dict[int, str]:
    """`1@host` or `host`: those without a number are counted from 1."""
    found: dict[int, str] = {}
    for position, text in enumerate(given, 1):
        match = _NODE.fullmatch(text)
        if match is None:
            raise OttlaError(f"--node {text!r}: write ID@HOST.")
        node = int(match[1] or position)
        if node in found:
            raise OttlaError(f"--node {text!r}: node {node} is named twice.")
        found[node] = match[2].strip("[]")
    if not found:
        raise OttlaError("Name the cluster's nodes: --node 1@HOST --node 2@HOST …")
    return found


def init(
    home: Path, hosts: dict[int, str], ports: Ports, at: Path, data: Path, names: Sequence[str]
) -> list[Path]:
    """The nodes' files; what is there already is refused, since nodes may be running by it."""
    vault = Vault(home)
    if vault.exists:
        raise OttlaError(
            f"{home} holds a secured cluster already; `ottla secure rotate` renews certificates."
        )
    vault.create()
    voters = dict(sorted(hosts.items())[:CONTROLLERS_MAX])
    told = ",".join(
        f"{node}@{show_address(host, ports.controllers)}" for node, host in voters.items()
    )
    files = []
    for node, host in hosts.items():
        controller = ports.controllers if node in voters else None
        place = Place(node, host, ports.clients, ports.nodes, controller, bind="")
        options = node_options(node, len(hosts), ports.clients, dict.fromkeys(voters, 0), data)
        options["controller.quorum.voters"] = told
        folder = home / f"node{node}"
        files.append(write_node(vault, place, folder, options, names=names, at=at))
        write_private(folder / FIRST_USER, vault.first_user)
    vault.renew_client_files(clients_addresses(files))
    return files


def cluster_id_of(file: Path) -> str:
    """Nodes that name the same voters agree on it."""
    from ottla.node.formatting import new_cluster_id
    from ottla.ports.chance import SYSTEM_CHANCE

    return new_cluster_id(load(file).settings.topology.voters, SYSTEM_CHANCE)


def steps(files: Sequence[Path], hosts: dict[int, str], at: Path) -> list[str]:
    """What is left to be done, as a person types it."""
    id = cluster_id_of(files[0])
    lines = []
    for file, host in zip(files, hosts.values(), strict=True):
        lines += [
            f"scp -r {file.parent}/ {host}:{at}",
            f"ssh {host} ottla format -t {id} -c {at / FILE} --add-scram @{at / FIRST_USER}",
            f"ssh {host} ottla start {at / FILE}",
        ]
    return lines

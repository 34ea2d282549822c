"""A whole cluster in one directory, for development: which nodes there are, and their files.

Every node has a folder with the `server.properties` it is started with; the files are the memory,
so a second start finds the same nodes at the same ports. Running them is the supervisor's part.
"""

import re
from pathlib import Path

from ottla.cli.secured.home import FILE, clients_addresses, format_voter, write_node
from ottla.cli.secured.options import Place
from ottla.cli.secured.vault import Vault
from ottla.config.properties import read_properties, render_properties
from ottla.errors import OttlaError
from ottla.ports.network import free_ports, own_addresses

HOST = "127.0.0.1"
DEFAULT_NODES = 3
CONTROLLERS_MAX = 3
_FOLDER = re.compile(r"node([1-9][0-9]*)")


def lay_out(
    directory: Path, nodes: int | None, first_port: int | None, *, secure: bool = False
) -> list[Path]:
    """The nodes' files, in their order; what is not there yet is written. A cluster that was begun
    as a secured one stays so."""
    found = existing(directory)
    vault = Vault(directory)
    if secure and found and not vault.exists:
        raise OttlaError(
            f"{directory} holds a cluster that is not secured, and its nodes' files are not "
            "changed. Name another directory, or secure this one as docs/security.md says."
        )
    count = nodes or len(found) or DEFAULT_NODES
    if count < len(found):
        raise OttlaError(
            f"{directory} holds {len(found)} nodes, not {count}. Empty those that are too many "
            "with `ottla cluster drain`, stop the cluster, and remove their folders."
        )
    new = range(len(found) + 1, count + 1)
    free = iter(free_ports(3 * len(new)))
    voters = (
        _voters(found)
        if found
        else {node: next(free) for node in range(1, min(count, CONTROLLERS_MAX) + 1)}
    )
    if secure and not vault.exists:
        vault.create()
    for node in new:
        port = first_port + node - 1 if first_port else next(free)
        folder = directory / f"node{node}"
        options = node_options(node, count, port, voters, folder / "data")
        if vault.exists:
            place = Place(node, HOST, port, next(free), voters.get(node))
            write_node(vault, place, folder, options, names=own_addresses())
            continue
        folder.mkdir(parents=True, exist_ok=True)
        about = f"Node {node} of a cluster for development; Apache Kafka reads this file too."
        (folder / FILE).write_text(render_properties(options, about=about))
    files = existing(directory)
    if vault.exists:
        _make_ready(vault, files, voters, is_changed=bool(new))
    return files


def _make_ready(
    vault: Vault, files: list[Path], voters: dict[int, int], *, is_changed: bool
) -> None:
    for number, file in enumerate(files, 1):
        if number in voters:
            format_voter(vault, file)
    if is_changed:
        vault.renew_client_files(clients_addresses(files))


def existing(directory: Path) -> list[Path]:
    numbers = sorted(
        int(match[1])
        for path in (directory.iterdir() if directory.is_dir() else ())
        if (match := _FOLDER.fullmatch(path.name)) and (path / FILE).is_file()
    )
    if numbers != list(range(1, len(numbers) + 1)):
        raise OttlaError(f"{directory} lacks a node: it holds {', '.join(map(str, numbers))}.")
    return [directory / f"node{number}" / FILE for number in numbers]


def node_options(
    node: int, count: int, port: int, voters: dict[int, int], data: Path
) -> dict[str, str]:
    """The first three nodes are the quorum; those beyond are brokers only."""
    listeners = f"PLAINTEXT://{HOST}:{port}"
    if node in voters:
        listeners += f",CONTROLLER://{HOST}:{voters[node]}"
    copies, least = str(min(count, 3)), "2" if count >= 3 else "1"
    return {
        "node.id": str(node),
        "process.roles": "broker,controller" if node in voters else "broker",
        "listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": ",".join(
            f"{voter}@{HOST}:{at}" for voter, at in voters.items()
        ),
        "log.dirs": str(data.absolute()),
        "default.replication.factor": copies,
        "min.insync.replicas": least,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": least,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": least,
        "group.initial.rebalance.delay.ms": "0",
    }


def _voters(files: list[Path]) -> dict[int, int]:
    """Node and port of each, as the first node's file has them."""
    options = {entry.name: entry.value for entry in read_properties(files[0])}
    pairs = [voter.partition("@") for voter in options["controller.quorum.voters"].split(",")]
    return {int(node): int(address.rpartition(":")[2]) for node, _, address in pairs}

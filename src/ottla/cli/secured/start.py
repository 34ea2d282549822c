"""`ottla start --secure`: one secured node, laid out before its first start."""

import sys
from collections.abc import Sequence
from os import environ
from pathlib import Path

from ottla.cli.secured.vault import ADMIN, Vault
from ottla.client.files import LIBRDKAFKA
from ottla.client.properties import CONFIG_VARIABLE
from ottla.config.load import Loaded, load, user_data_directory
from ottla.config.topology import EVERYWHERE, show_address
from ottla.errors import OttlaError
from ottla.ports.network import free_ports, own_addresses, own_name

HOST = "127.0.0.1"
PORT = 9092


def load_secured(
    data: str | None, listen: tuple[str, int] | None, assignments: Sequence[str]
) -> Loaded:
    """The node's settings; its files are written if they are not there yet."""
    home = home_of(data)
    file = _file(home, listen)
    tell_clients(home)
    return load(file, assignments=assignments)


def home_of(data: str | None) -> Path:
    return Path(data).absolute() if data else user_data_directory().with_name("ottla-secure")


def be_admin(home: Path) -> None:
    """What this process starts reaches the cluster as its first user."""
    environ[CONFIG_VARIABLE] = str(Vault(home).clients / ADMIN / LIBRDKAFKA)


def tell_clients(home: Path) -> None:
    vault = Vault(home)
    if vault.exists:
        print(f"ottla: client files of {ADMIN}: {vault.clients / ADMIN}", file=sys.stderr)


def _file(home: Path, listen: tuple[str, int] | None) -> Path:
    from ottla.cli.secured.home import FILE, clients_place

    file = home / "node1" / FILE
    if file.is_file():
        if not Vault(home).exists:
            raise OttlaError(f"{home} holds a node that is not secured: name another directory.")
        there = clients_place(load(file).settings.topology)
        if listen is not None and there != (
            "" if listen[0] in EVERYWHERE else listen[0],
            listen[1],
        ):
            raise OttlaError(
                f"{file} says that clients connect to {show_address(*there)}, not to "
                f"{show_address(*listen)}. Change it there; `ottla secure check` says whether the "
                "certificate fits."
            )
        return file
    if (home / "meta.properties").exists():
        raise OttlaError(
            f"{home} holds records of a node that is not secured: name another directory."
        )
    return _write(home, listen or (HOST, PORT))


def _write(home: Path, listen: tuple[str, int]) -> Path:
    from ottla.cli.local_cluster import node_options
    from ottla.cli.secured.home import clients_addresses, format_voter, write_node
    from ottla.cli.secured.options import Place

    vault = Vault(home)
    if not vault.exists:
        vault.create()
    host, port = listen
    nodes_port, controller_port = free_ports(2)
    if host in EVERYWHERE:
        place = Place(1, own_name(), port, nodes_port, controller_port, bind="", nodes_host=HOST)
    else:
        place = Place(1, host, port, nodes_port, controller_port, nodes_host=HOST)
    folder = home / "node1"
    options = node_options(1, 1, port, {1: controller_port}, folder / "data")
    file = write_node(vault, place, folder, options, names=own_addresses())
    format_voter(vault, file)
    vault.renew_client_files(clients_addresses([file]))
    return file

"""`ottla secure …`: files of a secured cluster for hosts of your own, renewed and looked over."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ottla.cli.local_cluster import existing
from ottla.cli.output import err, print_json
from ottla.cli.secured.home import FILE
from ottla.cli.secured.vault import FOLDER
from ottla.errors import OttlaError

app = typer.Typer(
    no_args_is_help=True,
    help="Keys, certificates and files of a secured cluster: write, renew, check them.",
)
Home = Annotated[Path, typer.Argument(metavar="DIR", help="The cluster's directory.")]


@app.command()
def init(
    directory: Home,
    node: Annotated[
        list[str],
        typer.Option("--node", metavar="ID@HOST", help="A node and its host; repeatable."),
    ],
    at: Annotated[
        Path, typer.Option(metavar="DIR", help="Where a node's folder will lie on its host.")
    ] = Path("/etc/ottla"),
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="Where records will live on each host.")
    ] = Path("/var/lib/ottla"),
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Another name or address for the certificates; repeatable."),
    ] = None,
    clients_port: Annotated[int, typer.Option(min=1, max=65535)] = 9092,
    controllers_port: Annotated[int, typer.Option(min=1, max=65535)] = 9093,
    nodes_port: Annotated[int, typer.Option(min=1, max=65535)] = 9094,
) -> None:
    """Write an authority, each node's folder, and client files; nodes are not started."""
    from ottla.cli.secured.real_hosts import Ports, init, parse_hosts, steps

    hosts = parse_hosts(node)
    ports = Ports(clients_port, controllers_port, nodes_port)
    files = init(directory, hosts, ports, at, data, name or ())
    err.print(f"Written to {directory}; what is in secure/ stays here. What is left to be done:")
    for step in steps(files, hosts, at):
        print(step)


@app.command()
def rotate(
    directory: Home,
    ca: Annotated[
        bool, typer.Option("--ca", help="The authority, in three steps, each by this command.")
    ] = False,
) -> None:
    """Replace the nodes' certificates and keys; with --ca the authority that signs them."""
    from ottla.cli.secured.rotation import rotate_authority, rotate_nodes
    from ottla.cli.secured.vault import Vault

    vault = Vault(directory)
    if not vault.exists:
        raise OttlaError(f"{directory} holds no secured cluster.")
    files = existing(directory)
    print((rotate_authority if ca else rotate_nodes)(vault, files))


@app.command()
def check(
    places: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR|server.properties…", help="Clusters' directories or files."),
    ] = None,
    bootstrap: Annotated[
        str | None,
        typer.Option("--bootstrap", "-b", metavar="HOST:PORT,…", help="Ask what ports speak."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="JSON for scripts.")] = False,
) -> None:
    """Find what expires, what certificates lack, what is open; code 1 if something is wrong."""
    from ottla.cli.secured.checks import ERROR, Finding, check_file, check_vault
    from ottla.cli.secured.ports_asked import ask_port

    if not places and not bootstrap:
        raise OttlaError("Name a directory, a server.properties or --bootstrap.")
    now = datetime.now(UTC)
    found: list[tuple[str, Finding]] = []
    for file in [file for place in places or () for file in _files(place)]:
        found += [(str(file), one) for one in check_file(file, now)]
    for vault in filter(Path.is_dir, (place / FOLDER for place in places or ())):
        found += [(str(vault), one) for one in check_vault(vault)]
    for address in filter(None, (bootstrap or "").split(",")):
        found += [(address, one) for one in asyncio.run(ask_port(address, now))]
    if json:
        print_json([{"about": about, **one._asdict()} for about, one in found])
    else:
        last = None
        for about, one in found:
            if about != last:
                print(about)
            last = about
            print(f"  {one.level:7}  {one.sentence}")
    if any(one.level == ERROR for _, one in found):
        raise typer.Exit(1)


def _files(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    files = [place / FILE] if (place / FILE).is_file() else existing(place)
    if not files:
        raise OttlaError(f"{place} holds no node's server.properties.")
    return files

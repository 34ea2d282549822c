"""`ottla cluster …`: a cluster for development, and the care of any cluster.

`status`, `balance`, `drain`, `move` and `forget` are clients: they work against Apache Kafka too.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ottla.cli import local_cluster
from ottla.cli.arguments import DryRun, Json, RegistryPort, Secure, Target, reaches_a_cluster
from ottla.cli.changing import carry_out
from ottla.cli.cluster_status import show
from ottla.cli.output import err, print_json, print_table
from ottla.cli.registry_child import beside
from ottla.cli.secured.start import be_admin, tell_clients
from ottla.cli.secured.vault import Vault
from ottla.cli.sizes import show_bytes
from ottla.cli.supervisor import Child, supervise
from ottla.client.balancing import Key
from ottla.client.changes.brokers import Forget
from ottla.client.changes.replicas import Balance, Drain, MoveReplicas, Moves
from ottla.client.cluster import Cluster
from ottla.client.cluster_summary import as_json


class DirectoryOrCommand(TyperGroup):
    """`ottla cluster DIR` is short for `ottla cluster run DIR`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands and means_directory(args):
            args = ["run", *args]
        return super().resolve_command(ctx, args)


def means_directory(words: Sequence[str]) -> bool:
    """A mistyped command must not become a cluster of that name."""
    first, *rest = words
    looks_like_one = "/" in first or first.startswith((".", "~")) or Path(first).is_dir()
    return looks_like_one or any(
        word.startswith(("-n", "--nodes", "--port", "--registry", "--secure")) for word in rest
    )


app = typer.Typer(
    cls=DirectoryOrCommand,
    no_args_is_help=True,
    help="Run a cluster for development; look at, balance and empty brokers of any cluster.",
)
Node = Annotated[int, typer.Argument(metavar="NODE", min=0, help="The broker's node.id.")]


@app.command()
def run(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where its nodes live.")],
    nodes: Annotated[
        int | None, typer.Option("--nodes", "-n", min=1, max=9, help="How many; 3 at first.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65000, help="Of node 1; the others count on from it.")
    ] = None,
    registry: RegistryPort = None,
    secure: Secure = False,
) -> None:
    """Run a whole cluster on this machine until Ctrl-C; DIR keeps it for the next time."""
    files = local_cluster.lay_out(directory, nodes, port, secure=secure)
    tell_clients(directory)
    command = [sys.executable, "-m", "ottla", "start"]
    children = [
        Child(f"node {number}", [*command, str(file)], file.with_name("node.log"))
        for number, file in enumerate(files, 1)
    ]
    if registry is not None and Vault(directory).exists:
        be_admin(directory)
    log = directory / "registry.log"
    more = None if registry is None else beside(registry, log)
    raise typer.Exit(supervise(children, more))


@app.command()
@reaches_a_cluster
def status(target: Target, json: Json = False) -> None:
    """Show quorum, brokers, and the partitions that lack a replica."""
    state = Cluster(target.connection()).state()
    if json:
        print_json(as_json(state))
    else:
        show(state)


@app.command()
@reaches_a_cluster
def balance(target: Target, dry_run: DryRun = False) -> None:
    """Spread bytes and leaders evenly over the brokers, with as few copies as that takes."""

    def show_balance(preview: Moves) -> None:
        show_remarks(preview)
        if not preview.is_empty:
            show_moves(preview)
        elif dry_run:
            err.print("The cluster is balanced.")

    carry_out(Cluster(target.connection()), Balance(), show_balance, dry_run=dry_run)


@app.command()
@reaches_a_cluster
def drain(
    target: Target,
    nodes: Annotated[
        list[int], typer.Argument(metavar="NODE...", min=0, help="The brokers' node.id.")
    ],
    fewer_replicas: Annotated[
        bool,
        typer.Option(
            "--fewer-replicas",
            help="Where no broker can take a replica, give it up instead of refusing.",
        ),
    ] = False,
    dry_run: DryRun = False,
) -> None:
    """Move everything off a broker, or several, so that they can be taken out."""
    change = Drain(tuple(nodes), fewer_replicas)
    carry_out(Cluster(target.connection()), change, show_moves, dry_run=dry_run)


@app.command()
@reaches_a_cluster
def move(
    target: Target,
    partitions: Annotated[list[str], typer.Argument(metavar="TOPIC:PARTITION...")],
    to: Annotated[
        str, typer.Option("--to", metavar="NODE,...", help="The first of them shall lead.")
    ],
    dry_run: DryRun = False,
) -> None:
    """Move the replicas of partitions to the brokers that are named."""
    nodes = tuple(map(_node, to.split(",")))
    change = MoveReplicas({_partition(one): nodes for one in partitions})
    carry_out(Cluster(target.connection()), change, show_moves, dry_run=dry_run)


@app.command()
@reaches_a_cluster
def forget(target: Target, node: Node) -> None:
    """Strike a broker that was drained and stopped from the cluster's list."""
    carry_out(Cluster(target.connection()), Forget(node), lambda _: None)


def _node(given: str) -> int:
    if not given.isdecimal():
        raise typer.BadParameter(f"{given!r} is no node.id", param_hint="--to")
    return int(given)


def _partition(given: str) -> Key:
    topic, _, number = given.rpartition(":")
    if not topic or not number.isdecimal():
        raise typer.BadParameter(f"{given!r} is not TOPIC:PARTITION", param_hint="TOPIC:PARTITION")
    return topic, int(number)


def show_remarks(preview: Moves) -> None:
    for remark in preview.remarks:
        err.print(remark)


def show_moves(preview: Moves) -> None:
    print_table(
        ["topic", "partition", "from", "to", "to copy"],
        [
            (
                move.topic,
                move.partition,
                ",".join(map(str, move.before)),
                ",".join(map(str, move.after)),
                show_bytes(move.size) if move.size else "-",
            )
            for move in preview.moves
        ],
        empty="No replica has to move.",
    )

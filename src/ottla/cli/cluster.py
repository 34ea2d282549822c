"""`ottla cluster …`: a cluster for development, and the care of any cluster.

`status`, `balance`, `drain` and `forget` are clients: they work against Apache Kafka too.
"""

import asyncio
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ottla.cli import local_cluster
from ottla.cli.arguments import DryRun, Json, Target, reaches_a_cluster
from ottla.cli.cluster_status import as_json, show
from ottla.cli.output import err, print_json, print_table, progress
from ottla.cli.sizes import show_bytes
from ottla.cli.supervisor import Child, supervise
from ottla.client.balancing import Key, Move, plan_balance, plan_drain
from ottla.client.cluster_state import ClusterState, Partition, read_cluster, refuse
from ottla.client.moving import carry_out, elect_preferred
from ottla.client.wire_client import WireClient
from ottla.errors import OttlaError
from ottla.wire.messages.unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)


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
    return looks_like_one or any(word.startswith(("-n", "--nodes", "--port")) for word in rest)


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
) -> None:
    """Run a whole cluster on this machine until Ctrl-C; DIR keeps it for the next time."""
    files = local_cluster.lay_out(directory, nodes, port)
    command = [sys.executable, "-m", "ottla", "start"]
    children = [
        Child(f"node {number}", [*command, str(file)], file.with_name("node.log"))
        for number, file in enumerate(files, 1)
    ]
    raise typer.Exit(supervise(children))


@app.command()
@reaches_a_cluster
def status(target: Target, json: Json = False) -> None:
    """Show quorum, brokers, and the partitions that lack a replica."""

    async def look() -> ClusterState:
        async with target.connection().wire() as wire:
            return await read_cluster(wire)

    state = asyncio.run(look())
    if json:
        print_json(as_json(state))
    else:
        show(state)


@app.command()
@reaches_a_cluster
def balance(target: Target, dry_run: DryRun = False) -> None:
    """Spread bytes and leaders evenly over the brokers, with as few copies as that takes."""

    async def work() -> None:
        async with target.connection().wire() as wire:
            state = await read_cluster(wire)
            refuse_while_moving(state)
            for one in without_leader(state):
                err.print(f"{one.topic}-{one.partition} has no leader and stays.")
            moves = plan_balance(state.racks, state.led.placed)
            misled = [one.key for one in state.led.partitions if one.leader != one.replicas[0]]
            if not moves and not misled:
                err.print("The cluster is balanced.")
                return
            show_moves(moves)
            if not dry_run:
                await make(wire, moves, misled)
                err.print("The cluster is balanced.")

    asyncio.run(work())


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

    async def work() -> None:
        async with target.connection().wire() as wire:
            state = await read_cluster(wire)
            refuse_while_moving(state)
            known = {broker.id for broker in state.brokers}
            for node in nodes:
                if node not in known:
                    there = ", ".join(map(str, sorted(known)))
                    raise OttlaError(f"There is no broker {node}; there are {there}.")
            refuse_without_leader(state, nodes)
            moves = plan_drain(nodes, state.racks, state.placed, fewer_replicas=fewer_replicas)
            show_moves(moves)
            if not dry_run:
                await make(wire, moves, [])
                for node in nodes:
                    say_what_next(state, node)

    asyncio.run(work())


@app.command()
@reaches_a_cluster
def forget(target: Target, node: Node) -> None:
    """Strike a broker that was drained and stopped from the cluster's list."""

    async def work() -> None:
        async with target.connection().wire() as wire:
            state = await read_cluster(wire)
            if any(broker.id == node and broker.answers for broker in state.brokers):
                raise OttlaError(f"Node {node} still runs. Drain it, stop it, then forget it.")
            if any(node in one.replicas for one in state.partitions):
                raise OttlaError(
                    f"Node {node} still has replicas. `ottla cluster drain {node}` moves them."
                )
            request = UnregisterBrokerRequest(broker_id=node)
            answer = await wire.ask_any(request, UnregisterBrokerResponse)
            refuse(answer.error_code, answer.error_message)

    asyncio.run(work())
    err.print(f"Node {node} is forgotten.")


async def make(wire: WireClient, moves: Sequence[Move], misled: Sequence[Key]) -> None:
    """Copies first, then leaders: a leader is chosen among those in sync."""
    with progress(len(moves)) as bar:
        task = bar.add_task("moving partitions", total=len(moves))
        await carry_out(wire, moves, lambda count: bar.advance(task, count))
    moved = [(move.topic, move.partition) for move in moves]
    for topic, partition in await elect_preferred(wire, dict.fromkeys([*moved, *misled])):
        err.print(f"{topic}-{partition} keeps its leader: the preferred one is not in sync.")


def without_leader(state: ClusterState) -> list[Partition]:
    return [one for one in state.partitions if one.leader < 0]


def refuse_without_leader(state: ClusterState, nodes: Collection[int]) -> None:
    for one in without_leader(state):
        if not set(nodes).isdisjoint(one.replicas):
            holders = ", ".join(map(str, one.replicas))
            raise OttlaError(
                f"{one.topic}-{one.partition} has no leader, so there is nobody to copy it from. "
                f"Start one of the brokers that hold it ({holders}), or delete the topic."
            )


def refuse_while_moving(state: ClusterState) -> None:
    """A partition without a leader may be on its way for ever: that keeps no other from moving."""
    moving = {*state.moving} - {one.key for one in without_leader(state)}
    if moving:
        raise OttlaError(
            f"{len(moving)} partitions are being moved already. Wait until they are there; "
            "`ottla cluster status` counts them."
        )


def show_moves(moves: Sequence[Move]) -> None:
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
            for move in moves
        ],
        empty="No replica has to move.",
    )


def say_what_next(state: ClusterState, node: int) -> None:
    err.print(f"Node {node} is empty. Now stop it: SIGTERM, or `systemctl stop ottla` on its host.")
    err.print(f"Then strike it from the cluster's list: `ottla cluster forget {node}`.")
    if any(one.id == node and one.is_voter for one in state.quorum.members):
        err.print(
            f"It is a voter of the quorum too: while it is stopped, a majority of the "
            f"{sum(one.is_voter for one in state.quorum.members)} voters must be up."
        )

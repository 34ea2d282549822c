"""`ottla quota set|show|remove`: client quotas, of any Kafka cluster."""

from typing import Annotated

import typer

from ottla.cli.arguments import Json, MutationRate, RequestPercentage, Target, reaches_a_cluster
from ottla.cli.output import err, print_json, print_table
from ottla.client import quotas
from ottla.client.cluster import Cluster
from ottla.client.quotas import Entity, read_rate
from ottla.errors import OttlaError
from ottla.security.quotas import (
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    EntityType,
)

app = typer.Typer(no_args_is_help=True, help="Limit what users, client ids and addresses may have.")

EVERYBODY = "*"
User = Annotated[
    str | None,
    typer.Option("--user", metavar="NAME", help=f"{EVERYBODY}: each user without its own."),
]
ClientId = Annotated[
    str | None,
    typer.Option("--client-id", metavar="ID", help=f"{EVERYBODY}: each id without its own."),
]
Address = Annotated[
    str | None,
    typer.Option("--ip", metavar="HOST", help=f"{EVERYBODY}: each address without its own."),
]


@app.command(name="set")
@reaches_a_cluster
def set_(
    target: Target,
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    produce: Annotated[
        str | None, typer.Option(metavar="RATE", help="Bytes written, as 5MB/s.")
    ] = None,
    consume: Annotated[str | None, typer.Option(metavar="RATE", help="Bytes read.")] = None,
    requests: RequestPercentage = None,
    mutations: MutationRate = None,
    connections: Annotated[
        int | None, typer.Option(metavar="N", help="New connections a second, with --ip.")
    ] = None,
) -> None:
    """Set quotas; those that are not named stay. They hold for each broker by itself."""
    asked = {
        PRODUCER_BYTE_RATE: None if produce is None else read_rate(produce),
        CONSUMER_BYTE_RATE: None if consume is None else read_rate(consume),
        REQUEST_PERCENTAGE: requests,
        CONTROLLER_MUTATION_RATE: mutations,
        CONNECTION_CREATION_RATE: None if connections is None else float(connections),
    }
    limits = {key: value for key, value in asked.items() if value is not None}
    if not limits:
        raise OttlaError("No limit is named: --produce, --consume, --requests, --mutations.")
    entity = _entity(user, client_id, ip)
    if not entity:
        raise OttlaError("A quota is for somebody: give --user, --client-id or --ip.")
    Cluster(target.connection()).ask(lambda wire: quotas.alter_quotas(wire, entity, limits))
    err.print(f"Set for {_shown(entity)}.")


@app.command()
@reaches_a_cluster
def show(
    target: Target,
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    json: Json = False,
) -> None:
    """Show the quotas of one, or all there are."""
    entity = _entity(user, client_id, ip)
    found = Cluster(target.connection()).ask(lambda wire: quotas.quotas(wire, entity))
    if json:
        print_json([{"entity": dict(one), "quotas": dict(values)} for one, values in found])
        return
    print_table(
        ("FOR", "QUOTA", "LIMIT"),
        [
            (_shown(one), key, f"{value:g}" if value < 1e6 else f"{value:.0f}")
            for one, values in found
            for key, value in sorted(values.items())
        ],
        empty="There are no quotas. `ottla quota set --user NAME --produce 5MB/s` sets one.",
    )


@app.command()
@reaches_a_cluster
def remove(
    target: Target,
    user: User = None,
    client_id: ClientId = None,
    ip: Address = None,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[QUOTA]...", help="Which of them; otherwise all."),
    ] = None,
) -> None:
    """Remove quotas of a user, a client id or an address."""
    entity = _entity(user, client_id, ip)
    if not entity:
        raise OttlaError("Whose? Give --user, --client-id or --ip.")
    cluster = Cluster(target.connection())
    found = cluster.ask(lambda wire: quotas.quotas(wire, entity))
    there = dict(found[0][1]) if found else {}
    gone = dict.fromkeys(keys or there)
    if not gone.keys() & there.keys():
        raise OttlaError(f"{_shown(entity)} has no such quota.")
    cluster.ask(lambda wire: quotas.alter_quotas(wire, entity, gone))
    err.print(f"Removed {', '.join(gone)} of {_shown(entity)}.")


def _entity(user: str | None, client_id: str | None, ip: str | None) -> Entity:
    named = {EntityType.USER: user, EntityType.CLIENT_ID: client_id, EntityType.IP: ip}
    return {
        kind.value: None if name == EVERYBODY else name
        for kind, name in named.items()
        if name is not None
    }


def _shown(entity: Entity) -> str:
    return ", ".join(f"{kind} {name or EVERYBODY}" for kind, name in sorted(entity.items()))

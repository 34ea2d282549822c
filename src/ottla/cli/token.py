"""`ottla token create|list|renew|expire`: delegation tokens."""

from typing import Annotated

import typer

from ottla.cli.arguments import Json, Target, reaches_a_cluster
from ottla.cli.moments import show_moment
from ottla.cli.output import err, print_json, print_table
from ottla.client import tokens
from ottla.client.cluster import Cluster

app = typer.Typer(
    no_args_is_help=True, help="Make, list, renew and end delegation tokens of any Kafka cluster."
)

TokenId = Annotated[str, typer.Argument(metavar="TOKEN-ID", help="As `ottla token list` shows it.")]
Hours = Annotated[
    float | None,
    typer.Option("--hours", min=0.0, help="For how long; as the cluster has it if unsaid."),
]


@app.command()
@reaches_a_cluster
def create(
    target: Target,
    owner: Annotated[
        str | None, typer.Option(metavar="USER", help="For whom; for yourself if unsaid.")
    ] = None,
    renewer: Annotated[
        list[str] | None,
        typer.Option(metavar="USER", help="Who else may renew and end it; repeatable."),
    ] = None,
    hours: Hours = None,
    json: Json = False,
) -> None:
    """Make a token. Its id and its password are what a client signs in with, by SCRAM."""
    lifetime_ms = _ms(hours)
    made = Cluster(target.connection()).ask(
        lambda wire: tokens.create(wire, owner, renewer or [], lifetime_ms)
    )
    if json:
        print_json(made._asdict())
        return
    print_table(
        ("token id", "password", "owner", "expires", "renewable until"),
        [(made.id, made.password, made.owner, *map(show_moment, (made.expires_ms, made.max_ms)))],
    )


@app.command(name="list")
@reaches_a_cluster
def list_(
    target: Target,
    owner: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="Only of these users; repeatable.")
    ] = None,
    json: Json = False,
) -> None:
    """List the tokens that you may see; their passwords are told when they are made, only."""
    found = Cluster(target.connection()).ask(lambda wire: tokens.tokens(wire, owner or []))
    if json:
        print_json([{**one._asdict(), "password": None} for one in found])
        return
    print_table(
        ("token id", "owner", "requester", "renewers", "expires", "renewable until"),
        [
            (
                one.id,
                one.owner,
                one.requester,
                ", ".join(one.renewers) or None,
                *map(show_moment, (one.expires_ms, one.max_ms)),
            )
            for one in found
        ],
        empty="There are no tokens that you may see.",
    )


@app.command()
@reaches_a_cluster
def renew(target: Target, token: TokenId, hours: Hours = None) -> None:
    """Let a token live on."""
    until_ms = Cluster(target.connection()).ask(lambda wire: tokens.renew(wire, token, _ms(hours)))
    err.print(f"{token} lives until {show_moment(until_ms)}.")


@app.command()
@reaches_a_cluster
def expire(
    target: Target,
    token: TokenId,
    hours: Annotated[
        float | None, typer.Option("--hours", min=0.0, help="In so many; at once if unsaid.")
    ] = None,
) -> None:
    """End a token; its connections are closed within seconds."""
    until_ms = Cluster(target.connection()).ask(lambda wire: tokens.expire(wire, token, _ms(hours)))
    err.print(f"{token} is over." if hours is None else f"{token} ends {show_moment(until_ms)}.")


def _ms(hours: float | None) -> int:
    return tokens.USUAL_MS if hours is None else int(hours * 3_600_000)

"""`ottla user create|list|passwd|delete`: users of SCRAM, of any Kafka cluster."""

from functools import partial
from typing import Annotated

import typer

from ottla.cli.arguments import Json, Target, Yes, reaches_a_cluster
from ottla.cli.output import err, print_json, print_table
from ottla.cli.passwords import PasswordFile, mechanism_named, read_password, stretched
from ottla.client import users
from ottla.client.cluster import Cluster
from ottla.errors import OttlaError
from ottla.security.scram import BY_NUMBER, ITERATIONS_MIN, SHA_512

app = typer.Typer(no_args_is_help=True, help="Create, list and delete users, and their passwords.")

Name = Annotated[str, typer.Argument(metavar="USER", help="The user's name, without User:.")]


@app.command()
@reaches_a_cluster
def create(
    target: Target,
    name: Name,
    password_file: PasswordFile = None,
    mechanism: Annotated[
        str, typer.Option(metavar="NAME", help="SCRAM-SHA-256 or SCRAM-SHA-512.")
    ] = SHA_512.name,
    iterations: Annotated[int, typer.Option(min=ITERATIONS_MIN)] = ITERATIONS_MIN,
) -> None:
    """Create a user with a password. What it may do, `ottla acl add` says."""
    kind, cluster = mechanism_named(mechanism), Cluster(target.connection())
    if kind.number in cluster.ask(lambda wire: users.users(wire, name)).get(name, {}):
        raise OttlaError(f"There is a user {name} already. `ottla user passwd` changes a password.")
    password = stretched(read_password(name, password_file), kind, iterations)
    cluster.ask(lambda wire: users.set_password(wire, name, password))
    err.print(f"Created {name}, who signs in by {kind.name}.")


@app.command(name="list")
@reaches_a_cluster
def list_users(target: Target, json: Json = False) -> None:
    """List the users that have a password, with their mechanisms."""
    found = Cluster(target.connection()).ask(users.users)
    if json:
        print_json(
            [
                {"name": name, "mechanisms": {BY_NUMBER[one].name: kept[one] for one in kept}}
                for name, kept in found.items()
            ]
        )
        return
    print_table(
        ("USER", "MECHANISMS"),
        [(name, ", ".join(BY_NUMBER[one].name for one in kept)) for name, kept in found.items()],
        empty="There are no users yet. `ottla user create NAME` makes one.",
    )


@app.command()
@reaches_a_cluster
def passwd(target: Target, name: Name, password_file: PasswordFile = None) -> None:
    """Change a user's password, for each mechanism that it has."""
    cluster = Cluster(target.connection())
    kept = cluster.ask(lambda wire: users.users(wire, name)).get(name)
    if not kept:
        raise OttlaError(f"There is no user {name}. `ottla user list` shows those there are.")
    password = read_password(name, password_file)
    for number, iterations in kept.items():
        new = stretched(password, BY_NUMBER[number], iterations)
        cluster.ask(partial(users.set_password, name=name, password=new))
    err.print(f"{name} has another password. Who signed in with the old one is let go.")


@app.command()
@reaches_a_cluster
def delete(target: Target, name: Name, yes: Yes = False) -> None:
    """Delete a user. Rules and quotas for its name stay."""
    if not yes:
        typer.confirm(f"Delete the user {name}?", abort=True, err=True)
    if not Cluster(target.connection()).ask(lambda wire: users.delete_user(wire, name)):
        raise OttlaError(f"There is no user {name}. `ottla user list` shows those there are.")
    err.print(f"Deleted {name}.")

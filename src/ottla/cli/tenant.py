"""`ottla tenant create|list|show|delete`: a team's user, prefix and quotas in one."""

from typing import Annotated

import typer

from ottla.cli.arguments import (
    Json,
    MutationRate,
    RequestPercentage,
    Target,
    Yes,
    reaches_a_cluster,
)
from ottla.cli.output import err, print_json, print_table
from ottla.cli.passwords import PasswordFile, mechanism_named, read_password, stretched
from ottla.cli.rules_as_text import show_rule
from ottla.client import tenants
from ottla.client.cluster import Cluster
from ottla.client.quotas import read_rate
from ottla.client.tenants import Tenant
from ottla.security.quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
)
from ottla.security.scram import BY_NUMBER, SHA_512

app = typer.Typer(no_args_is_help=True, help="Teams that share a cluster and nothing else.")

Name = Annotated[str, typer.Argument(metavar="TENANT", help="Its user's name, and its prefix.")]


@app.command()
@reaches_a_cluster
def create(
    target: Target,
    name: Name,
    bytes_: Annotated[
        str | None,
        typer.Option("--bytes", metavar="RATE", help="To write and to read, each, as 5MB/s."),
    ] = None,
    requests: RequestPercentage = None,
    mutations: MutationRate = None,
    password_file: PasswordFile = None,
    mechanism: Annotated[
        str, typer.Option(metavar="NAME", help="SCRAM-SHA-256 or SCRAM-SHA-512.")
    ] = SHA_512.name,
) -> None:
    """Make a user that may do everything with what begins with its name and a dot."""
    tenants.rules_of(name)
    kind = mechanism_named(mechanism)
    rate = None if bytes_ is None else read_rate(bytes_)
    asked = {
        PRODUCER_BYTE_RATE: rate,
        CONSUMER_BYTE_RATE: rate,
        REQUEST_PERCENTAGE: requests,
        CONTROLLER_MUTATION_RATE: mutations,
    }
    limits = {key: value for key, value in asked.items() if value is not None}
    password = stretched(read_password(name, password_file), kind)
    Cluster(target.connection()).ask(lambda wire: tenants.create(wire, name, password, limits))
    err.print(f"Created {name}: topics, groups and transactional ids that begin with {name}.")


@app.command(name="list")
@reaches_a_cluster
def list_tenants(target: Target, json: Json = False) -> None:
    """List the tenants."""
    found = Cluster(target.connection()).ask(tenants.names)
    if json:
        print_json(found)
        return
    print_table(
        ("TENANT", "PREFIX"),
        [(name, f"{name}.") for name in found],
        empty="There are no tenants yet. `ottla tenant create NAME` makes one.",
    )


@app.command()
@reaches_a_cluster
def show(target: Target, name: Name, json: Json = False) -> None:
    """Show how a tenant signs in, its rules and its quotas."""
    tenant = Cluster(target.connection()).ask(lambda wire: tenants.show(wire, name))
    rows = [
        *(("signs in by", BY_NUMBER[one].name) for one in tenant.mechanisms),
        *(("rule", show_rule(rule)) for rule in tenant.rules),
        *((key, f"{value:.10g}") for key, value in sorted(tenant.quotas.items())),
    ]
    if json:
        print_json(_as_json(tenant))
        return
    print_table(("WHAT", "VALUE"), rows)


@app.command()
@reaches_a_cluster
def delete(target: Target, name: Name, yes: Yes = False) -> None:
    """Delete a tenant's user, rules and quotas. Its topics and groups stay."""
    if not yes:
        typer.confirm(f"Delete the tenant {name}?", abort=True, err=True)
    Cluster(target.connection()).ask(lambda wire: tenants.delete(wire, name))
    err.print(f"Deleted {name}. What begins with {name}. is still there.")


def _as_json(tenant: Tenant) -> dict[str, object]:
    return {
        "name": tenant.name,
        "prefix": f"{tenant.name}.",
        "mechanisms": [BY_NUMBER[one].name for one in tenant.mechanisms],
        "rules": [show_rule(rule) for rule in tenant.rules],
        "quotas": dict(tenant.quotas),
    }

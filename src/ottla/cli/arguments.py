"""Arguments that several commands share, so that they read and complete alike everywhere."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from os import environ
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ottla.client.connection import (
    BOOTSTRAP_VARIABLE,
    DEFAULT_BOOTSTRAP,
    Connection,
    properties_in,
    properties_of,
    read_connection,
)
from ottla.client.properties import CONFIG_VARIABLE, Property
from ottla.errors import OttlaError

Json = Annotated[bool, typer.Option("--json", help="JSON for scripts instead of a table.")]
Listen = Annotated[str | None, typer.Option(metavar="HOST:PORT", help="Where clients connect.")]
Assigned = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="An option; repeatable."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before deleting.")]
RegistryPort = Annotated[
    str | None,
    typer.Option(metavar="[PORT]", help="Run a schema registry beside it; at 8081 if unsaid."),
]
Secure = Annotated[
    bool, typer.Option("--secure", help="TLS, users and access rules; client files in DIR/secure.")
]
RequestPercentage = Annotated[
    float | None, typer.Option(metavar="PERCENT", help="Of a broker's time.")
]
MutationRate = Annotated[
    float | None, typer.Option(metavar="N", help="Partitions created or deleted a second.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change and do not make it.")]


class Target(NamedTuple):
    """Which cluster a command is for, as far as that was said."""

    bootstrap: str | None = None
    file: Path | None = None
    options: tuple[Property, ...] = ()

    def connection(self) -> Connection:
        """What was not said, the environment says."""
        return read_connection(self.bootstrap, file=self.file, options=self.options)

    def over(self, connection: Connection) -> Connection:
        """What was not said stays as it is."""
        return connection.override(self.bootstrap, [*properties_in(self.file), *self.options])

    def tell_code(self) -> None:
        """What an application's file asks for by itself, as it is read, is this cluster too."""
        if self.bootstrap:
            environ[BOOTSTRAP_VARIABLE] = self.bootstrap
        if self.file:
            environ[CONFIG_VARIABLE] = str(self.file.resolve())


OPTIONS = {
    "bootstrap": Annotated[
        str | None,
        typer.Option(
            "--bootstrap",
            "-b",
            metavar="HOST:PORT",
            help="A broker of the cluster; several with commas between. Otherwise "
            f"${BOOTSTRAP_VARIABLE}, or {DEFAULT_BOOTSTRAP}.",
        ),
    ],
    "command_config": Annotated[
        Path | None,
        typer.Option(
            "--command-config",
            metavar="FILE",
            help="Client properties, in Java's or librdkafka's names. Otherwise "
            f"${CONFIG_VARIABLE}.",
        ),
    ],
    "client": Annotated[
        list[str] | None,
        typer.Option(
            "--client",
            "-X",
            metavar="NAME=VALUE",
            help="A client property, in Java's or librdkafka's names; repeatable.",
        ),
    ],
}


def reaches_a_cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command that takes a `target` the options that say which cluster that is."""
    known = signature(command)
    own = [one for one in known.parameters.values() if one.name != "target"]
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in OPTIONS.items()
    ]

    @wraps(command)
    def with_target(**given: Any) -> None:
        said = {name: given.pop(name) for name in OPTIONS}
        command(target=target_of(said), **given)

    with_target.__signature__ = known.replace(parameters=[*own, *added])  # type: ignore[attr-defined]
    with_target.__annotations__ = {one.name: one.annotation for one in own} | OPTIONS
    return with_target


def target_of(said: dict[str, Any]) -> Target:
    """Of the values of `OPTIONS`."""
    pairs = assignments(said["client"], "--client")
    options = tuple(properties_of(pairs, "-X"))
    return Target(said["bootstrap"], said["command_config"], options)


def complete_topics(context: typer.Context, incomplete: str) -> list[str]:
    """Topic names for the shell; nothing at all when no broker answers quickly."""
    return [name for name in _names(context, "topics") if name.startswith(incomplete)]


def complete_groups(context: typer.Context, incomplete: str) -> list[str]:
    return [name for name in _names(context, "groups") if name.startswith(incomplete)]


def _names(context: typer.Context, kind: str) -> list[str]:
    from confluent_kafka import KafkaException

    try:
        said = {name: context.params.get(name) for name in OPTIONS}
        admin = target_of(said).connection().admin()
        if kind == "topics":
            return sorted(admin.list_topics(timeout=1).topics)
        found = admin.list_consumer_groups(request_timeout=1).result(1.5)
        return sorted(group.group_id for group in found.valid)
    except (KafkaException, OttlaError, TimeoutError):
        return []


def assignments(pairs: list[str] | None, option: str) -> dict[str, str]:
    """`["a=1", "b=2"]` as a dictionary; a pair without `=` is a usage error."""
    parsed: dict[str, str] = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint=option)
        parsed[name] = value
    return parsed


def said_of(
    target: Target, pairs: list[str] | None, named: dict[str, str | None], prefix: str = ""
) -> list[tuple[str, str, str]]:
    """Options of a service and where each was said: with --set, by a name of its own, or (below
    `prefix`) of the cluster that it is for."""
    said = [(name, value, "--set") for name, value in assignments(pairs, "--set").items()]
    given = ((name, value) for name, value in named.items() if value is not None)
    said += [(name, value, "the command line") for name, value in given]
    of_clients = [*properties_in(target.file), *target.options]
    return [*said, *((f"{prefix}{one.name}", one.value, one.origin) for one in of_clients)]

"""`ottla format`: a node's directories made ready for a cluster that a person names.

Options are those of Apache Kafka's `kafka-storage format`, and so are the files.
"""

import time
from pathlib import Path
from typing import Annotated

import typer

from ottla.config.load import load
from ottla.config.topology import Topology
from ottla.errors import OttlaError
from ottla.metadata.features import KRAFT_VERSION, METADATA_VERSION
from ottla.metadata.releases import chosen_levels, release_name
from ottla.node.storage import (
    InitialController,
    StorageFormat,
    format_directories,
    parse_controllers,
    standalone,
)
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.security.add_scram import parse_user


def format_(
    cluster_id: Annotated[
        str, typer.Option("--cluster-id", "-t", metavar="ID", help="The cluster's id.")
    ],
    config: Annotated[
        str, typer.Option("--config", "-c", metavar="server.properties", help="The node's file.")
    ],
    alone: Annotated[
        bool, typer.Option("--standalone", "-s", help="This node is the only voter.")
    ] = False,
    initial: Annotated[
        str | None,
        typer.Option(
            "--initial-controllers",
            "-I",
            metavar="ID@HOST:PORT:DIRECTORY-ID,…",
            help="The voters to begin with; the same on all of them.",
        ),
    ] = None,
    none: Annotated[
        bool, typer.Option("--no-initial-controllers", "-N", help="It joins others later.")
    ] = False,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            "--feature", "-f", metavar="NAME=LEVEL", help="A feature's level; repeatable."
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option("--release-version", "-r", help="Feature levels as of this release."),
    ] = None,
    add_scram: Annotated[
        list[str] | None,
        typer.Option(
            "--add-scram",
            "-S",
            metavar="MECHANISM=[name=…,…]",
            help="A user that the cluster begins with, the same at each voter; @FILE keeps the "
            "password out of the list of processes. Repeatable.",
        ),
    ] = None,
    ignore_formatted: Annotated[
        bool, typer.Option("--ignore-formatted", "-g", help="Leave formatted directories alone.")
    ] = False,
) -> None:
    """Format a node's directories before its first start, as kafka-storage does."""
    if sum((alone, none, initial is not None)) > 1:
        raise OttlaError(
            "Give one of --standalone, --initial-controllers, --no-initial-controllers."
        )
    topology = load(Path(config)).settings.topology
    given = dict(map(_level, feature or ()))
    levels = chosen_levels(release, given)
    controllers = _controllers(topology, alone=alone, initial=initial, none=none)
    _check_kraft_version(topology, given.get(KRAFT_VERSION))
    users = [parse_user(_read(one), SYSTEM_CHANCE) for one in add_scram or ()]
    wanted = StorageFormat(_checked_id(cluster_id), levels, controllers, ignore_formatted, users)
    made = format_directories(topology, wanted, time.time_ns() // 1_000_000)
    for path in made:
        print(f"formatted {path} with metadata.version {release_name(levels[METADATA_VERSION])}")
    if not made:
        print("All directories were formatted already.")


def _read(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text()
    except OSError as error:
        raise OttlaError(f"--add-scram: {given[1:]} cannot be read: {error.strerror}.") from None


def _level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals or not level.strip().isdigit():
        raise OttlaError(f"--feature {text!r}: write name=level.")
    return name.strip(), int(level)


def _checked_id(text: str) -> str:
    """Kafka takes any text; ids that it draws itself are 22 characters of base 64."""
    if not text.strip():
        raise OttlaError("--cluster-id must not be empty.")
    return text


def _controllers(
    topology: Topology, *, alone: bool, initial: str | None, none: bool
) -> list[InitialController]:
    if topology.voters:
        if alone or initial is not None:
            raise OttlaError(
                "The file names controller.quorum.voters: those are the voters. Without it, name "
                "controller.quorum.bootstrap.servers, and the voters here."
            )
        return []
    if alone:
        return [standalone(topology)]
    if initial is not None:
        return parse_controllers(initial)
    if topology.is_controller and not none:
        raise OttlaError(
            "The file has no controller.quorum.voters: say --standalone, --initial-controllers or "
            "--no-initial-controllers."
        )
    return []


def _check_kraft_version(topology: Topology, level: int | None) -> None:
    """It follows from the voters, and may be said besides."""
    follows = 0 if topology.voters else 1
    if level not in (None, follows):
        raise OttlaError(f"{KRAFT_VERSION} is {follows} with the voters that this file has.")

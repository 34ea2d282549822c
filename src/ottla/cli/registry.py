"""`ottla registry`: a schema registry for every client written for Confluent's."""

from pathlib import Path
from typing import Annotated

import typer

from ottla.cli.arguments import Assigned, Listen, Target, reaches_a_cluster, said_of
from ottla.cli.registry_start import RegistryStart, run

app = typer.Typer(no_args_is_help=True, help="Share schemas: Avro, JSON Schema, Protobuf.")


@app.callback()
def about() -> None:
    """Share schemas: Avro, JSON Schema, Protobuf."""


@app.command()
@reaches_a_cluster
def start(
    target: Target,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="schema-registry.properties", help="Confluent's own file."),
    ] = None,
    listen: Listen = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="The topic that holds the schemas.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="The group of registries that share it.")
    ] = None,
    set_: Assigned = None,
) -> None:
    """Run a registry until it is told to stop (Ctrl-C, SIGTERM)."""
    asked = RegistryStart(None if file is None else str(file))
    named = {
        "listeners": listen,
        "kafkastore.topic": topic,
        "schema.registry.group.id": group,
        "kafkastore.bootstrap.servers": target.bootstrap,
    }
    asked.said += said_of(target, set_, named, prefix="kafkastore.")
    run(asked)

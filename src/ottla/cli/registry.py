"""`ottla registry`: a schema registry for every client written for Confluent's."""

import logging
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from ottla.cli.arguments import Target, assignments, reaches_a_cluster
from ottla.errors import OttlaError

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
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Where clients connect.")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="The topic that holds the schemas.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="The group of registries that share it.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option; repeatable."),
    ] = None,
) -> None:
    """Run a registry until it is told to stop (Ctrl-C, SIGTERM)."""
    try:
        from ottla.registry.server import serve_until_stopped
        from ottla.registry.settings import read_settings
        from ottla.serving.options import Said
    except ModuleNotFoundError as missing:
        raise OttlaError(
            f"{missing.name} is missing: install the registry with `pip install 'ottla[registry]'`."
        ) from None
    said = [Said(name, value, "--set") for name, value in assignments(set_, "--set").items()]
    for name, value in (
        ("listeners", listen),
        ("kafkastore.topic", topic),
        ("schema.registry.group.id", group),
        ("kafkastore.bootstrap.servers", target.bootstrap),
    ):
        if value is not None:
            said.append(Said(name, value, "the command line"))
    said += [Said(f"kafkastore.{one.name}", one.value, one.origin) for one in target.options]
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    settings = read_settings(file, said)
    uvloop.run(serve_until_stopped(settings, lambda sentence: print(sentence, flush=True)))

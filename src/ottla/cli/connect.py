"""`ottla connect …`: a worker in place of Kafka Connect's, and a client of any Connect."""

import contextlib
import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

from ottla.cli.arguments import (
    Assigned,
    Json,
    Listen,
    Target,
    Yes,
    assignments,
    reaches_a_cluster,
    said_of,
)
from ottla.cli.connect_preview import preview as preview_rows
from ottla.cli.connect_preview import print_rows
from ottla.cli.connect_start import ConnectStart, run
from ottla.cli.connect_top import watch
from ottla.cli.connect_wizard import ROWS
from ottla.cli.connect_wizard import wizard as run_wizard
from ottla.cli.output import err, print_json, print_table
from ottla.client.connect import DEFAULT_URL, URL_VARIABLE, ConnectClient, url_of
from ottla.client.connection import properties_in
from ottla.errors import OttlaError

app = typer.Typer(
    no_args_is_help=True, help="Bring data in and out: connectors, under Kafka Connect's REST."
)

Url = Annotated[
    str | None,
    typer.Option(
        "--url",
        metavar="URL",
        help=f"A worker, of Ottla's or Kafka's. Otherwise ${URL_VARIABLE}, or {DEFAULT_URL}.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The connector's name.")]
ConnectorFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="Its configuration: .json or .properties.")
]


@app.command()
@reaches_a_cluster
def start(
    target: Target,
    file: Annotated[
        Path | None, typer.Argument(metavar="worker.properties", help="Connect's own file.")
    ] = None,
    connectors: Annotated[
        list[Path] | None,
        typer.Argument(metavar="connector.properties…", help="Connectors to begin with."),
    ] = None,
    listen: Listen = None,
    group: Annotated[
        str | None, typer.Option(metavar="NAME", help="The group of workers that share topics.")
    ] = None,
    master: Annotated[
        str | None, typer.Option(metavar="URL", help="A Spark cluster; default: this machine.")
    ] = None,
    set_: Assigned = None,
) -> None:
    """Run a worker until it is told to stop (Ctrl-C, SIGTERM)."""
    asked = ConnectStart(
        None if file is None else str(file), [str(one) for one in connectors or ()], master=master
    )
    named = {"listeners": listen, "group.id": group, "bootstrap.servers": target.bootstrap}
    asked.said += said_of(target, set_, named)
    run(asked)


@app.command("list")
def list_(url: Url = None, json: Json = False) -> None:
    """Show the connectors, and how they are."""
    there = ConnectClient(url_of(url))
    found = there.statuses()
    if json:
        print_json(found)
        return
    rows = [
        (
            name,
            one["status"]["type"],
            one["status"]["connector"]["state"],
            _tasks(one["status"]["tasks"]),
            one["info"]["config"].get("connector.class"),
        )
        for name, one in sorted(found.items())
    ]
    columns = ["connector", "type", "state", "tasks", "class"]
    print_table(columns, rows, empty=f"No connectors at {there.url}.")


def _tasks(tasks: list[dict[str, Any]]) -> str:
    states: dict[str, int] = {}
    for one in tasks:
        states[one["state"]] = states.get(one["state"], 0) + 1
    return ", ".join(f"{count} {state}" for state, count in states.items()) or "none"


@app.command()
def status(name: Name, url: Url = None, json: Json = False) -> None:
    """Show a connector and its tasks, with what went wrong."""
    found = ConnectClient(url_of(url)).status(name)
    if json:
        print_json(found)
        return
    shown = [("connector", found["connector"]), *((one["id"], one) for one in found["tasks"])]
    print_table(
        ["", "state", "worker", "version"],
        [(str(id), one["state"], one["worker_id"], one.get("version")) for id, one in shown],
    )
    for id, one in shown:
        if one.get("trace"):
            err.print(f"{'The connector' if id == 'connector' else f'Task {id}'}: {one['trace']}")


@app.command()
@reaches_a_cluster
def add(
    target: Target,
    name: Name,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Its configuration, if it is in a file.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A key of its configuration; repeatable."),
    ] = None,
    wizard: Annotated[
        bool,
        typer.Option(
            "--wizard", help="Be asked for what is missing, and see the first rows before."
        ),
    ] = False,
    url: Url = None,
) -> None:
    """Create a connector, or give it another configuration."""
    config = {} if file is None else read_config(file)
    config |= assignments(set_, "--set")
    if wizard:
        run_wizard(
            ConnectClient(url_of(url)),
            name,
            config,
            lambda said: print_rows(preview_rows(said, target, None, ROWS, False), False),
        )
        return
    if not config:
        raise OttlaError("A configuration is missing: name a FILE, or say --set KEY=VALUE.")
    config["name"] = name
    ConnectClient(url_of(url)).put(name, config)


@app.command()
def pause(name: Name, url: Url = None) -> None:
    """Pause a connector; its tasks stay."""
    ConnectClient(url_of(url)).act(name, "pause")


@app.command()
def resume(name: Name, url: Url = None) -> None:
    """Let a paused or stopped connector run."""
    ConnectClient(url_of(url)).act(name, "resume")


@app.command()
def stop(name: Name, url: Url = None) -> None:
    """Stop a connector: it has no tasks, and its offsets may be altered."""
    ConnectClient(url_of(url)).act(name, "stop")


@app.command()
def restart(
    name: Name,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Leave alone what runs.")
    ] = False,
    url: Url = None,
) -> None:
    """Restart a connector and its tasks."""
    ConnectClient(url_of(url)).restart(name, only_failed=only_failed)


@app.command()
def delete(name: Name, url: Url = None, yes: Yes = False) -> None:
    """Delete a connector; its offsets stay."""
    if not yes:
        typer.confirm(f"Delete the connector {name}?", abort=True)
    ConnectClient(url_of(url)).delete(name)


@app.command()
def offsets(
    name: Name,
    set_: Annotated[
        Path | None,
        typer.Option("--set", metavar="FILE", help='JSON: {"offsets":[…]}, as it is printed.'),
    ] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Begin anew.")] = False,
    url: Url = None,
) -> None:
    """Show where a connector stands; alter that while it is stopped."""
    there = ConnectClient(url_of(url))
    if reset:
        err.print(f"{there.reset_offsets(name)}.")
    elif set_ is not None:
        try:
            said = json_.loads(set_.read_text())
        except (OSError, ValueError) as error:
            raise OttlaError(f"{set_} cannot be read: {error}.") from None
        err.print(f"{there.alter_offsets(name, said['offsets'])}.")
    else:
        print_json({"offsets": there.offsets(name)})


@app.command()
def plugins(url: Url = None, json: Json = False) -> None:
    """Show which connectors there are to be run."""
    found = ConnectClient(url_of(url)).plugins()
    if json:
        print_json(found)
        return
    print_table(
        ["class", "type", "version"],
        [(one["class"], one["type"], one.get("version")) for one in found],
    )


@app.command()
def validate(file: ConnectorFile, url: Url = None, json: Json = False) -> None:
    """Check a configuration; nothing is created."""
    config = read_config(file)
    if not config.get("connector.class"):
        raise OttlaError(f"{file} says no connector.class.")
    config.setdefault("name", file.stem)  # which `add` says beside it
    found = ConnectClient(url_of(url)).validate(config)
    if json:
        print_json(found)
    else:
        for one in found["configs"]:
            for sentence in one["value"]["errors"]:
                print(f"{one['value']['name']}: {sentence}")
    if found["error_count"]:
        raise typer.Exit(1)


@app.command()
@reaches_a_cluster
def top(
    target: Target,
    every: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Between looks.")] = 2.0,
    looks: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="So many; without it, until Ctrl-C.")
    ] = None,
    url: Url = None,
    json: Json = False,
) -> None:
    """Show how fast connectors are, how far behind, and what is wrong with them."""
    with contextlib.suppress(KeyboardInterrupt):
        watch(
            ConnectClient(url_of(url)), target.connection(), every_s=every, looks=looks, json=json
        )


@app.command()
@reaches_a_cluster
def preview(
    target: Target,
    file: ConnectorFile,
    worker: Annotated[
        Path | None,
        typer.Option(
            metavar="worker.properties",
            help="The worker that would run it: its converters, its brokers, its secrets.",
        ),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="So many of each table, or in all.")] = 10,
    schemas: Annotated[
        bool, typer.Option("--schemas", help="With the schemas that JSON carries.")
    ] = False,
    json: Json = False,
) -> None:
    """Print what a connector would write; nothing is written, and no offset moved."""
    found = preview_rows(read_config(file), target, worker, rows, schemas)
    if not print_rows(found, json):
        err.print("Nothing is there to be written.")


def read_config(file: Path) -> dict[str, str]:
    """JSON, with or without `name` and `config` around it, or properties."""
    if file.suffix != ".json":
        return {one.name: one.value for one in properties_in(file)}
    try:
        found = json_.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise OttlaError(f"{file} cannot be read: {error}.") from None
    config = found.get("config", found) if isinstance(found, dict) else None
    if not isinstance(config, dict):
        raise OttlaError(f"{file} is no JSON object.")
    if config is not found and "name" in found:
        config = {"name": found["name"], **config}
    return {
        name: value if isinstance(value, str) else json_.dumps(value)
        for name, value in config.items()
    }

"""The full command line: every command with its help, completion and errors in a sentence."""

import os
import sys
from typing import Annotated

import typer
from confluent_kafka import KafkaException

from ottla.cli import (
    acl,
    cluster,
    connect,
    consume,
    demo,
    format,
    group,
    log,
    pipeline,
    produce,
    quota,
    registry,
    schema,
    secure,
    simulate,
    table,
    tenant,
    token,
    topic,
    user,
)
from ottla.cli.arguments import Listen, RegistryPort, Secure
from ottla.cli.run import run as run_application
from ottla.cli.start import Start
from ottla.cli.start import start as start_node
from ottla.client.kafka_errors import explain
from ottla.errors import KafkaError, OttlaError
from ottla.version import VERSION

app = typer.Typer(
    name="ottla",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Apache Kafka's system for people who work in Python.",
)
app.add_typer(topic.app, name="topic")
app.add_typer(group.app, name="group")
app.add_typer(log.app, name="log")
app.add_typer(cluster.app, name="cluster")
app.add_typer(user.app, name="user")
app.add_typer(acl.app, name="acl")
app.add_typer(quota.app, name="quota")
app.add_typer(tenant.app, name="tenant")
app.command()(produce.produce)
app.command()(consume.consume)
app.command()(demo.demo)
app.command("format")(format.format_)
app.command()(simulate.simulate)
app.command("run")(run_application)
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(table.app, name="table")
app.add_typer(secure.app, name="secure")
app.add_typer(token.app, name="token")
app.add_typer(registry.app, name="registry")
app.add_typer(connect.app, name="connect")
app.add_typer(schema.app, name="schema")


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if show:
        print(VERSION)
        raise typer.Exit


@app.command()
def start(
    file: Annotated[
        str | None, typer.Argument(metavar="server.properties", help="Kafka's own file.")
    ] = None,
    listen: Listen = None,
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Where records live.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A broker option; repeatable."),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(metavar="N", help="Run N brokers on this host, to use more of its cores."),
    ] = None,
    registry: RegistryPort = None,
    secure: Secure = False,
    jaas: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Login modules, as java.security.auth.login.config."),
    ] = None,
) -> None:
    """Run one node, broker and controller, until it is told to stop."""
    asked = Start(file, listen, data, set_ or (), workers, registry, secure=secure, jaas=jaas)
    raise typer.Exit(start_node(asked))


def run() -> None:
    try:
        app(prog_name="ottla")
    except (OttlaError, KafkaError) as error:
        _fail(str(error))
    except KafkaException as error:
        _fail(explain(error, "the address given"))
    except TimeoutError:
        _fail("The broker did not answer in time. Is it overloaded, or still starting?")
    finally:
        _flush()


def _flush() -> None:
    """Write what waits to be written, unless whoever reads, like head, has had enough."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes once more as it ends


def _fail(sentence: str) -> None:
    print(f"ottla: {sentence}", file=sys.stderr)
    sys.exit(1)

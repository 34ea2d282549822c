"""`ottla topic create|list|describe|alter|delete`."""

from typing import Annotated

import typer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    OffsetSpec,
    TopicMetadata,
)
from confluent_kafka.cimpl import KafkaError as ClientError
from confluent_kafka.cimpl import KafkaException, NewPartitions, NewTopic
from rich.markup import escape

from ottla.cli.arguments import (
    Json,
    Target,
    Yes,
    assignments,
    complete_topics,
    reaches_a_cluster,
)
from ottla.cli.output import err, out, print_json, print_table
from ottla.client.admin import TIMEOUT_S, Admin
from ottla.errors import OttlaError

app = typer.Typer(no_args_is_help=True, help="Create, look at, change and delete topics.")

Name = Annotated[
    str,
    typer.Argument(metavar="TOPIC", help="The topic's name.", autocompletion=complete_topics),
]


@app.command()
@reaches_a_cluster
def create(
    target: Target,
    name: Name,
    partitions: Annotated[int | None, typer.Option("--partitions", "-p", min=1)] = None,
    replication_factor: Annotated[
        int | None, typer.Option("--replication-factor", "-r", min=1)
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", metavar="NAME=VALUE", help="A topic option; repeatable."),
    ] = None,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Do nothing when it exists already.")
    ] = False,
) -> None:
    """Create a topic; what is not said here is the broker's default."""
    admin = Admin(target.connection())
    options = assignments(config, "--config")
    topic = NewTopic(name, partitions or -1, replication_factor or -1, config=options)
    try:
        admin.client.create_topics([topic])[name].result(TIMEOUT_S)
    except KafkaException as error:
        exists = error.args[0].code() == ClientError.TOPIC_ALREADY_EXISTS
        if not (exists and if_not_exists):
            raise
        err.print(f"{name} exists already.")
        return
    err.print(f"Created {name}.")


@app.command(name="list")
@reaches_a_cluster
def list_topics(
    target: Target,
    internal: Annotated[
        bool, typer.Option("--internal", help="Also the cluster's own topics.")
    ] = False,
    json: Json = False,
) -> None:
    """List the topics, with partitions and replicas."""
    topics = Admin(target.connection()).metadata().topics
    rows = [
        (name, len(topics[name].partitions), _replicas(topics[name]))
        for name in sorted(topics)
        if internal or not name.startswith("__")
    ]
    if json:
        print_json([{"name": row[0], "partitions": row[1], "replicas": row[2]} for row in rows])
        return
    print_table(
        ("TOPIC", "PARTITIONS", "REPLICAS"),
        rows,
        empty="There are no topics yet. `ottla topic create NAME` makes one.",
    )


@app.command()
@reaches_a_cluster
def describe(
    target: Target,
    name: Name,
    json: Json = False,
) -> None:
    """Show a topic's partitions, how much they hold, and the options that are not defaults."""
    admin = Admin(target.connection())
    topic = admin.topic(name)
    places = [(name, number) for number in topic.partitions]
    first = admin.offsets(places, OffsetSpec.earliest())
    last = admin.offsets(places, OffsetSpec.latest())
    rows = [
        (
            number,
            part.leader if part.leader >= 0 else None,
            _ids(part.replicas),
            _ids(part.isrs),
            first.get((name, number)),
            last.get((name, number)),
        )
        for number, part in sorted(topic.partitions.items())
    ]
    configs = admin.configs(name)
    if json:
        columns = ("partition", "leader", "replicas", "in_sync", "first_offset", "next_offset")
        parts = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json({"name": name, "partitions": parts, "configs": configs})
        return
    records = sum(last[place] - first[place] for place in last.keys() & first.keys())
    options = "  ".join(f"{key}={value}" for key, value in sorted(configs.items()))
    rest = f"about {records:,} records  {options}".rstrip()
    out.print(f"[bold]{escape(name)}[/]  {escape(rest)}", soft_wrap=True)
    print_table(("PARTITION", "LEADER", "REPLICAS", "IN SYNC", "FIRST", "NEXT"), rows)


@app.command()
@reaches_a_cluster
def alter(
    target: Target,
    name: Name,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, help="More partitions than now.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="NAME=VALUE", help="Set an option; repeatable."),
    ] = None,
    unset: Annotated[
        list[str] | None,
        typer.Option("--unset", "-u", metavar="NAME", help="Back to the default; repeatable."),
    ] = None,
) -> None:
    """Change a topic's options or add partitions."""
    changes = assignments(set_, "--set")
    if not (partitions or changes or unset):
        raise OttlaError("Nothing to change: give --partitions, --set or --unset.")
    admin = Admin(target.connection())
    admin.topic(name)
    if partitions:
        admin.client.create_partitions([NewPartitions(name, partitions)])[name].result(TIMEOUT_S)
    if changes or unset:
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            for key, value in changes.items()
        ] + [
            ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE)
            for key in unset or []
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        admin.client.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
    err.print(f"Changed {name}.")


@app.command()
@reaches_a_cluster
def delete(
    target: Target,
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...", autocompletion=complete_topics)],
    yes: Yes = False,
) -> None:
    """Delete topics with all they hold."""
    admin = Admin(target.connection())
    if not yes:
        typer.confirm(f"Delete {', '.join(names)} for good?", abort=True, err=True)
    failed = False
    for name, future in admin.client.delete_topics(names).items():
        try:
            future.result(TIMEOUT_S)
            err.print(f"Deleted {name}.")
        except KafkaException as error:
            failed = True
            err.print(f"{name} was not deleted: {error.args[0].str().removeprefix('Broker: ')}.")
    if failed:
        raise typer.Exit(1)


def _replicas(topic: TopicMetadata) -> int:
    return max((len(part.replicas) for part in topic.partitions.values()), default=0)


def _ids(brokers: list[int]) -> str:
    return ",".join(map(str, brokers))

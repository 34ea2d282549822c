"""`ottla topic create|list|describe|alter|delete`."""

from typing import Annotated

import typer
from confluent_kafka.admin import (
    OffsetSpec,
    TopicMetadata,
)
from confluent_kafka.cimpl import KafkaError as ClientError
from confluent_kafka.cimpl import KafkaException, NewTopic
from rich.markup import escape

from ottla.cli.arguments import (
    DryRun,
    Json,
    Target,
    Yes,
    assignments,
    complete_topics,
    reaches_a_cluster,
)
from ottla.cli.changing import carry_out
from ottla.cli.output import err, out, print_json, print_table
from ottla.client.admin import TIMEOUT_S, Admin
from ottla.client.changes.topics import Alteration, AlterTopic, DeleteTopics, Deletion
from ottla.client.cluster import Cluster
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
    dry_run: DryRun = False,
) -> None:
    """Change a topic's options or add partitions."""
    configs = assignments(set_, "--set")
    if not (partitions or configs or unset):
        raise OttlaError("Nothing to change: give --partitions, --set or --unset.")
    change = AlterTopic(name, partitions, configs, tuple(unset or ()))

    def show(preview: tuple[Alteration, ...]) -> None:
        rows = [(one.what, one.before, one.after) for one in preview]
        if dry_run:
            print_table(("OPTION", "BEFORE", "AFTER"), rows)

    carry_out(Cluster(target.connection()), change, show, dry_run=dry_run)


@app.command()
@reaches_a_cluster
def delete(
    target: Target,
    names: Annotated[list[str], typer.Argument(metavar="TOPIC...", autocompletion=complete_topics)],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Delete topics with all they hold."""
    question = None if yes else f"Delete {', '.join(names)} for good?"

    def show(preview: tuple[Deletion, ...]) -> None:
        for one in () if yes and not dry_run else preview:
            held = "is not there" if one.partitions is None else f"{one.partitions} partitions"
            err.print(f"{one.topic}: {held}")

    change = DeleteTopics(tuple(names))
    carry_out(Cluster(target.connection()), change, show, dry_run=dry_run, question=question)


def _replicas(topic: TopicMetadata) -> int:
    return max((len(part.replicas) for part in topic.partitions.values()), default=0)


def _ids(brokers: list[int]) -> str:
    return ",".join(map(str, brokers))

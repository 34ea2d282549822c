"""`ottla group list|describe|reset-offsets|delete`."""

from collections.abc import Mapping
from typing import Annotated

import typer
from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import ConsumerGroupDescription, OffsetSpec
from rich.markup import escape

from ottla.cli import share_groups as shown_share_groups
from ottla.cli import streams_groups as shown_streams_groups
from ottla.cli.arguments import (
    DryRun,
    Json,
    Target,
    Yes,
    complete_groups,
    reaches_a_cluster,
)
from ottla.cli.members import as_json, print_members
from ottla.cli.moments import parse_moment
from ottla.cli.output import err, out, print_json, print_table
from ottla.cli.rebalances import told
from ottla.client import share_groups, streams_groups
from ottla.client.admin import TIMEOUT_S, Admin, Place
from ottla.client.kafka_errors import explain
from ottla.client.members import GroupMember, readers
from ottla.client.rebalances import last_rebalance
from ottla.client.share_groups import ShareGroup
from ottla.errors import OttlaError
from ottla.wire.messages.streams_group_describe import DescribedGroup as StreamsGroup

app = typer.Typer(no_args_is_help=True, help="Look at consumer groups, move and delete them.")

Group = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group's id.", autocompletion=complete_groups)
]
COLUMNS = ("topic", "partition", "committed", "end", "lag", "reader")


@app.command(name="list")
@reaches_a_cluster
def list_groups(
    target: Target,
    json: Json = False,
) -> None:
    """List the groups and the state they are in."""
    connection = target.connection()
    admin = Admin(connection)
    known = streams_groups.kinds(connection)  # librdkafka lists groups of consumers only
    known |= {
        group.group_id: (group.state.name.lower(), group.type.name.lower() if group.type else "")
        for group in admin.client.list_consumer_groups().result(TIMEOUT_S).valid
    }
    rows = sorted((name, *row) for name, row in known.items())
    if json:
        print_json([dict(zip(("group", "state", "type"), row, strict=True)) for row in rows])
        return
    print_table(("GROUP", "STATE", "TYPE"), rows, empty="There are no groups.")


@app.command()
@reaches_a_cluster
def describe(
    target: Target,
    group: Group,
    json: Json = False,
) -> None:
    """Show where a group stands in each partition, and what each member holds."""
    admin = Admin(target.connection())
    described = _described(admin, group)
    if isinstance(described, ShareGroup):
        shown_share_groups.show(described, json)
        return
    if isinstance(described, StreamsGroup):
        state, members = described.group_state.lower(), streams_groups.members(described)
        story, more = streams_groups.story(described), shown_streams_groups.as_json(described)
    else:
        state, members = described.state.name.lower(), _members(described)
        story, more = last_rebalance(admin.connection, group), {"members": as_json(members)}
    rows = _progress(admin, group, readers(members))
    if json:
        parts = [dict(zip(COLUMNS, row, strict=True)) for row in rows]
        shown = {"group": group, "state": state, "partitions": parts, "rebalance": story}
        print_json({**shown, **more})
        return
    names = {member.id: member.client for member in members}
    lag = sum(row[4] for row in rows if isinstance(row[4], int))
    counts = f"{state}  {len(names)} members  {lag:,} records behind"
    out.print(f"[bold]{escape(group)}[/]  {counts}", soft_wrap=True)
    for line in told(story, names):
        out.print(line, markup=False, soft_wrap=True)
    if isinstance(described, StreamsGroup):
        shown_streams_groups.print_tasks(described)
    else:
        print_members(members)
    print_table([name.upper() for name in COLUMNS], rows)


def _members(described: ConsumerGroupDescription) -> list[GroupMember]:
    return [
        GroupMember(
            member.member_id,
            member.client_id,
            member.host,
            tuple((part.topic, part.partition) for part in member.assignment.topic_partitions),
        )
        for member in described.members
    ]


def _progress(
    admin: Admin, group: str, read_by: Mapping[Place, str]
) -> list[tuple[str, int, int | None, int | None, int | None, str | None]]:
    """A row of `COLUMNS` for each partition that was read or has a reader."""
    committed = admin.committed(group)
    places = sorted({*committed, *read_by})
    ends = admin.offsets(places, OffsetSpec.latest())
    return [
        (
            *place,
            committed.get(place),
            ends.get(place),
            ends[place] - committed[place] if place in committed and place in ends else None,
            read_by.get(place),
        )
        for place in places
    ]


@app.command(name="reset-offsets")
@reaches_a_cluster
def reset_offsets(
    target: Target,
    group: Group,
    topic: Annotated[
        list[str],
        typer.Option("--topic", "-t", metavar="TOPIC[:PARTITION]", help="Repeatable."),
    ],
    to: Annotated[
        str,
        typer.Option("--to", help="earliest, latest, an offset, +N or -N from here, or a time."),
    ],
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Move a group that does not read at the moment to other offsets."""
    admin = Admin(target.connection())
    named = (place for given in topic for place in _places(admin, given))
    places = list(dict.fromkeys(named))  # `-t t -t t:0` names a partition twice
    before = admin.committed(group)
    after = _targets(admin, places, to, before)
    if not dry_run:
        _move(admin, group, after)
    rows = [(*place, before.get(place), after[place]) for place in places]
    if json:
        columns = ("topic", "partition", "before", "after")
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    print_table(("TOPIC", "PARTITION", "BEFORE", "AFTER"), rows)
    if dry_run:
        err.print("Nothing was changed: --dry-run.")


@app.command()
@reaches_a_cluster
def delete(
    target: Target,
    groups: Annotated[
        list[str], typer.Argument(metavar="GROUP...", autocompletion=complete_groups)
    ],
    yes: Yes = False,
) -> None:
    """Delete groups that have no members, with the offsets they committed."""
    admin = Admin(target.connection())
    if not yes:
        typer.confirm(f"Delete {', '.join(groups)} for good?", abort=True, err=True)
    failed = False
    for group, future in admin.client.delete_consumer_groups(groups).items():
        try:
            future.result(TIMEOUT_S)
            err.print(f"Deleted {group}.")
        except KafkaException as error:
            failed = True
            err.print(f"{group} was not deleted: {error.args[0].str().removeprefix('Broker: ')}.")
    if failed:
        raise typer.Exit(1)


def _described(admin: Admin, group: str) -> ConsumerGroupDescription | StreamsGroup | ShareGroup:
    described = admin.group(group)
    if described is not None:
        return described
    streams = streams_groups.described(admin.connection, group)
    if streams is not None:
        return streams
    shared = share_groups.described(admin.connection, group)
    if shared is not None:
        return shared
    raise OttlaError(f"There is no group {group}. `ottla group list` shows those there are.")


def _places(admin: Admin, given: str) -> list[Place]:
    name, _, number = given.rpartition(":") if ":" in given else (given, "", "")
    partitions = sorted(admin.topic(name).partitions)
    if not number:
        return [(name, each) for each in partitions]
    if not number.isdigit() or int(number) not in partitions:
        raise OttlaError(f"{name} has no partition {number}.")
    return [(name, int(number))]


def _move(admin: Admin, group: str, after: Mapping[Place, int]) -> None:
    """The broker answers for each partition; a group that reads refuses them one by one."""
    parts = [TopicPartition(*place, offset) for place, offset in after.items()]
    request = ConsumerGroupTopicPartitions(group, parts)
    answer = admin.client.alter_consumer_group_offsets([request])[group].result(TIMEOUT_S)
    errors = [part.error for part in answer.topic_partitions if part.error is not None]
    if errors:
        raise OttlaError(
            f"{len(errors)} of {len(parts)} partitions were not moved: "
            f"{explain(KafkaException(errors[0]), admin.connection.bootstrap)}"
        )


def _targets(
    admin: Admin, places: list[Place], to: str, before: dict[Place, int]
) -> dict[Place, int]:
    def ask(spec: OffsetSpec) -> dict[Place, int]:
        found = admin.offsets(places, spec)
        for name, number in places:
            if (name, number) not in found:
                raise OttlaError(
                    f"{name}-{number} has no leader, so nobody knows its offsets. Start a broker "
                    f"that holds it, or name the other partitions: --topic {name}:PARTITION."
                )
        return found

    first = ask(OffsetSpec.earliest())
    last = ask(OffsetSpec.latest())
    if to == "earliest":
        return first
    if to == "latest":
        return last
    if to[:1] in ("+", "-") and to[1:].isdigit():
        wanted = {place: before.get(place, first[place]) + int(to) for place in places}
    elif to.isdigit():
        wanted = dict.fromkeys(places, int(to))
    else:
        found = ask(OffsetSpec.for_timestamp(parse_moment(to)))
        wanted = {place: found[place] if found[place] >= 0 else last[place] for place in places}
    return {place: max(first[place], min(wanted[place], last[place])) for place in places}

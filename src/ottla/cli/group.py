"""`ottla group list|describe|reset-offsets|delete`."""

from collections.abc import Mapping
from typing import Annotated

import typer
from confluent_kafka.admin import ConsumerGroupDescription, OffsetSpec
from rich.markup import escape

from ottla.cli.arguments import (
    DryRun,
    Json,
    Target,
    Yes,
    complete_groups,
    reaches_a_cluster,
)
from ottla.cli.changing import carry_out
from ottla.cli.members import as_json, print_members
from ottla.cli.moments import parse_moment
from ottla.cli.output import err, out, print_json, print_table
from ottla.cli.rebalances import told
from ottla.cli.share_groups import show_share_group
from ottla.cli.streams_groups import print_tasks, streams_as_json
from ottla.client import share_groups, streams_groups
from ottla.client.admin import TIMEOUT_S, Admin, Place
from ottla.client.changes.groups import DeleteGroups, Goal, GroupDeletion, Reset, ResetOffsets
from ottla.client.cluster import Cluster
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
        show_share_group(described, json)
        return
    if isinstance(described, StreamsGroup):
        state, members = described.group_state.lower(), streams_groups.members(described)
        story, more = streams_groups.story(described), streams_as_json(described)
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
        print_tasks(described)
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

    def show(preview: tuple[Reset, ...]) -> None:
        if json:
            print_json([one._asdict() for one in preview])
        else:
            print_table(("TOPIC", "PARTITION", "BEFORE", "AFTER"), preview)

    change = ResetOffsets(group, tuple(topic), _goal(to))
    carry_out(Cluster(target.connection()), change, show, dry_run=dry_run)
    if dry_run and not json:
        err.print("Nothing was changed: --dry-run.")


def _goal(to: str) -> Goal:
    if to in ("earliest", "latest"):
        return Goal("earliest" if to == "earliest" else "latest")
    if to[:1] in ("+", "-") and to[1:].isdigit():
        return Goal("shift", int(to))
    return Goal("offset", int(to)) if to.isdigit() else Goal("time", parse_moment(to))


@app.command()
@reaches_a_cluster
def delete(
    target: Target,
    groups: Annotated[
        list[str], typer.Argument(metavar="GROUP...", autocompletion=complete_groups)
    ],
    yes: Yes = False,
    dry_run: DryRun = False,
) -> None:
    """Delete groups that have no members, with the offsets they committed."""
    question = None if yes else f"Delete {', '.join(groups)} for good?"

    def show(preview: tuple[GroupDeletion, ...]) -> None:
        for one in () if yes and not dry_run else preview:
            held = "no group of consumers" if one.state is None else one.state
            err.print(f"{one.group}: {held}, {one.members} members")

    change = DeleteGroups(tuple(groups))
    carry_out(Cluster(target.connection()), change, show, dry_run=dry_run, question=question)


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

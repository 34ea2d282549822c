"""`ottla group list|describe|reset-offsets|delete`."""

from typing import Annotated

import typer
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
from ottla.client import streams_groups
from ottla.client.admin import Admin
from ottla.client.changes.groups import DeleteGroups, Goal, GroupDeletion, Reset, ResetOffsets
from ottla.client.cluster import Cluster
from ottla.client.groups import Progress, consumers, find_group, list_groups, read_progress
from ottla.client.members import readers
from ottla.client.rebalances import last_rebalance
from ottla.client.share_groups import ShareGroup
from ottla.wire.messages.streams_group_describe import DescribedGroup as StreamsGroup

app = typer.Typer(no_args_is_help=True, help="Look at consumer groups, move and delete them.")

Group = Annotated[
    str, typer.Argument(metavar="GROUP", help="The group's id.", autocompletion=complete_groups)
]


@app.command(name="list")
@reaches_a_cluster
def show_list(target: Target, json: Json = False) -> None:
    """List the groups and the state they are in."""
    groups = list_groups(Admin(target.connection()))
    if json:
        print_json([one._asdict() for one in groups])
        return
    print_table(("GROUP", "STATE", "TYPE"), groups, empty="There are no groups.")


@app.command()
@reaches_a_cluster
def describe(
    target: Target,
    group: Group,
    json: Json = False,
) -> None:
    """Show where a group stands in each partition, and what each member holds."""
    admin = Admin(target.connection())
    described = find_group(admin, group)
    if isinstance(described, ShareGroup):
        show_share_group(described, json)
        return
    if isinstance(described, StreamsGroup):
        state, members = described.group_state.lower(), streams_groups.members(described)
        story, more = streams_groups.story(described), streams_as_json(described)
    else:
        state, members = described.state.name.lower(), consumers(described)
        story, more = last_rebalance(admin.connection, group), {"members": as_json(members)}
    rows = read_progress(admin, group, readers(members))
    if json:
        parts = [row._asdict() for row in rows]
        shown = {"group": group, "state": state, "partitions": parts, "rebalance": story}
        print_json({**shown, **more})
        return
    names = {member.id: member.client for member in members}
    lag = sum(row.lag or 0 for row in rows)
    counts = f"{state}  {len(names)} members  {lag:,} records behind"
    out.print(f"[bold]{escape(group)}[/]  {counts}", soft_wrap=True)
    for line in told(story, names):
        out.print(line, markup=False, soft_wrap=True)
    if isinstance(described, StreamsGroup):
        print_tasks(described)
    else:
        print_members(members)
    print_table([name.upper() for name in Progress._fields], rows)


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
    match to:
        case "earliest" | "latest":
            return Goal(to)
        case _ if to[:1] in ("+", "-") and to[1:].isdigit():
            return Goal("shift", int(to))
        case _ if to.isdigit():
            return Goal("offset", int(to))
    return Goal("time", parse_moment(to))


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

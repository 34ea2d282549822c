"""Share groups as people and scripts are shown them."""

from collections import Counter

from rich.markup import escape

from ottla.cli.members import as_json, print_members
from ottla.cli.output import out, print_json, print_table
from ottla.client.members import GroupMember
from ottla.client.share_groups import ShareGroup
from ottla.client.share_groups import members as members_of

COLUMNS = ("topic", "partition", "start", "lag", "readers")


def show_share_group(described: ShareGroup, json: bool) -> None:
    group, members = described.group, members_of(described.group)
    rows = _rows(described, members)
    if json:
        print_json(
            {
                "group": group.group_id,
                "type": "share",
                "state": group.group_state.lower(),
                "epoch": group.group_epoch,
                "partitions": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
                "members": [
                    {**shown, "epoch": member.member_epoch}
                    for shown, member in zip(as_json(members), group.members, strict=True)
                ],
            }
        )
        return
    lag = sum(row[3] or 0 for row in rows)
    counts = f"{len(group.members)} members  {lag:,} records behind"
    state = f"share group, {group.group_state.lower()}"
    out.print(f"[bold]{escape(group.group_id)}[/]  {state}  {counts}", soft_wrap=True)
    print_members(members)
    print_table([name.upper() for name in COLUMNS], rows)


def _rows(
    described: ShareGroup, members: list[GroupMember]
) -> list[tuple[str, int, int | None, int | None, int]]:
    """Several members read a partition at once; an offset below zero is not known yet."""
    readers = Counter(place for member in members for place in member.places)
    reached = {
        (topic.topic_name, one.partition_index): (one.start_offset, one.lag)
        for topic in described.offsets.topics
        for one in topic.partitions
        if not one.error_code
    }
    rows = []
    for place in sorted({*readers, *reached}):
        start, lag = reached.get(place, (-1, -1))
        known = (start if start >= 0 else None, lag if lag >= 0 else None)
        rows.append((*place, *known, readers[place]))
    return rows

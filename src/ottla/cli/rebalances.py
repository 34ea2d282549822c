"""A rebalance told in lines: when it was, why, and who was slow."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

SLOW_S = 1.0


def told(story: dict[str, Any] | None, names: Mapping[str, str]) -> Iterator[str]:
    """Lines for people; `names`: what clients call themselves, by member."""
    if story is None:
        return

    def shown(member_id: str) -> str:
        return f"{names[member_id]} ({member_id})" if member_id in names else member_id

    started = datetime.fromtimestamp(story["started_ms"] / 1000).strftime("%H:%M:%S")
    seconds = story["seconds"]
    if story["finished"]:
        yield f"last rebalance {started}, settled in {seconds:.1f} s: {story['reason']}"
    else:
        yield f"rebalances since {started} ({seconds:.1f} s): {story['reason']}"
    for member_id in story["waiting_for"]:
        yield f"  waits for {shown(member_id)}"
    slow = sorted(story["joined"].items(), key=lambda item: -item[1])
    for member_id, after in slow[:3]:
        if after >= SLOW_S:
            yield f"  slow: {shown(member_id)} took {after:.1f} s"

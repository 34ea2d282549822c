"""How far behind a stage is when it starts, and whether it catches up before it goes live.

Real-time mode takes every row through its state and writes a row for it. A backlog of a join or an
aggregate passes several times as fast in micro-batches, and the same checkpoint serves both. Pure:
whoever starts stages knows where topics begin and end.
"""

import json
from collections.abc import Callable

from ottla.pipelines.lifecycle.progress import Offsets
from ottla.pipelines.lifecycle.state import Batch
from ottla.pipelines.planning.stages import Stage

CATCH_UP_FROM = 100_000  # records; real time has fewer done before a second query would have begun


def may_catch_up(stage: Stage) -> bool:
    """Without state, real time takes a backlog as fast as micro-batches do."""
    return stage.mode == "real-time" and stage.stateful is not None


def records_behind(
    reached: Batch | None, ends: Offsets, begins: Callable[[str, int], int | None]
) -> int:
    """Between what a checkpoint has read and the ends of its topics.

    `begins` is where a partition is read from that the checkpoint does not name; None: its end.
    """
    known: dict[tuple[str, int], int] = {}
    for source in reached.ends if reached is not None else ():
        for topic, partitions in json.loads(source).items():
            for partition, offset in partitions.items():
                place = topic, int(partition)
                known[place] = min(offset, known.get(place, offset))  # it may be read twice
    behind = 0
    for topic, partitions in ends.items():
        for partition, end in partitions.items():
            at = known.get((topic, partition))
            if at is None:
                at = begins(topic, partition)
            behind += max(0, end - at) if at is not None else 0
    return behind

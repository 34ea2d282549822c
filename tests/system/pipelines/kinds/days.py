"""Days of a town across the changes of its clocks: one has 23 hours, one has 25."""

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from random import Random
from zoneinfo import ZoneInfo

from system.pipelines.kinds.script import (
    HOUR_MS,
    Expected,
    Kind,
    Record,
    Stage,
    money,
    program,
    row,
    value,
)

PROGRAM = program("""
meters = app.stream("meters", value=json("house STRING, kwh DECIMAL(8,2)"))
local = meters.with_columns(
    day="date_format(from_utc_timestamp(_timestamp, 'Europe/Prague'), 'yyyy-MM-dd')"
)
local.group_by("house", "day").agg(
    used="sum(kwh)", hours="size(collect_set(unix_millis(_timestamp) div 3600000))"
).to("days")
""")
PRAGUE = ZoneInfo("Europe/Prague")
# The clocks go back on 2025-10-26 and forward on 2025-03-30.
CHANGES = (datetime(2025, 3, 28, 12, tzinfo=PRAGUE), datetime(2025, 10, 24, 12, tzinfo=PRAGUE))


def stages(chance: Random) -> list[Stage]:
    records = [
        meter(chance, house, int(start.timestamp() * 1000) + hour * HOUR_MS)
        for start in CHANGES
        for hour in range(4 * 24)
        for house in range(3)
    ]
    chance.shuffle(records)
    size = len(records) // 4
    victims = ("driver", "broker", "jvm", "broker")
    parts = [records[n * size : (n + 1) * size] for n in range(4)]
    return [*(Stage(p, v) for p, v in zip(parts, victims, strict=True)), Stage([], settle=True)]


def meter(chance: Random, house: int, hour_ms: int) -> Record:
    fields = value(house=f"h{house}", kwh=money(chance, 1000))
    return Record("meters", f"h{house}", fields, hour_ms + chance.randrange(HOUR_MS))


def expected(sent: Sequence[Record]) -> Expected:
    used: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    hours: dict[tuple[str, str], set[int]] = defaultdict(set)
    for record in sent:
        fields = record.fields
        day = datetime.fromtimestamp(record.at_ms / 1000, PRAGUE).date().isoformat()
        used[fields["house"], day] += fields["kwh"]
        hours[fields["house"], day].add(record.at_ms // HOUR_MS)
    return {
        "days": {
            key(house, day): row(
                key(house, day),
                {"house": house, "day": day, "used": total, "hours": len(hours[house, day])},
            )
            for (house, day), total in used.items()
        }
    }


def key(house: str, day: str) -> str:
    return json.dumps({"house": house, "day": day}, separators=(",", ":"))


KIND = Kind("days", PROGRAM, ("meters",), stages, expected)

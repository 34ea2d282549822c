"""The top three, distinct counts and percentiles of each hour, each hour once."""

import math
from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Any

from system.pipelines.kinds.script import (
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    T0,
    Expected,
    Kind,
    Record,
    Stage,
    counted,
    money,
    program,
    row,
    value,
)

PROGRAM = program("""
sales = app.stream("sales", value=json("shop STRING, buyer STRING, amount DECIMAL(10,2)"))
hours = sales.group_by("shop").windowed(tumbling("1 hour", grace="10 minutes")).agg(
    top="slice(sort_array(collect_list(amount), false), 1, 3)",
    buyers="size(collect_set(buyer))",
    median="percentile(amount, 0.5)",
    ninety="percentile(amount, 0.9)",
)
hours.suppress().select(
    "shop", "top", "buyers", "median", "ninety", hour="unix_millis(window_start)"
).changes().key_by("shop").to("hours")
""")
OUT_OF_ORDER_MS = 8 * MINUTE_MS


def stages(chance: Random) -> list[Stage]:
    made = [
        Stage(wave(chance, number), victim)
        for number, victim in enumerate(("driver", "broker", "jvm", None, "broker"))
    ]
    end = T0 + 50 * HOUR_MS
    late = [sale("late", T0 + n, chance, late=True) for n in range(5)]
    return [
        *made,
        Stage([sale("end", end, chance)]),
        Stage([sale("end", end + SECOND_MS, chance)], settle=True),
        Stage([*late, sale("end", end + 2 * HOUR_MS, chance)]),
        Stage([sale("end", end + 3 * HOUR_MS, chance)], settle=True),
    ]


def wave(chance: Random, number: int) -> list[Record]:
    start = T0 + number * 40 * MINUTE_MS
    return [
        sale(
            f"shop{chance.randrange(4)}",
            start + place * 100 - chance.randint(0, OUT_OF_ORDER_MS),
            chance,
        )
        for place in range(200)
    ]


def sale(shop: str, at_ms: int, chance: Random, late: bool = False) -> Record:
    fields = value(shop=shop, buyer=f"b{chance.randrange(25)}", amount=money(chance))
    return Record("sales", f"k{chance.randrange(9)}", fields, at_ms, late=late)


def expected(sent: Sequence[Record]) -> Expected:
    hours: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    newest = max(record.at_ms for record in sent)
    for record in sent:
        if record.late:
            continue
        fields = record.fields
        hours[fields["shop"], record.at_ms // HOUR_MS * HOUR_MS].append(fields)
    return {
        "hours": counted(
            row(
                shop,
                {
                    "shop": shop,
                    "top": sorted((each["amount"] for each in rows), reverse=True)[:3],
                    "buyers": len({each["buyer"] for each in rows}),
                    "median": percentile(rows, 0.5),
                    "ninety": percentile(rows, 0.9),
                    "hour": hour,
                },
            )
            for (shop, hour), rows in hours.items()
            if hour + HOUR_MS + 10 * MINUTE_MS <= newest
        )
    }


def percentile(rows: list[dict[str, Any]], of: float) -> float:
    """Between the two nearest, by how near they are."""
    ordered = sorted(float(each["amount"]) for each in rows)
    place = (len(ordered) - 1) * of
    low, high = math.floor(place), math.ceil(place)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


KIND = Kind("rankings", PROGRAM, ("sales",), stages, expected)

"""Left joins of streams within ten minutes, with records out of order and others too late."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any

from system.pipelines.kinds.script import (
    HOUR_MS,
    MINUTE_MS,
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
orders = app.stream("orders", value=json("id BIGINT, amount DECIMAL(10,2)"))
payments = app.stream("payments", value=json("paid DECIMAL(10,2)"))
settled = orders.left_join(payments, within="10 minutes", grace="5 minutes")
settled.with_columns(due="amount - coalesce(paid, 0)", third="amount / 3").to("settled")
""")
WITHIN_MS = 10 * MINUTE_MS
OUT_OF_ORDER_MS = 4 * MINUTE_MS  # less than the grace, by more than a wave takes


def stages(chance: Random) -> list[Stage]:
    made = [
        Stage(wave(chance, number), victim)
        for number, victim in enumerate((None, "driver", "broker", "jvm", "broker"))
    ]
    late = [
        order("late", 900_000, T0, chance, late=True),
        payment("o1", T0, chance, late=True),
        *pair("after", T0 + 20 * HOUR_MS, chance),
    ]
    closing = [
        Stage(pair(f"end-{n}", T0 + (10 + n) * HOUR_MS, chance), settle=True) for n in (0, 1)
    ]
    return [*made, *closing, Stage(late, settle=True)]


def wave(chance: Random, number: int) -> list[Record]:
    records = []
    for place in range(120):
        now = T0 + number * 3 * MINUTE_MS + place * 100
        at = now - chance.randint(0, OUT_OF_ORDER_MS)
        which = number * 120 + place
        records.append(order(f"o{which}", which, at, chance))
        if chance.random() < 0.7:
            of = max(0, which - chance.randint(0, 500))
            records.append(payment(f"o{of}", now - chance.randint(0, OUT_OF_ORDER_MS), chance))
    return records


def order(key: str, which: int, at_ms: int, chance: Random, late: bool = False) -> Record:
    return Record("orders", key, value(id=which, amount=money(chance)), at_ms, late=late)


def payment(key: str, at_ms: int, chance: Random, late: bool = False) -> Record:
    return Record("payments", key, value(paid=money(chance)), at_ms, late=late)


def pair(key: str, at_ms: int, chance: Random) -> list[Record]:
    """Two that meet at once: time has come so far."""
    return [order(key, at_ms, at_ms, chance), payment(key, at_ms, chance)]


def expected(sent: Sequence[Record]) -> Expected:
    payments: dict[Any, list[Record]] = defaultdict(list)
    for record in sent:
        if record.topic == "payments" and not record.late:
            payments[record.key].append(record)
    newest = max(record.at_ms for record in sent)
    rows = []
    for record in sent:
        if record.topic != "orders" or record.late:
            continue
        near = [p for p in payments[record.key] if abs(p.at_ms - record.at_ms) <= WITHIN_MS]
        rows += [joined(record, partner) for partner in near]
        if not near:
            assert newest - record.at_ms > HOUR_MS  # its time has passed
            rows.append(joined(record, None))
    return {"settled": counted(rows)}


def joined(order: Record, payment: Record | None) -> str:
    fields = order.fields
    paid = None if payment is None else payment.fields["paid"]
    amount = fields["amount"]
    return row(
        order.key,
        fields
        | {"paid": paid}
        | {"due": amount - (paid or Decimal("0.00")), "third": third(amount)},
    )


def third(amount: Decimal) -> Decimal:
    """DECIMAL(10,2) / 3 is DECIMAL(14,6) to Spark, rounded half up."""
    return (amount / 3).quantize(Decimal("0.000001"), ROUND_HALF_UP)


KIND = Kind("meeting", PROGRAM, ("orders", "payments"), stages, expected)

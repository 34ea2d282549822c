"""Tables with deletes, joined by a foreign key, and an aggregate over what they give."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from random import Random
from typing import Any

from system.pipelines.kinds.script import (
    T0,
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
orders = app.table("orders", value=json("customer STRING, amount DECIMAL(12,2)"))
customers = app.table("customers", value=json("country STRING"))
placed = orders.join(customers, on="customer")
placed.to("placed")
placed.group_by("country").agg(
    orders="count(*)", total="sum(amount)", most="max(amount)"
).to("by-country")
""")
COUNTRIES = ("CZ", "TR", "DE", "FR")


def stages(chance: Random) -> list[Stage]:
    victims = ("broker", "driver", "jvm", "broker", None)
    made = [Stage(changes(chance, n), victim) for n, victim in enumerate(victims)]
    gone = [Record("customers", f"c{n}", None, T0 + 10_000_000) for n in range(0, 30, 2)]
    return [*made, Stage([], settle=True), Stage(gone, settle=True)]


def changes(chance: Random, wave: int) -> list[Record]:
    records = []
    for place in range(150):
        at = T0 + wave * 1_000_000 + place
        if chance.random() < 0.3:
            key = f"c{chance.randrange(30)}"
            country = value(country=chance.choice(COUNTRIES))
            deleted = chance.random() < 0.25
            records.append(Record("customers", key, None if deleted else country, at))
        else:
            key = f"o{chance.randrange(80)}"
            fields = value(customer=f"c{chance.randrange(30)}", amount=money(chance))
            deleted = chance.random() < 0.2
            records.append(Record("orders", key, None if deleted else fields, at))
    return records


def expected(sent: Sequence[Record]) -> Expected:
    latest: dict[str, dict[str, dict[str, Any]]] = {"orders": {}, "customers": {}}
    for record in sent:
        assert record.key is not None
        if record.value is None:
            latest[record.topic].pop(record.key, None)
        else:
            latest[record.topic][record.key] = record.fields
    placed = {
        key: order | latest["customers"][order["customer"]]
        for key, order in latest["orders"].items()
        if order["customer"] in latest["customers"]
    }
    groups: dict[str, list[Decimal]] = defaultdict(list)
    for order in placed.values():
        groups[order["country"]].append(order["amount"])
    return {
        "placed": {key: row(key, fields) for key, fields in placed.items()},
        "by-country": {
            country: row(
                country,
                {
                    "country": country,
                    "orders": len(amounts),
                    "total": sum(amounts, Decimal("0.00")),
                    "most": max(amounts),
                },
            )
            for country, amounts in groups.items()
        },
    }


KIND = Kind("tables", PROGRAM, ("orders", "customers"), stages, expected)

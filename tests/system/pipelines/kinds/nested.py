"""Nested JSON taken apart, routed by what it says, its headers passed on."""

from collections.abc import Sequence
from random import Random
from typing import Any

from system.pipelines.kinds.script import (
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
orders = app.stream("orders", value=json(
    "id BIGINT, buyer STRUCT<name: STRING, home: STRUCT<country: STRING>>,"
    " lines ARRAY<STRUCT<sku: STRING, qty: INT, price: DECIMAL(10,2)>>, tags MAP<STRING, STRING>"
))
lines = orders.explode("lines", "line").select(
    "id", name="buyer.name", country="buyer.home.country", sku="line.sku",
    cost="line.price * line.qty", colour="tags['colour']",
    trace="CAST(filter(_headers, h -> h.key = 'trace')[0].value AS STRING)",
)
home, abroad = lines.branch("country = 'CZ'")
home.key_by("sku").to("home", headers={"trace": "trace"})
abroad.key_by("sku").to("abroad", headers={"trace": "trace", "country": "country"})
""")


def stages(chance: Random) -> list[Stage]:
    victims = ("driver", "broker", "jvm", "broker")
    made = [
        Stage([order(chance, n * 100 + m) for m in range(100)], v) for n, v in enumerate(victims)
    ]
    return [*made, Stage([order(chance, 900)], settle=True)]


def order(chance: Random, which: int) -> Record:
    country = chance.choice(["CZ", "TR", "DE", None])
    buyer: Any = {"name": f"name {which} \u00e9\u4e2d", "home": {"country": country}}
    if chance.random() < 0.1:
        buyer = None
    lines = [
        {"sku": f"s{chance.randrange(20)}", "qty": chance.randint(1, 9), "price": money(chance)}
        for _ in range(chance.randrange(4))
    ]
    tags = {"colour": chance.choice(["red", "blue"])} if chance.random() < 0.5 else {}
    trace = (("trace", f"t{which}".encode()),)
    fields = value(id=which, buyer=buyer, lines=lines, tags=tags)
    return Record("orders", f"k{which % 7}", fields, T0 + which, trace)


def expected(sent: Sequence[Record]) -> Expected:
    home: list[Any] = []
    abroad: list[Any] = []
    for record in sent:
        order = record.fields
        buyer = order["buyer"] or {"name": None, "home": {"country": None}}
        country = buyer["home"]["country"]
        for line in order["lines"]:
            fields = {
                "id": order["id"],
                "name": buyer["name"],
                "country": country,
                "sku": line["sku"],
                "cost": line["price"] * line["qty"],
                "colour": order["tags"].get("colour"),
                "trace": dict(record.headers)["trace"].decode(),
            }
            (home if country == "CZ" else abroad).append(row(line["sku"], fields))
    return {"home": counted(home), "abroad": counted(abroad)}


KIND = Kind("nested", PROGRAM, ("orders",), stages, expected)

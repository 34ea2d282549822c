"""Dead letters, records of an older and a newer schema, and a program that changes with them."""

from collections.abc import Sequence
from decimal import Decimal
from random import Random

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
paid = app.stream("paid", value=json("id BIGINT NOT NULL, amount DECIMAL(10,2), unit STRING"))
paid.with_columns(unit="coalesce(unit, 'CZK')").key_by("id").to("clean")
paid.group_by("unit").agg(n="count(*)", total="sum(amount)").to("totals")
""")
# One more field is read and written; the counts below go on as they are.
CHANGED = PROGRAM.replace("unit STRING", "unit STRING, note STRING")
BROKEN = (
    b"no json",
    b'{"amount": 1.00}',
    b'{"id": "seven"}',
    b'{"id": 1} and more',
    b"[1, 2]",
    b"{",
)


def stages(chance: Random) -> list[Stage]:
    victims = ("driver", "broker", "jvm")
    before = [
        Stage([paid(chance, n * 80 + m) for m in range(80)], v) for n, v in enumerate(victims)
    ]
    after = [paid(chance, m, note=True) for m in range(500, 600)]
    return [
        *before,
        Stage([paid(chance, 400)], settle=True),
        Stage(after, "broker", settle=True, program=CHANGED),
    ]


def paid(chance: Random, which: int, note: bool = False) -> Record:
    at, key = T0 + which, f"k{which}"
    if chance.random() < 0.1:
        return Record("paid", key, chance.choice(BROKEN), at)
    fields = {"id": which, "amount": money(chance)}
    if chance.random() < 0.7:
        fields["unit"] = chance.choice(["EUR", "TRY"])
    return Record("paid", key, value(**fields, **({"note": f"n{which}"} if note else {})), at)


def expected(sent: Sequence[Record]) -> Expected:
    clean, dead = [], []
    totals: dict[str, list[Decimal]] = {}
    changed = False
    for record in sent:
        assert record.value is not None
        if record.value in BROKEN:
            dead.append(f"{record.key} {record.value.decode()}")
            continue
        fields = record.fields
        changed |= "note" in fields
        if "unit" in fields:
            totals.setdefault(fields["unit"], []).append(fields["amount"])
        whole = {"id": fields["id"], "amount": fields["amount"], "unit": fields.get("unit", "CZK")}
        if changed:
            whole["note"] = fields.get("note")
        clean.append(row(str(fields["id"]), whole))
    return {
        "clean": counted(clean),
        "kind-dead-letters": counted(dead),
        "totals": {
            unit: row(unit, {"unit": unit, "n": len(each), "total": sum(each)})
            for unit, each in totals.items()
        },
    }


KIND = Kind("letters", PROGRAM, ("paid",), stages, expected)

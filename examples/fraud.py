"""A fraud pattern: small payments that try a card out, then a large one.

    ottla topic create payments
    ottla run examples/fraud.py
    ottla consume alarms

A custom processor keeps a count for each card and forgets it after ten quiet minutes.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import ottla
from ottla.pipelines import Context, Processor, json

QUIET_MS = 10 * 60 * 1000


class TriedOut(Processor):
    returns = "card STRING, amount DOUBLE, small_ones INT"
    state: ClassVar = {"seen": "small_ones INT, forget_at LONG"}

    def process(self, key: str, row: dict[str, Any], context: Context) -> Iterator[dict[str, Any]]:
        seen = context.get("seen") or {"small_ones": 0, "forget_at": 0}
        if row["amount"] >= 500 and seen["small_ones"] >= 3:
            yield {"card": key, "amount": row["amount"], "small_ones": seen["small_ones"]}
        forget_at = row["_timestamp_ms"] + QUIET_MS
        context.set_timer(forget_at)
        small_ones = seen["small_ones"] + 1 if row["amount"] < 5 else 0
        context.put("seen", {"small_ones": small_ones, "forget_at": forget_at})

    def on_timer(self, key: str, when_ms: int, context: Context) -> Iterator[dict[str, Any]]:
        seen = context.get("seen")
        if seen is not None and seen["forget_at"] == when_ms:  # no payment has come since
            context.delete("seen")
        yield from ()


app = ottla.App("fraud")
payments = app.stream("payments", value=json("amount DOUBLE NOT NULL"))
payments.process(TriedOut(), grace="10 seconds").to("alarms")

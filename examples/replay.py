"""Replay after a bug fix: the same code over the whole history, beside what is there.

    ottla topic create sales
    ottla run examples/replay.py             # writes revenue, forgetting the quantity

Then mend the line marked below and run it once more over everything:

    ottla run --replay examples/replay.py    # writes revenue-v2, then goes on live

Readers move to revenue-v2 when it has caught up; revenue stays as it was until you delete it.
"""

import ottla
from ottla.pipelines import json

app = ottla.App("revenue")
sales = app.stream("sales", value=json("product STRING, price DOUBLE, quantity INT"))
sales.group_by("product").agg(revenue="sum(price)").to("revenue")  # mend: sum(price * quantity)

"""Orders joined with their customers, and turnover by country and minute.

    ottla topic create orders
    ottla topic create customers
    ottla run examples/orders.py
    ottla consume turnover

The join answers each order with the customer as known at that moment. Because the sum counts its
rows, the join delivers exactly once: ottla pipeline explain examples/orders.py says so.
"""

import ottla
from ottla.pipelines import json, tumbling

app = ottla.App("orders-by-country")

orders = app.stream(
    "orders",
    value=json("customer STRING NOT NULL, item STRING, amount DOUBLE, at TIMESTAMP"),
    timestamp="at",
)
customers = app.table("customers", value=json("name STRING, country STRING"))

enriched = orders.filter("amount > 0").key_by("customer").join(customers)

by_minute = enriched.group_by("country").windowed(tumbling("1 minute", grace="30 seconds"))
by_minute.agg(orders="count(*)", turnover="sum(amount)").to("turnover")

enriched.filter("amount > 1000").select("name", "country", "amount").to("large-orders")

"""A schema registry with Confluent's REST interface, over a compacted topic.

`names`, `entities`, `records`, `state`, `decisions`, `levels` and the three packages of schema
types are pure. `store` and `service` reach Kafka, as a client only; `rest` is HTTP.
"""

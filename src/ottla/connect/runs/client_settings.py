"""What a worker's file and a connector say: about Kafka's clients, in Java's names. Pure.

A worker's `producer.*` and `consumer.*` are for all connectors, a connector's `producer.override.*`
and `consumer.override.*` for its own; what says how to reach brokers is in the plan's connection.
"""

from collections.abc import Mapping
from typing import Literal

from ottla.client.connection import Connection
from ottla.client.properties import JAVA_ALONE, Property
from ottla.connect.runs.run import RunPlan

Side = Literal["producer", "consumer"]
_ADDRESS = "bootstrap.servers"


def said(plan: RunPlan, side: Side) -> dict[str, str]:
    general = _with_prefix(plan.worker, f"{side}.")
    own = _with_prefix(plan.resolved, f"{side}.override.")
    return {**general, **own}


def java_settings(plan: RunPlan, side: Side) -> dict[str, str]:
    return {**plan.connection.java(), **said(plan, side)}


def consumer_connection(plan: RunPlan) -> Connection:
    """For librdkafka: what is for Java's consumers alone is left to those that read."""
    settings = said(plan, "consumer")
    kept = [
        Property(name, value, f"consumer.override.{name}")
        for name, value in settings.items()
        if name not in JAVA_ALONE and name != _ADDRESS
    ]
    return plan.connection.override(settings.get(_ADDRESS), kept)


def _with_prefix(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in config.items()
        if name.startswith(prefix)
    }


_CHAIN = ("key.converter", "value.converter", "header.converter", "transforms", "predicates")


def chain_settings(config: Mapping[str, str]) -> dict[str, str]:
    """What tasks make transforms and converters of: the rest, with its secrets, stays here."""
    return {name: value for name, value in config.items() if name.startswith((*_CHAIN, "errors."))}

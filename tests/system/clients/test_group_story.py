"""`ottla group describe` says why a group rebalanced and who holds what."""

import json
import time
import uuid
from typing import Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.client.connection import Connection
from ottla.client.rebalances import last_rebalance
from support.brokers import Kind
from support.confluent import close_together


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_reason_of_the_last_rebalance_is_told(
    bootstrap: str, broker_kind: Kind, protocol: str
) -> None:
    if broker_kind == "kafka":
        pytest.skip("Apache Kafka does not tell")
    name = f"story-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(10)
    assert last_rebalance(Connection(bootstrap), name) is None
    options = {"bootstrap.servers": bootstrap, "group.id": name, "client.id": "reader"}
    consumer = Consumer({**options, "group.protocol": protocol})
    consumer.subscribe([name])
    deadline = time.monotonic() + 20
    while len(consumer.assignment()) < 2 and time.monotonic() < deadline:
        consumer.poll(0.1)
    story = last_rebalance(Connection(bootstrap), name)
    assert story is not None
    assert "joined" in story["reason"]
    assert story["finished"]
    shown = CliRunner().invoke(app, ["group", "describe", name, "-b", bootstrap])
    assert "last rebalance" in shown.stdout
    described = CliRunner().invoke(app, ["group", "describe", name, "-b", bootstrap, "--json"])
    assert json.loads(described.stdout)["rebalance"]["reason"] == story["reason"]
    consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members_of_one_client_id_are_told_apart_and_the_idle_one_is_shown(
    bootstrap: str, broker_kind: Kind, protocol: str
) -> None:
    name = f"story-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(10)
    options = {"bootstrap.servers": bootstrap, "group.id": name, "client.id": "reader"}
    consumers = [Consumer({**options, "group.protocol": protocol}) for _ in range(3)]
    for consumer in consumers:
        consumer.subscribe([name])
    members: list[dict[str, Any]] = []
    deadline = time.monotonic() + 30
    while sorted(len(member["partitions"]) for member in members) != [0, 1, 1]:
        assert time.monotonic() < deadline, members
        for consumer in consumers:
            consumer.poll(0.1)
        told = CliRunner().invoke(app, ["group", "describe", name, "-b", bootstrap, "--json"])
        members = json.loads(told.stdout)["members"] if told.exit_code == 0 else []
    shown = CliRunner().invoke(app, ["group", "describe", name, "-b", bootstrap]).stdout
    close_together(consumers)
    assert {member["client"] for member in members} == {"reader"}
    for member in members:
        held = [part["partition"] for part in member["partitions"]]
        called = f"reader {member['host']} {member['member']}"
        assert f"{called}\t{f'{name} {held[0]}' if held else 'nothing'}\n" in shown
        assert all(f"{name}\t{at}\t-\t0\t-\t{called}\n" in shown for at in held)

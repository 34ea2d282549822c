"""One partition that nobody leads: the tools tell what they can, refuse what cannot end."""

import asyncio
import json
from collections.abc import Iterator

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from typer.testing import CliRunner, Result

from ottla.cli.app import app
from ottla.client import moving
from ottla.client.balancing import Move
from ottla.client.cluster_state import read_cluster, read_moving
from ottla.client.moving import carry_out
from ottla.client.wire_client import WireClient
from ottla.errors import OttlaError
from ottla.metadata.features import SUPPORTED
from ottla.ports.network import TcpNetwork
from ottla.testing.node import Node
from ottla.wire.client import Client
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from ottla.wire.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from support.ids import new_uuid

FAR_AHEAD = 10**6
SECONDS_MAX = 30


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker, and a topic whose second partition was on another that is gone for good."""
    with Node(settings={"offsets.topic.num.partitions": 1}) as node:
        asyncio.run(asyncio.wait_for(lose_a_broker(node), timeout=SECONDS_MAX))
        yield node.bootstrap_servers


async def lose_a_broker(node: Node) -> None:
    async with WireClient(node.bootstrap_servers) as wire:
        link = await TcpNetwork().connect(node.host, node.controller_port, lambda: None)
        await pretend(Client(link, "test"), (await read_cluster(wire)).cluster_id, node)
        link.close()
        while not any(one.is_fenced for one in (await read_cluster(wire)).brokers):
            await asyncio.sleep(0.1)


async def pretend(controller: Client, cluster_id: str, node: Node) -> None:
    """To be broker 2 for as long as it takes to give it a partition."""
    registration = BrokerRegistrationRequest(
        broker_id=2,
        cluster_id=cluster_id,
        incarnation_id=new_uuid(),
        listeners=[Listener(name="PLAINTEXT", host=node.host, port=1, security_protocol=0)],
        features=[
            Feature(name=name, min_supported_version=least, max_supported_version=most)
            for name, (least, most) in SUPPORTED.items()
        ],
        log_dirs=[new_uuid()],
    )
    registered = await controller.ask(registration, 4, BrokerRegistrationResponse)
    beat = BrokerHeartbeatRequest(
        broker_id=2, broker_epoch=registered.broker_epoch, current_metadata_offset=FAR_AHEAD
    )
    while (await controller.ask(beat, 1, BrokerHeartbeatResponse)).is_fenced:
        await asyncio.sleep(0.05)
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    topic = NewTopic("half", num_partitions=2, replica_assignment=[[1], [2]])
    created = admin.create_topics([topic])["half"]
    while not created.done():
        await controller.ask(beat, 1, BrokerHeartbeatResponse)
        await asyncio.sleep(0.1)
    created.result()


def ottla(bootstrap: str, *arguments: str, stdin: str | None = None) -> Result:
    env = {"OTTLA_BOOTSTRAP": bootstrap}
    return CliRunner().invoke(app, arguments, input=stdin, env=env, prog_name="ottla")


def refused(result: Result) -> str:
    assert isinstance(result.exception, OttlaError), result.output
    return str(result.exception)


def test_a_topic_is_described_without_the_offsets_that_nobody_knows(bootstrap: str) -> None:
    described = json.loads(ottla(bootstrap, "topic", "describe", "half", "--json").stdout)
    led, lost = described["partitions"]
    assert (led["leader"], led["first_offset"]) == (1, 0)
    assert (lost["leader"], lost["first_offset"], lost["next_offset"]) == (None, None, None)
    assert ottla(bootstrap, "topic", "describe", "half").stdout.splitlines()[-1].endswith("-\t-")


def test_a_group_is_described_where_it_can_be_and_moved_there(bootstrap: str) -> None:
    ottla(bootstrap, "produce", "half", "-p", "0", stdin="a\nb\n")
    resetting = ("group", "reset-offsets", "readers", "--to", "1", "-t")
    assert "half-1 has no leader" in refused(ottla(bootstrap, *resetting, "half"))
    assert ottla(bootstrap, *resetting, "half:0").exit_code == 0
    admin = AdminClient({"bootstrap.servers": bootstrap})
    known = ConsumerGroupTopicPartitions("readers", [TopicPartition("half", 1, 5)])
    admin.alter_consumer_group_offsets([known])["readers"].result(SECONDS_MAX)
    described = ottla(bootstrap, "group", "describe", "readers", "--json")
    assert described.exit_code == 0, described.exception
    parts = json.loads(described.stdout)["partitions"]
    assert [(one["committed"], one["end"], one["lag"]) for one in parts] == [
        (1, 2, 1),
        (5, None, None),
    ]


def test_a_broker_is_not_drained_of_what_nobody_can_copy(bootstrap: str) -> None:
    sentence = refused(ottla(bootstrap, "cluster", "drain", "2"))
    assert "half-1 has no leader, so there is nobody to copy it from" in sentence
    assert sentence.endswith("2), or delete the topic.")


def test_balancing_leaves_out_what_nobody_can_copy(bootstrap: str) -> None:
    balanced = ottla(bootstrap, "cluster", "balance")
    assert balanced.exit_code == 0
    assert "half-1 has no leader and stays." in balanced.stderr


def test_a_move_that_nobody_can_make_is_not_waited_for_and_keeps_no_other_from_being_made(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with WireClient(bootstrap) as wire:
            with pytest.raises(OttlaError, match="nobody to copy from: half-1"):
                await carry_out(wire, [Move("half", 1, (2,), (1,), 0)], lambda _: None)
            assert await read_moving(wire) == [("half", 1)]

    monkeypatch.setattr(moving, "STALLED_S", 0.5)
    asyncio.run(asyncio.wait_for(scenario(), SECONDS_MAX))
    assert ottla(bootstrap, "cluster", "balance").exit_code == 0

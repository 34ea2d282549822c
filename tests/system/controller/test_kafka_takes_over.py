"""Metadata decided here and written by the quorum is Apache Kafka's own, and the other way round.

No broker is involved: the controller is told of one, as a node would tell it.
"""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from ottla.config.settings import Settings
from ottla.controller.controller import Controller
from ottla.ids import Uuid
from ottla.log.checkpoints import MetaProperties, read_meta_properties, write_meta_properties
from ottla.metadata.features import SUPPORTED, bootstrap_values
from ottla.metadata.image import Image
from ottla.metadata.publisher import Publisher
from ottla.metadata.snapshotting import Snapshotting
from ottla.ports.chance import SYSTEM_CHANCE
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.quorum.config import QuorumConfig
from ottla.quorum.driver import Quorum
from ottla.quorum.snapshots import build_snapshot
from ottla.quorum.voters import Address, VoterSet
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from ottla.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.wire.messages.delete_topics import DeleteTopicsRequest
from ottla.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from support.brokers import running
from support.class_data import brief_java
from support.homes import CLUSTER_ID, Home
from support.ids import new_uuid
from support.jars import class_path

Work = Callable[[Controller], Awaitable[None]]


def format_directory(home: Home) -> Uuid:
    directory = home.data[0]
    directory.mkdir(parents=True)
    meta = MetaProperties(1, CLUSTER_ID, new_uuid())
    write_meta_properties(directory, meta)
    (directory / "bootstrap.checkpoint").write_bytes(build_snapshot(bootstrap_values(), now_ms=0))
    return meta.directory_id


def with_controller(home: Home, work: Work, snapshot_bytes: int = 1 << 20) -> Image:
    """Lead a quorum of one on the home's directory, do the work, and stop; what is there then."""

    async def main() -> Image:
        meta = read_meta_properties(home.data[0])
        assert meta is not None
        publisher = Publisher()
        config = QuorumConfig(
            node_id=1,
            cluster_id=CLUSTER_ID,
            directory_id=meta.directory_id,
            log_dir=home.data[0],
            static_voters=VoterSet.static(
                [(1, Address("CONTROLLER", "127.0.0.1", home.controller_port))]
            ),
        )
        quorum = Quorum(config, publisher, SYSTEM_CLOCK, SYSTEM_CHANCE)
        controller = Controller(
            quorum,
            publisher,
            Settings({}),
            node_id=1,
            cluster_id=CLUSTER_ID,
            bootstrap=bootstrap_values(),
            now=SYSTEM_CLOCK.monotonic,
            now_ms=lambda: 0,
            chance=SYSTEM_CHANCE,
        )
        Snapshotting(
            publisher, quorum, bytes_max=snapshot_bytes, interval_ms=0, now=SYSTEM_CLOCK.monotonic
        )
        await quorum.start()
        await work(controller)
        await quorum.stop()
        return publisher.image

    return asyncio.run(main())


async def nothing(controller: Controller) -> None:
    """Only read what is there."""


def topics_and_settings(home: Home, directory: Uuid) -> Work:
    async def work(controller: Controller) -> None:
        epoch = await register(controller, home, directory)
        await beat(controller, epoch)
        await controller.create_topics(
            CreateTopicsRequest(
                topics=[
                    creatable("alpha", 3, **{"retention.ms": "123456"}),
                    creatable("beta", 1),
                    creatable("gone", 1),
                ]
            )
        )
        await controller.delete_topics(DeleteTopicsRequest(topic_names=["gone"]))
        change = AlterableConfig(name="cleanup.policy", config_operation=2, value="compact")
        resource = AlterConfigsResource(resource_type=2, resource_name="beta", configs=[change])
        await controller.incremental_alter_configs(
            IncrementalAlterConfigsRequest(resources=[resource])
        )
        while not (await beat(controller, epoch, stop=True)):
            pass

    return work


def creatable(name: str, partitions: int, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


async def register(controller: Controller, home: Home, directory: Uuid) -> int:
    response = await controller.broker_registration(
        BrokerRegistrationRequest(
            broker_id=1,
            cluster_id=CLUSTER_ID,
            incarnation_id=new_uuid(),
            listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=home.port)],
            features=[
                Feature(name=name, min_supported_version=low, max_supported_version=high)
                for name, (low, high) in SUPPORTED.items()
            ],
            log_dirs=[directory],
        )
    )
    return response.broker_epoch


async def beat(controller: Controller, epoch: int, *, stop: bool = False) -> bool:
    response = await controller.broker_heartbeat(
        BrokerHeartbeatRequest(
            broker_id=1,
            broker_epoch=epoch,
            current_metadata_offset=1 << 40,
            want_shut_down=stop,
            cordoned_log_dirs=[],
        )
    )
    return response.should_shut_down


def topic_setting(admin: AdminClient, topic: str, name: str) -> str:
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    return str(admin.describe_configs([resource])[resource].result(30)[name].value)


def dumped(file: Path) -> str:
    tool = [*brief_java(), "-cp", class_path(), "org.apache.kafka.tools.DumpLogSegments"]
    command = [*tool, "--cluster-metadata-decoder", "--files", str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.java
@pytest.mark.timeout(180)
@pytest.mark.parametrize("snapshot_bytes", [1 << 20, 100], ids=["log", "snapshots"])
def test_kafka_opens_what_the_controller_wrote_and_goes_on(home: Home, snapshot_bytes: int) -> None:
    directory = format_directory(home)
    before = with_controller(home, topics_and_settings(home, directory), snapshot_bytes)
    log = home.data[0] / "__cluster_metadata-0"
    newest = max(log.glob("*.log")) if snapshot_bytes > 100 else max(log.glob("*.checkpoint"))
    text = dumped(newest)
    assert '"name":"alpha"' in text
    assert "Could not decode" not in text
    assert "isvalid: false" not in text
    with running("kafka", home) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        topics = admin.list_topics(timeout=30).topics
        assert set(topics) == {"alpha", "beta"}
        assert len(topics["alpha"].partitions) == 3
        assert {part.leader for part in topics["alpha"].partitions.values()} == {1}
        assert topic_setting(admin, "alpha", "retention.ms") == "123456"
        assert topic_setting(admin, "beta", "cleanup.policy") == "delete,compact"
        admin.create_topics([NewTopic("gamma", 2, 1)])["gamma"].result(30)
    after = with_controller(home, nothing)
    assert set(after.topics_by_name) == {"alpha", "beta", "gamma"}
    assert after.topics_by_name["alpha"].id == before.topics_by_name["alpha"].id
    assert after.features == before.features
    assert after.brokers[1].fenced

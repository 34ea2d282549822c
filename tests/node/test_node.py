"""A node's life: formatted, stopped in good order, started again, killed."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from ottla.broker.topics_on_demand import create_on_demand
from ottla.config import Settings
from ottla.config.load import single_node
from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.ids import LOST_DIRECTORY, new_uuid
from ottla.log.checkpoints import MetaProperties, read_meta_properties, write_meta_properties
from ottla.node.node import Node
from ottla.ports.network import own_name
from ottla.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from ottla.wire.record_batch import NewRecord, build_batch
from support.homes import CLUSTER_ID, free_port


def settings(path: Path, **options: str) -> Settings:
    static = single_node(("127.0.0.1", 0), path / "data")
    return Settings(static | {name.replace("_", "."): value for name, value in options.items()})


def append(node: Node, topic: str, value: bytes = b"v") -> int:
    leader = node.partitions.leader(topic, 0)
    record = NewRecord(int(time.time() * 1000), None, value)
    appended = leader.append(build_batch([record]), now=0.0, now_ms=int(time.time() * 1000))
    return appended.first_offset


def test_what_was_written_is_there_after_a_clean_stop(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        await create_on_demand(["t"], node.broker)
        epoch = node.registration.epoch
        append(node, "t")
        await node.stop()
        assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
        again = Node(settings(tmp_path))
        await again.start()
        assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists()
        assert again.registration.epoch > epoch
        assert append(again, "t") == 1
        await again.stop()

    uvloop.run(scenario())


def test_the_directory_comes_with_a_file_that_names_the_ports_it_really_had(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        text = (tmp_path / "data" / "server.properties").read_text()
        assert f"PLAINTEXT://127.0.0.1:{node.advertised[0].port}" in text
        await node.stop()

    uvloop.run(scenario())


def test_a_node_on_all_interfaces_is_known_by_the_name_of_its_host(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path, listeners="PLAINTEXT://:0,CONTROLLER://0.0.0.0:0"))
        await node.start()
        image = node.publisher.image
        while not image.controllers:
            await asyncio.sleep(0.01)
            image = node.publisher.image
        (voter,) = node.quorum._machine.member.voters
        hosts = [
            node.advertised[0].host,
            *(each.host for each in image.brokers[1].listeners),
            *(each.host for each in image.controllers[1].listeners),
            *(each.host for each in voter.endpoints),
        ]
        assert hosts == [own_name()] * 4
        await node.stop()

    uvloop.run(scenario())


def test_a_second_node_cannot_use_the_directory(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        with pytest.raises(OttlaError, match="in use by another broker"):
            await Node(settings(tmp_path)).start()
        await node.stop()

    uvloop.run(scenario())


def test_a_directory_of_another_node_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        await node.stop()
        with pytest.raises(OttlaError, match="belongs to node 1, not to 2"):
            await Node(settings(tmp_path, node_id="2")).start()

    uvloop.run(scenario())


def test_a_port_in_use_is_told_in_a_sentence(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path / "a"))
        await node.start()
        taken = ("127.0.0.1", node.advertised[0].port)
        with pytest.raises(OttlaError, match="Choose another port"):
            await Node(Settings(single_node(taken, tmp_path / "b"))).start()
        await node.stop()

    uvloop.run(scenario())


def test_several_directories_share_the_partitions(tmp_path: Path) -> None:
    async def scenario() -> None:
        directories = f"{tmp_path / 'a'},{tmp_path / 'b'}"
        node = Node(settings(tmp_path, log_dirs=directories))
        await node.start()
        await create_on_demand(["t", "u", "v", "w"], node.broker)
        assert {len(directory.logs) for directory in node.directories} == {2}
        await node.stop()

    uvloop.run(scenario())


def identity_in(directory: Path) -> MetaProperties:
    found = read_meta_properties(directory)
    assert found is not None
    return found


def test_a_metadata_directory_of_its_own_is_locked_formatted_and_found_again(
    tmp_path: Path,
) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"

    async def scenario() -> None:
        node = Node(settings(tmp_path, metadata_log_dir=str(metadata)))
        await node.start()
        with pytest.raises(OttlaError, match="metadata is in use by another broker"):
            await Node(settings(tmp_path / "b", metadata_log_dir=str(metadata))).start()
        await create_on_demand(["t"], node.broker)
        append(node, "t")
        await node.stop()
        assert identity_in(data).cluster_id == identity_in(metadata).cluster_id
        assert identity_in(data).directory_id != identity_in(metadata).directory_id
        assert (metadata / "bootstrap.checkpoint").exists()
        assert not (metadata / ".kafka_cleanshutdown").exists()
        again = Node(settings(tmp_path, metadata_log_dir=str(metadata)))
        await again.start()
        assert again.quorum.config.directory_id == identity_in(metadata).directory_id
        assert again.broker.image.brokers[1].directories == (identity_in(data).directory_id,)
        assert append(again, "t") == 1
        await again.stop()

    uvloop.run(scenario())


def test_directories_that_were_formatted_elsewhere_keep_their_own_ids(tmp_path: Path) -> None:
    data, metadata = tmp_path / "data", tmp_path / "metadata"
    for directory in (data, metadata):
        directory.mkdir()
        write_meta_properties(directory, MetaProperties(1, CLUSTER_ID, new_uuid()))
    before = identity_in(data), identity_in(metadata)

    async def scenario() -> None:
        port = free_port()
        node = Node(
            settings(
                tmp_path,
                metadata_log_dir=str(metadata),
                listeners=f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}",
                controller_quorum_voters=f"1@127.0.0.1:{port}",
            )
        )
        await node.start()
        assert node.quorum.config.directory_id == before[1].directory_id
        assert node.broker.image.brokers[1].directories == (before[0].directory_id,)
        await node.stop()
        assert (identity_in(data), identity_in(metadata)) == before

    uvloop.run(scenario())


def unmount(directory: Path) -> None:
    directory.rename(directory.with_name("away"))
    directory.write_text("no directory")


def mount(directory: Path) -> None:
    directory.unlink()
    directory.with_name("away").rename(directory)


def make_unreadable(directory: Path) -> None:
    (directory / ".kafka_cleanshutdown").unlink()
    (directory / ".kafka_cleanshutdown").mkdir()


def make_readable(directory: Path) -> None:
    (directory / ".kafka_cleanshutdown").rmdir()


@pytest.mark.parametrize(
    ("die", "heal"),
    [(unmount, mount), (make_unreadable, make_readable)],
    ids=["gone", "unreadable"],
)
def test_a_dead_log_directory_takes_only_its_own_partitions_offline(
    tmp_path: Path, die: Callable[[Path], None], heal: Callable[[Path], None]
) -> None:
    dead = tmp_path / "b"
    options = settings(tmp_path, log_dirs=f"{tmp_path / 'a'},{dead}")

    async def scenario() -> None:
        node = Node(options)
        await node.start()
        await create_on_demand(["t", "u", "v", "w"], node.broker)
        for topic in "tuvw":
            append(node, topic)
        lost = [topic for topic, _ in node.directories[1].logs]
        await node.stop()
        die(dead)

        crippled = Node(options)
        await crippled.start()
        here = identity_in(tmp_path / "a").directory_id
        assert crippled.broker.image.brokers[1].directories == (here,)
        for topic in set("tuvw").difference(lost):
            assert append(crippled, topic) == 1
        for topic in lost:
            with pytest.raises(KafkaError) as refused:
                crippled.partitions.leader(topic, 0)
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
            assert not (tmp_path / "a" / f"{topic}-0").exists()
        await until(lambda: all(is_lost(crippled, topic) for topic in lost))
        await create_on_demand(["x"], crippled.broker)
        assert append(crippled, "x") == 0
        await crippled.stop()

        heal(dead)
        whole = Node(options)
        await whole.start()
        await until(lambda: not any(is_lost(whole, topic) for topic in lost))
        for topic in lost:
            assert append(whole, topic) == 1
        await whole.stop()

    uvloop.run(scenario())


@pytest.mark.parametrize(
    ("dead", "why"),
    [(("a",), "the metadata log lies there"), (("data", "b"), "No directory in log.dirs")],
)
def test_a_node_without_a_directory_that_it_needs_says_so(
    tmp_path: Path, dead: tuple[str, ...], why: str
) -> None:
    for name in dead:
        (tmp_path / name).write_text("no directory")
    directories = f"{tmp_path / 'data'},{tmp_path / 'b'}"
    node = Node(settings(tmp_path, log_dirs=directories, metadata_log_dir=str(tmp_path / "a")))
    with pytest.raises(OttlaError, match=why):
        uvloop.run(node.start())


def is_lost(node: Node, topic: str) -> bool:
    """As the controller knows it."""
    return node.broker.image.topics_by_name[topic].partitions[0].directory(1) == LOST_DIRECTORY


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_log_that_cannot_be_opened_keeps_no_other_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        await create_on_demand(["broken", "whole"], node.broker)
        append(node, "broken")
        append(node, "whole")
        await node.stop()
        (tmp_path / "data" / "broken-0" / "partition.metadata").write_bytes(b"topic_id: \xff")
        again = Node(settings(tmp_path))
        await again.start()
        assert append(again, "whole") == 1
        with pytest.raises(KafkaError) as refused:
            again.partitions.leader("broken", 0)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert (tmp_path / "data" / "broken-0").exists()
        await again.controller.delete_topics(
            DeleteTopicsRequest(topics=[DeleteTopicState(name="broken")])
        )
        assert not (tmp_path / "data" / "broken-0").exists()
        await again.stop()

    uvloop.run(scenario())

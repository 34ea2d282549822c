"""The directories of a node: the metadata's own, dead ones, cordoned ones."""

from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.ids import LOST_DIRECTORY
from ottla.log.checkpoints import MetaProperties, read_meta_properties, write_meta_properties
from ottla.node.node import Node
from support.homes import CLUSTER_ID, free_port
from support.ids import new_uuid
from support.nodes import alter_own, append, make_topics, settings, until


def test_a_cordoned_directory_gets_nothing_new(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"

    async def scenario() -> None:
        node = Node(settings(tmp_path, log_dirs=f"{a},{b}", cordoned_log_dirs=str(a)))
        await node.start()
        await make_topics(node, "t", "u")
        assert [len(directory.logs) for directory in node.directories] == [0, 2]
        assert node.publisher.image.brokers[1].cordoned == (identity_in(a).directory_id,)
        await alter_own(node, "cordoned.log.dirs", "*")
        await until(lambda: not node.publisher.image.brokers[1].takes_new_replicas)
        refused = await make_topics(node, "v")
        assert refused == {"v": ErrorCode.INVALID_REPLICATION_FACTOR}
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
        await make_topics(node, "t")
        append(node, "t")
        await node.stop()
        assert identity_in(data).cluster_id == identity_in(metadata).cluster_id
        assert identity_in(data).directory_id != identity_in(metadata).directory_id
        assert (metadata / "bootstrap.checkpoint").exists()
        assert not (metadata / ".kafka_cleanshutdown").exists()
        again = Node(settings(tmp_path, metadata_log_dir=str(metadata)))
        await again.start()
        assert again.quorum.config.directory_id == identity_in(metadata).directory_id
        assert again.publisher.image.brokers[1].directories == (identity_in(data).directory_id,)
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
        assert node.publisher.image.brokers[1].directories == (before[0].directory_id,)
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
        await make_topics(node, "t", "u", "v", "w")
        for topic in "tuvw":
            append(node, topic)
        lost = [topic for topic, _ in node.directories[1].logs]
        await node.stop()
        die(dead)

        crippled = Node(options)
        await crippled.start()
        here = identity_in(tmp_path / "a").directory_id
        assert crippled.publisher.image.brokers[1].directories == (here,)
        for topic in set("tuvw").difference(lost):
            assert append(crippled, topic) == 1
        for topic in lost:
            with pytest.raises(KafkaError) as refused:
                crippled.partitions.leader(topic, 0)
            assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
            assert not (tmp_path / "a" / f"{topic}-0").exists()
        await until(lambda: all(is_lost(crippled, topic) for topic in lost))
        await make_topics(crippled, "x")
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
    return node.publisher.image.topics_by_name[topic].partitions[0].directory(1) == LOST_DIRECTORY

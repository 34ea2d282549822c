"""A node's life: formatted, stopped in good order, started again, killed."""

import asyncio
from pathlib import Path

import pytest
import uvloop

from ottla.config import Settings
from ottla.config.load import single_node
from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.node import formatting
from ottla.node.node import Node
from ottla.ports.network import free_ports, own_name
from ottla.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from support.nodes import append, make_topics, settings


def test_what_was_written_is_there_after_a_clean_stop(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        await make_topics(node, "t")
        epoch = epoch_of(node)
        append(node, "t")
        await node.stop()
        assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
        again = Node(settings(tmp_path))
        await again.start()
        assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists()
        assert epoch_of(again) > epoch
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


def test_a_node_on_all_of_ipv6_answers_on_ipv4_too(tmp_path: Path) -> None:
    async def scenario() -> None:
        (port,) = free_ports(1)
        listeners = f"PLAINTEXT://[::]:{port},CONTROLLER://127.0.0.1:0"
        node = Node(settings(tmp_path, listeners=listeners))
        await node.start()
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        text = (tmp_path / "data" / "server.properties").read_text()
        assert f"PLAINTEXT://[::]:{port}" in text
        await node.stop()

    uvloop.run(scenario())


@pytest.mark.parametrize("at", ["write_durably", "format_dynamic", "write_meta_properties"])
def test_a_first_start_that_was_cut_short_is_made_up_for_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    async def scenario() -> None:
        given = settings(tmp_path, log_dirs=f"{tmp_path / 'a'},{tmp_path / 'b'}")
        with monkeypatch.context() as patched:
            patched.setattr(formatting, at, full)
            node = Node(given)
            with pytest.raises(OttlaError, match="No space left on device"):
                await node.start()
            node.log_directories.unlock()
            for server in node.servers:
                await server.close()
        again = Node(given)
        await again.start()
        await make_topics(again, "t")
        assert append(again, "t") == 0
        await again.stop()

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
        await make_topics(node, "t", "u", "v", "w")
        assert {len(directory.logs) for directory in node.directories} == {2}
        await node.stop()

    uvloop.run(scenario())


def test_a_log_that_cannot_be_opened_keeps_no_other_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = Node(settings(tmp_path))
        await node.start()
        await make_topics(node, "broken", "whole")
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


def epoch_of(node: Node) -> int:
    assert node.broker is not None
    return node.broker.registration.epoch

"""The folders and files of a cluster for development."""

from pathlib import Path

import pytest

from ottla.cli.local_cluster import lay_out
from ottla.config import Settings
from ottla.config.load import load
from ottla.errors import OttlaError


def loaded(files: list[Path]) -> list[Settings]:
    return [load(file).settings for file in files]


def test_three_nodes_form_one_quorum(tmp_path: Path) -> None:
    nodes = loaded(lay_out(tmp_path, None, None))
    assert [node.topology.node_id for node in nodes] == [1, 2, 3]
    assert len({node.topology.voters for node in nodes}) == 1
    assert all(
        voter.port == node.topology.controller_listeners[0].port
        for node, voter in zip(nodes, nodes[0].topology.voters, strict=True)
    )
    assert {node.int("default.replication.factor") for node in nodes} == {3}


def test_the_files_are_the_memory(tmp_path: Path) -> None:
    first = [file.read_text() for file in lay_out(tmp_path, 2, None)]
    again = [file.read_text() for file in lay_out(tmp_path, None, None)]
    assert again == first


def test_nodes_that_come_later_are_brokers_of_the_same_quorum(tmp_path: Path) -> None:
    lay_out(tmp_path, 3, None)
    nodes = loaded(lay_out(tmp_path, 5, None))
    assert [node.topology.is_controller for node in nodes] == [True, True, True, False, False]
    assert len({node.topology.voters for node in nodes}) == 1


def test_ports_count_on_from_the_one_that_is_given(tmp_path: Path) -> None:
    nodes = loaded(lay_out(tmp_path, 3, 9092))
    assert [node.topology.listeners[0].port for node in nodes] == [9092, 9093, 9094]


def test_a_cluster_does_not_lose_nodes_by_a_smaller_number(tmp_path: Path) -> None:
    lay_out(tmp_path, 3, None)
    with pytest.raises(OttlaError, match="holds 3 nodes, not 2"):
        lay_out(tmp_path, 2, None)

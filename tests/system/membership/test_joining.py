"""A voter finds out which cluster it belongs to, or ends with a sentence."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ottla.membership.joining import in_another_cluster
from support.brokers import BrokerProcess
from support.confluent import wait_until
from support.homes import CLUSTER_ID, Home, free_port
from support.wire import Connection
from system.cli.test_format import ottla_format

OTHER_ID = "MvDxzVmcRsaTz33bUuRU6A"
END_SECONDS_MAX = 30


def homes(path: Path, count: int = 3) -> list[Home]:
    ports = [free_port() for _ in range(count)]
    voters = ",".join(f"{n}@127.0.0.1:{port}" for n, port in enumerate(ports, 1))
    return [
        Home(
            path=path / f"node{n}",
            controller_port=port,
            settings={"node.id": str(n), "controller.quorum.voters": voters},
        )
        for n, port in enumerate(ports, 1)
    ]


@contextmanager
def nodes(path: Path) -> Iterator[list[BrokerProcess]]:
    made = [BrokerProcess("ottla", home) for home in homes(path)]
    try:
        yield made
    finally:
        for node in made:
            node.discard()


def format_as(node: BrokerProcess, cluster_id: str) -> None:
    code, said = ottla_format(node.home.write_properties(), cluster_id=cluster_id)
    assert code == 0, said


def cluster_id(node: BrokerProcess) -> str:
    with Connection(node.bootstrap) as connection:
        return str(connection.ask("metadata", 12, topics=[]).cluster_id)


def test_a_voter_with_an_empty_directory_takes_the_id_of_the_others(tmp_path: Path) -> None:
    with nodes(tmp_path) as (first, second, third):
        for node in (first, second):
            format_as(node, CLUSTER_ID)
            node.launch()
        wait_until(lambda: first.serves() and second.serves(), 40)
        third.start()
        assert cluster_id(third) == CLUSTER_ID


def test_a_voter_of_another_cluster_ends_and_names_both(tmp_path: Path) -> None:
    with nodes(tmp_path) as (first, second, third):
        for node, name in ((first, CLUSTER_ID), (second, CLUSTER_ID), (third, OTHER_ID)):
            format_as(node, name)
            node.launch()
        assert third.process is not None
        assert third.process.wait(END_SECONDS_MAX) == 1
        said = third.tail()
        for part in (CLUSTER_ID, OTHER_ID, str(third.home.data[0])):
            assert part in said
        wait_until(lambda: first.serves() and second.serves(), 40)


def test_new_voters_agree_without_being_told(tmp_path: Path) -> None:
    with nodes(tmp_path) as made:
        for node in made:
            node.launch()
        wait_until(lambda: all(node.serves() for node in made), 40)
        assert len({cluster_id(node) for node in made}) == 1


A, B, C = ("a", 1), ("b", 2), ("c", 3)


@pytest.mark.parametrize(
    ("said", "others"),
    [
        ({}, None),
        ({B: "own", C: "own"}, None),
        ({B: "own", C: "else"}, None),  # that one is the stranger
        ({B: "else"}, None),  # the third may be of ours
        ({B: "else", C: "else"}, {B: "else", C: "else"}),
        ({B: "one", C: "two"}, {B: "one", C: "two"}),
    ],
)
def test_only_who_cannot_have_a_majority_is_in_another_cluster(
    said: dict[tuple[str, int], str], others: dict[tuple[str, int], str] | None
) -> None:
    assert in_another_cluster("own", [A, B, C], said) == others

"""Transactions right after one another, as the Java client and franz-go run them.

The next transaction begins while the markers of the last one are still being written: that is
where a coordinator and the leaders must not mistake one for the other. Every transaction commits,
and what is read committed is just what was committed, in order.
"""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from support.brokers import Kind
from support.clusters import Cluster, cluster_of
from support.confluent import create_topic, read
from support.toolbox import Toolbox
from support.wire import Connection

pytestmark = [pytest.mark.timeout(400)]

USUAL, LONG = 60, 200
TRANSACTION = 1  # FindCoordinator's key type
PARTITIONS = [6, 20]
SHAPES = ["plain", "offsets", "abort"]
Loop = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def trio(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster_of(3, tmp_path_factory.mktemp("trio"), kind=broker_kind) as cluster:
        yield cluster


@pytest.fixture
def java(toolbox: Toolbox) -> Loop:
    def loop(bootstrap: str, name: str, partitions: int, count: int, shape: str) -> dict[str, Any]:
        seen: dict[str, Any] = toolbox.scenario(
            "transactionLoop",
            bootstrap,
            {"transactional.id": name},
            topic=name,
            group=name,
            partitions=partitions,
            count=count,
            shape=shape,
        )
        return seen

    return loop


@pytest.fixture
def franz(go_program: Path) -> Loop:
    def loop(bootstrap: str, name: str, partitions: int, count: int, shape: str) -> dict[str, Any]:
        command = ["franz-transaction-loop", bootstrap, name, str(partitions), str(count), shape]
        ran = subprocess.run(
            [go_program, *command],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, "OTTLA_PATIENCE": "290s"},
        )
        assert ran.returncode == 0, ran.stderr
        seen: dict[str, Any] = json.loads(ran.stdout)
        return seen

    return loop


def check_all_commit(
    loop: Loop, bootstrap: str, name: str, partitions: int, shape: str, count: int, replicas: int
) -> None:
    create_topic(bootstrap, name, partitions, replicas=replicas)
    assert loop(bootstrap, name, partitions, count, shape) == {"committed": count, "failures": {}}
    check_what_is_read(bootstrap, name, partitions, count)


def check_what_is_read(bootstrap: str, name: str, partitions: int, count: int) -> None:
    expected = [str(n) for n in range(count)]
    for partition in range(partitions):
        messages = read(
            bootstrap,
            name,
            count,
            partition=partition,
            config={"isolation.level": "read_committed"},
        )
        assert [(message.value() or b"").decode() for message in messages] == expected, partition


@pytest.mark.java
@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_java_commits_every_transaction_on_one_node(
    java: Loop, bootstrap: str, name: str, partitions: int, shape: str
) -> None:
    check_all_commit(java, bootstrap, name, partitions, shape, USUAL, replicas=1)


@pytest.mark.java
@pytest.mark.parametrize(("partitions", "shape"), [(6, "offsets"), (6, "abort"), (20, "plain")])
def test_java_commits_every_transaction_on_three_nodes(
    java: Loop, trio: Cluster, name: str, partitions: int, shape: str
) -> None:
    check_all_commit(java, trio.bootstrap, name, partitions, shape, USUAL, replicas=3)


@pytest.mark.foreign
@pytest.mark.parametrize(("partitions", "shape"), [(6, "plain"), (20, "abort")])
def test_franz_go_commits_every_transaction_on_one_node(
    franz: Loop, bootstrap: str, name: str, partitions: int, shape: str
) -> None:
    check_all_commit(franz, bootstrap, name, partitions, shape, USUAL, replicas=1)


@pytest.mark.foreign
@pytest.mark.parametrize(("partitions", "shape"), [(6, "plain"), (6, "abort")])
def test_franz_go_commits_every_transaction_on_three_nodes(
    franz: Loop, trio: Cluster, name: str, partitions: int, shape: str
) -> None:
    check_all_commit(franz, trio.bootstrap, name, partitions, shape, USUAL, replicas=3)


@pytest.mark.long
@pytest.mark.java
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("partitions", [1, *PARTITIONS])
@pytest.mark.parametrize("shape", SHAPES)
def test_java_commits_two_hundred(
    request: pytest.FixtureRequest, java: Loop, name: str, nodes: int, partitions: int, shape: str
) -> None:
    bootstrap = bootstrap_of(request, nodes)
    check_all_commit(java, bootstrap, name, partitions, shape, LONG, replicas=nodes)


@pytest.mark.long
@pytest.mark.foreign
@pytest.mark.parametrize("nodes", [1, 3])
@pytest.mark.parametrize("partitions", PARTITIONS)
@pytest.mark.parametrize("shape", ["plain", "abort"])
def test_franz_go_commits_two_hundred(
    request: pytest.FixtureRequest, franz: Loop, name: str, nodes: int, partitions: int, shape: str
) -> None:
    bootstrap = bootstrap_of(request, nodes)
    check_all_commit(franz, bootstrap, name, partitions, shape, LONG, replicas=nodes)


def bootstrap_of(request: pytest.FixtureRequest, nodes: int) -> str:
    if nodes == 1:
        alone: str = request.getfixturevalue("bootstrap")
        return alone
    cluster: Cluster = request.getfixturevalue("trio")
    return cluster.bootstrap


@pytest.mark.long
@pytest.mark.parametrize(
    "client",
    [
        pytest.param("java", marks=pytest.mark.java),
        pytest.param("franz", marks=pytest.mark.foreign),
    ],
)
@pytest.mark.parametrize("shape", ["plain", "abort"])
def test_every_transaction_commits_while_coordinators_are_killed(
    request: pytest.FixtureRequest, trio: Cluster, name: str, client: str, shape: str
) -> None:
    loop: Loop = request.getfixturevalue(client)
    create_topic(trio.bootstrap, name, 6, {"min.insync.replicas": "2"}, replicas=3)
    count = 2 * LONG
    with ThreadPoolExecutor(1) as thread:
        looping = thread.submit(loop, trio.bootstrap, name, 6, count, shape)
        while not wait([looping], timeout=2).done:
            kill_coordinator(trio, name)
    assert looping.result() == {"committed": count, "failures": {}}
    check_what_is_read(trio.bootstrap, name, 6, count)


def kill_coordinator(cluster: Cluster, name: str) -> None:
    """It is back, and in sync, before another is killed: a majority is always there."""
    victim = coordinator_of(cluster, name)
    if victim in cluster.nodes:
        cluster.nodes[victim].kill9()
        cluster.nodes[victim].start()
        cluster.await_in_sync(name, list(cluster.nodes))


def coordinator_of(cluster: Cluster, name: str) -> int:
    with Connection(cluster.alive()[0].bootstrap, timeout=10) as connection:
        found = connection.ask("find_coordinator", 3, key=name, key_type=TRANSACTION)
    return int(found.node_id)

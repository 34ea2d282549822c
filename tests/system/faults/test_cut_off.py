"""Cables between three nodes are cut, in both directions or in one: the majority serves on."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from support.clusters import Cluster, cluster_of
from support.confluent import wait_until
from support.load import HASTY, Load, create_replicated, under_load
from support.namespaces import Cables, cables
from support.wire import Connection

pytestmark = pytest.mark.timeout(300)

SHORT = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "4000",
}


class Cut:
    """Three nodes, and the cables between them."""

    def __init__(self, cluster: Cluster, laid: Cables) -> None:
        self.cluster = cluster
        self.cables = laid
        create_replicated(cluster, "orders")
        self.leader, _ = cluster.partition("orders")
        self.controller = cluster.active_controller()
        self.others = [node for node in cluster.nodes if node != self.leader]

    def make(self, name: str) -> None:
        match name:
            case "leader":
                self.cables.isolate(self.leader)
            case "controller":
                self.cables.isolate(self.controller)
            case "leader from controller":
                others = self.others if self.leader == self.controller else [self.controller]
                for other in others:
                    self.cables.cut(self.leader, other)
            case "leader from one follower":
                follower = next(one for one in self.others if one != self.controller)
                self.cables.cut(self.leader, follower)
            case "leader is not heard":
                for other in self.others:
                    self.cables.cut_one_way(self.leader, other)
            case "leader hears nobody":
                for other in self.others:
                    self.cables.cut_one_way(other, self.leader)

    def leader_seen_by_others(self) -> int:
        node = next(one for one in self.others if one != self.leader)
        with Connection(self.cluster.nodes[node].bootstrap, timeout=10) as connection:
            response = connection.ask("metadata", 1, topics=[{"name": "orders"}])
        return int(response.topics[0].partitions[0].leader_id)


CUTS = (
    "leader",
    "controller",
    "leader from controller",
    "leader from one follower",
    "leader is not heard",
    "leader hears nobody",
)


@pytest.fixture
def laid() -> Iterator[Cables]:
    with cables(3) as laid:
        yield laid


def survive(
    laid: Cables,
    path: Path,
    settings: dict[str, str],
    name: str,
    options: Mapping[str, object] = HASTY,
) -> None:
    with cluster_of(3, path, settings, places=laid.places) as cluster:
        cut = Cut(cluster, laid)

        def cut_and_heal(load: Load) -> None:
            cut.make(name)
            load.await_progress(90)
            if name == "leader":
                wait_until(lambda: cut.leader_seen_by_others() not in (cut.leader, -1), 40)
            laid.heal()
            cluster.await_in_sync("orders", [1, 2, 3])
            load.await_progress()

        under_load(cluster, "orders", cut_and_heal, options)


def test_a_leader_that_is_cut_off_is_replaced_and_comes_back(laid: Cables, tmp_path: Path) -> None:
    """Clients still reach it, and have time-outs of a minute: it sends them away itself."""
    survive(laid, tmp_path, SHORT, "leader", options={})


@pytest.mark.long
@pytest.mark.parametrize("name", CUTS)
def test_nothing_acknowledged_is_lost_by_a_cut(laid: Cables, tmp_path: Path, name: str) -> None:
    survive(laid, tmp_path, {}, name)

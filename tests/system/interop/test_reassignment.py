"""Apache Kafka's tool moves a partition under a throttle, and takes the throttle back."""

import json
from pathlib import Path

import pytest

from support.clusters import cluster_of
from support.confluent import produce
from support.moves import bytes_on, create_on
from support.toolbox import Ran, Toolbox

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

TOOLS = "org.apache.kafka.tools"
CONFIGS = "kafka.admin.ConfigCommand"
REASSIGN = f"{TOOLS}.reassign.ReassignPartitionsCommand"
SMALL_FETCHES = {"replica.fetch.max.bytes": "16384", "default.replication.factor": "1"}
THROTTLED = "replication.throttled"


def test_kafka_reassign_partitions_throttles_a_move(toolbox: Toolbox, tmp_path: Path) -> None:
    with cluster_of(2, tmp_path / "cluster", SMALL_FETCHES) as cluster:
        create_on(cluster, "orders", [1])
        small = {"batch.size": 8192, "linger.ms": 5}
        produce(cluster.bootstrap, "orders", [bytes(1000)] * 1000, config=small)
        move = {"topic": "orders", "partition": 0, "replicas": [2]}
        plan = tmp_path / "plan.json"
        plan.write_text(json.dumps({"version": 1, "partitions": [move]}))

        def run(tool: str, *args: str) -> Ran:
            return toolbox.run(tool, "--bootstrap-server", cluster.bootstrap, *args)

        def reassign(*args: str) -> str:
            return run(REASSIGN, "--reassignment-json-file", str(plan), *args).output

        def throttles() -> str:
            topics = run(CONFIGS, "--describe", "--entity-type", "topics").output
            return topics + run(CONFIGS, "--describe", "--entity-type", "brokers").output

        begun = reassign("--execute", "--throttle", "20000")
        assert "Successfully started partition reassignment for orders-0" in begun
        assert throttles().count(THROTTLED) >= 4
        assert "is still in progress" in reassign("--verify", "--preserve-throttles")
        assert bytes_on(cluster, 2, "orders") < 500_000

        reassign("--execute", "--additional", "--throttle", "100000000")
        cluster.await_in_sync("orders", [2])
        assert "is completed" in reassign("--verify")
        assert THROTTLED not in throttles()

"""Apache Kafka's tools move replicas between directories and tell where they are."""

import json
from pathlib import Path

import pytest

from support.brokers import Kind, running
from support.confluent import wait_until
from support.homes import Home
from support.log_dirs import TopicOnDisk
from support.toolbox import Toolbox

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

TOOLS = "org.apache.kafka.tools"


def test_kafka_reassign_partitions_and_kafka_log_dirs(
    broker_kind: Kind, toolbox: Toolbox, tmp_path: Path
) -> None:
    home = Home(path=tmp_path / "node", log_dirs=2)
    with running(broker_kind, home):
        topic = TopicOnDisk(home)
        topic.create()
        topic.write()
        target = topic.elsewhere()
        plan = tmp_path / "plan.json"
        move = {"topic": "t", "partition": 0, "replicas": [1], "log_dirs": [str(target)]}
        plan.write_text(json.dumps({"version": 1, "partitions": [move]}))
        server = ("--bootstrap-server", home.bootstrap)
        reassign = f"{TOOLS}.reassign.ReassignPartitionsCommand"
        options = (*server, "--reassignment-json-file", str(plan))
        rate = ("--replica-alter-log-dirs-throttle", "100000000")
        begun = toolbox.run(reassign, *options, "--execute", *rate)
        assert f"Successfully started moving log directory to {target}" in begun.output
        wait_until(lambda: topic.is_in(target))
        verified = toolbox.run(reassign, *options, "--verify").output
        assert "Reassignment of replica t-0-1 completed successfully" in verified
        listed = toolbox.run(
            f"{TOOLS}.LogDirsCommand", *server, "--describe", "--topic-list", "t"
        ).output
        told = json.loads(listed[listed.index("{") :])
        places = [one["logDir"] for one in told["brokers"][0]["logDirs"] if one["partitions"]]
        assert places == [str(target)]
        configs = toolbox.run(
            "kafka.admin.ConfigCommand", *server, "--describe", "--entity-type", "brokers"
        ).output
        assert "replica.alter.log.dirs" not in configs
        topic.check()

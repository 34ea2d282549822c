"""Apache Kafka's command-line tools, unchanged, against the broker."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from support.brokers import BrokerProcess
from support.confluent import create_topic, produce
from support.toolbox import Ran, Toolbox

pytestmark = pytest.mark.java

TOOLS = "org.apache.kafka.tools"
TOPICS = f"{TOOLS}.TopicCommand"
GROUPS = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"
CONSOLE_PRODUCER = f"{TOOLS}.ConsoleProducer"
CONSOLE_CONSUMER = f"{TOOLS}.consumer.ConsoleConsumer"


RunTool = Callable[..., Ran]


@pytest.fixture
def run(toolbox: Toolbox, bootstrap: str) -> RunTool:
    """Run a tool against the broker."""

    def run_tool(tool: str, *args: str, input: str = "") -> Ran:
        return toolbox.run(tool, "--bootstrap-server", bootstrap, *args, input=input)

    return run_tool


def test_kafka_topics_creates_lists_describes_alters_and_deletes(run: RunTool, name: str) -> None:
    made = run(
        TOPICS, "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=9999"
    )
    assert f"Created topic {name}." in made.output
    assert name in run(TOPICS, "--list").lines
    summary, *partitions = run(TOPICS, "--describe", "--topic", name).lines
    assert re.search(
        rf"Topic: {name}\tTopicId: \S{{22}}\tPartitionCount: 2\tReplicationFactor: 1\t"
        r"Configs: .*retention.ms=9999",
        summary,
    )
    assert [re.sub(r"\s+", " ", line).strip() for line in partitions] == [
        f"Topic: {name} Partition: {n} Leader: 1 Replicas: 1 Isr: 1 Elr: LastKnownElr:"
        for n in (0, 1)
    ]
    run(TOPICS, "--alter", "--topic", name, "--partitions", "5")
    assert len(run(TOPICS, "--describe", "--topic", name).lines) == 6
    run(TOPICS, "--delete", "--topic", name)


def test_kafka_topics_refuses_what_exists(
    toolbox: Toolbox, run: RunTool, bootstrap: str, name: str
) -> None:
    run(TOPICS, "--create", "--topic", name)
    again = toolbox.attempt(TOPICS, "--bootstrap-server", bootstrap, "--create", "--topic", name)
    assert again.exit == 1
    assert f"Topic '{name}' already exists" in again.output + again.errors


def test_the_console_tools_pass_records_through(run: RunTool, name: str) -> None:
    run(TOPICS, "--create", "--topic", name)
    run(
        CONSOLE_PRODUCER,
        "--topic",
        name,
        "--reader-property",
        "parse.key=true",
        "--reader-property",
        "key.separator=:",
        input="a:one\nb:two\nc:three\n",
    )
    read = run(
        CONSOLE_CONSUMER,
        "--topic",
        name,
        "--from-beginning",
        "--max-messages",
        "3",
        "--formatter-property",
        "print.key=true",
        "--formatter-property",
        "print.offset=true",
    )
    assert read.lines == ["Offset:0\ta\tone", "Offset:1\tb\ttwo", "Offset:2\tc\tthree"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_the_console_tools_understand_every_codec(run: RunTool, name: str, codec: str) -> None:
    run(TOPICS, "--create", "--topic", name)
    run(CONSOLE_PRODUCER, "--topic", name, "--compression-codec", codec, input="one\ntwo\n")
    read = run(CONSOLE_CONSUMER, "--topic", name, "--from-beginning", "--max-messages", "2")
    assert read.lines == ["one", "two"]


def test_kafka_consumer_groups_lists_describes_resets_and_deletes(
    run: RunTool, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    produce(bootstrap, name, [b"v"] * 10)
    run(
        CONSOLE_CONSUMER,
        "--topic",
        name,
        "--group",
        name,
        "--from-beginning",
        "--max-messages",
        "4",
    )
    assert name in run(GROUPS, "--list").lines
    row = run(GROUPS, "--describe", "--group", name).lines[-1].split()
    assert row[:6] == [name, name, "0", "4", "10", "6"] or row[:7] == [
        name, name, "0", "-", "4", "10", "6",
    ]  # fmt: skip
    state = run(GROUPS, "--describe", "--group", name, "--state").lines[-1].split()
    assert state[0] == name
    assert "Empty" in state
    reset = run(
        GROUPS, "--group", name, "--reset-offsets", "--to-offset", "2", "--topic", name, "--execute"
    )
    assert reset.lines[-1].split() == [name, name, "0", "2"]
    run(GROUPS, "--delete", "--group", name)
    assert name not in run(GROUPS, "--list").lines


def test_kafka_configs_alters_and_describes(run: RunTool, bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    topic = ("--entity-type", "topics", "--entity-name", name)
    run(
        CONFIGS,
        "--alter",
        *topic,
        "--add-config",
        "retention.ms=5000,cleanup.policy=[compact,delete]",
    )
    described = run(CONFIGS, "--describe", *topic).output
    assert "retention.ms=5000" in described
    assert "cleanup.policy=compact,delete" in described
    run(CONFIGS, "--alter", *topic, "--delete-config", "retention.ms")
    assert "retention.ms" not in run(CONFIGS, "--describe", *topic).output
    everything = run(
        CONFIGS, "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all"
    )
    assert "log.segment.bytes=1073741824" in everything.output


def test_kafka_get_offsets_tells_first_and_last(run: RunTool, bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name, partitions=2)
    produce(bootstrap, name, [b"v"] * 7, partition=1)
    offsets = f"{TOOLS}.GetOffsetShell"
    assert run(offsets, "--topic", name).lines == [f"{name}:0:0", f"{name}:1:7"]
    earliest = run(offsets, "--topic", name, "--time", "earliest")
    assert earliest.lines == [f"{name}:0:0", f"{name}:1:0"]


def test_kafka_delete_records_moves_the_start(
    run: RunTool, bootstrap: str, name: str, tmp_path: Path
) -> None:
    create_topic(bootstrap, name)
    produce(bootstrap, name, [b"v"] * 7)
    file = tmp_path / "offsets.json"
    file.write_text(
        json.dumps({"version": 1, "partitions": [{"topic": name, "partition": 0, "offset": 3}]})
    )
    deleted = run(f"{TOOLS}.DeleteRecordsCommand", "--offset-json-file", str(file))
    assert f"partition: {name}-0\tlow_watermark: 3" in deleted.output


def test_kafka_log_dirs_tells_sizes(
    run: RunTool, broker: BrokerProcess, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    produce(bootstrap, name, [b"v" * 1000])
    described = run(f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", name).lines[-1]
    [directory] = json.loads(described)["brokers"][0]["logDirs"]
    assert Path(directory["logDir"]) == broker.home.data[0]
    assert directory["error"] is None
    [partition] = directory["partitions"]
    assert partition["partition"] == f"{name}-0"
    assert partition["size"] > 1000


def test_kafka_metadata_quorum_tells_leader_and_lag(run: RunTool) -> None:
    quorum = f"{TOOLS}.MetadataQuorumCommand"
    status = dict(line.split(":", 1) for line in run(quorum, "describe", "--status").lines)
    assert status["LeaderId"].strip() == "1"
    assert int(status["HighWatermark"]) > 0
    assert status["MaxFollowerLag"].strip() == "0"
    replicas = run(quorum, "describe", "--replication").lines
    assert replicas[1].split()[0] == "1"
    assert replicas[1].split()[-1] == "Leader"


def test_kafka_cluster_and_features_and_api_versions(
    run: RunTool, toolbox: Toolbox, broker: BrokerProcess
) -> None:
    address = ("--bootstrap-server", broker.bootstrap)
    cluster = toolbox.run(f"{TOOLS}.ClusterTool", "cluster-id", *address)
    [line] = (broker.home.data[0] / "meta.properties").read_text().split("cluster.id=")[1:]
    assert cluster.output.strip() == f"Cluster ID: {line.split()[0]}"
    features = run(f"{TOOLS}.FeatureCommand", "describe").output
    assert re.search(r"Feature: metadata.version\s.*FinalizedVersionLevel: 4.3-IV0", features)
    assert re.search(r"Feature: transaction.version\s.*FinalizedVersionLevel: 2\s", features)
    versions = run(f"{TOOLS}.BrokerApiVersionsCommand").output
    assert "Produce(0): 0 to 13 [usable: 13]" in versions
    assert "Fetch(1): 4 to 18 [usable: 18]" in versions


def test_the_performance_tools_run_to_their_end(run: RunTool, bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    produced = run(
        f"{TOOLS}.ProducerPerformance",
        *("--topic", name, "--num-records", "5000", "--record-size", "100"),
        *("--throughput", "-1"),
    )
    assert produced.lines[-1].startswith("5000 records sent")
    consumed = run(f"{TOOLS}.ConsumerPerformance", *("--topic", name, "--num-records", "5000"))
    assert consumed.lines[-1].split(",")[4].strip() == "5000"


def test_kafka_dump_log_reads_the_files_on_disk(
    toolbox: Toolbox, broker: BrokerProcess, bootstrap: str, name: str
) -> None:
    create_topic(bootstrap, name)
    produce(bootstrap, name, [b"dumped"], config={"compression.codec": "lz4"})
    folder = broker.home.data[0] / f"{name}-0"
    dumped = toolbox.run(
        f"{TOOLS}.DumpLogSegments",
        *("--files", str(folder / "00000000000000000000.log")),
        *("--print-data-log", "--deep-iteration"),
    )
    assert "payload: dumped" in dumped.output
    assert "isvalid: true" in dumped.output
    metadata = broker.home.data[0] / "__cluster_metadata-0" / "00000000000000000000.log"
    decoded = toolbox.run(
        f"{TOOLS}.DumpLogSegments", "--cluster-metadata-decoder", "--files", str(metadata)
    )
    assert f'"name":"{name}"' in decoded.output
    assert '"type":"REGISTER_BROKER_RECORD"' in decoded.output

"""A story of settings and everything DescribeConfigs says in it, as text.

`python -m support.described_configs` (in `tests`, where Java is) has Apache Kafka tell it and
writes `conformance/golden/describe-configs.txt`. Answers are sorted by name, as Kafka's own order
is that of a hash table; what differs from run to run (ports, folders) is named instead.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.brokers import running
from support.confluent import wait_until
from support.homes import Home
from support.wire import Connection

GOLDEN = Path(__file__).parents[1] / "system" / "conformance" / "golden" / "describe-configs.txt"

TOPIC, BROKER, CLIENT_METRICS, GROUP = 2, 4, 16, 32
KINDS = {TOPIC: "topic", BROKER: "broker", CLIENT_METRICS: "client metrics", GROUP: "group"}

IN_THE_FILE = {
    "log.retention.hours": "100",
    "log.roll.ms": "3600000",
    "message.max.bytes": "2000000",
    "ssl.key.password": "in-the-file",
    "nobodys.setting": "in-the-file",
    "log.initial.task.delay.ms": "40000",
    "group.share.delivery.count.limit": "7",
    "offsets.retention.minutes": "20160",
}
SET_LATER: tuple[tuple[int, str, dict[str, str]], ...] = (
    (
        BROKER,
        "",
        {
            "log.retention.ms": "7200000",
            "message.max.bytes": "3000000",
            "log.cleaner.threads": "2",
            "somebodys.setting": "for-all",
            "log.segment.bytes": "2097152",
        },
    ),
    (
        BROKER,
        "1",
        {
            "leader.replication.throttled.rate": "1000000",
            "follower.replication.throttled.rate": "2000000",
            "replica.alter.log.dirs.io.max.bytes.per.second": "3000000",
            "log.cleaner.threads": "1",
            "listener.name.external.ssl.truststore.password": "for-one",
            "somebodys.setting": "for-one",
            "min.compaction.lag.ms": "5",
            "log.cleaner.min.compaction.lag.ms": "6",
        },
    ),
    (
        TOPIC,
        "t",
        {
            "retention.ms": "1000",
            "cleanup.policy": "compact,delete",
            "segment.bytes": "1048576",
            "leader.replication.throttled.replicas": "0:1",
            "compression.type": "zstd",
            "min.insync.replicas": "1",
        },
    ),
    (
        GROUP,
        "g",
        {
            "consumer.session.timeout.ms": "30000",
            "share.auto.offset.reset": "earliest",
            "share.isolation.level": "read_committed",
            "share.delivery.count.limit": "4",
            "streams.num.standby.replicas": "1",
        },
    ),
    (
        CLIENT_METRICS,
        "m",
        {
            "interval.ms": "5000",
            "metrics": "org.apache.kafka.producer.,org.apache.kafka.consumer.",
            "match": "client_id=a.*",
        },
    ),
)
ASKED = (
    (BROKER, "1"),
    (BROKER, ""),
    (TOPIC, "t"),
    (GROUP, "g"),
    (CLIENT_METRICS, "m"),
)


def transcript(home: Home) -> str:
    """What the broker on this home, which was made with `IN_THE_FILE`, says."""
    with Connection(home.bootstrap) as connection:
        text = "\n".join(_story(connection))
    text = text.replace(str(home.path), "HOME").replace(f":{home.controller_port}", ":CONTROLLER")
    return text.replace(f":{home.port}", ":PORT") + "\n"


def _story(connection: Connection) -> Iterator[str]:
    topic = {"name": "t", "num_partitions": 1, "replication_factor": 1}
    connection.ask("create_topics", 7, topics=[topic], timeout=10_000)
    wait_until(lambda: _described(connection, TOPIC, "t").error_code == 0)
    yield "# As the file says"
    for kind, name in ASKED:
        yield from _told(connection, kind, name)
    for kind, name, given in SET_LATER:
        _set(connection, kind, name, given)
    wait_until(lambda: all(_holds(connection, *one) for one in SET_LATER))
    yield "# After changes"
    for kind, name in ASKED:
        yield from _told(connection, kind, name)
    yield "# What can be asked about"
    listed = connection.ask("list_config_resources", 1, resource_types=[])
    for resource in sorted(
        listed.config_resources, key=lambda one: (one.resource_type, one.resource_name)
    ):
        if resource.resource_type != 8:
            yield f"{resource.resource_type} {resource.resource_name}"
    yield from (
        f"0: {one.resource_name}"
        for one in connection.ask("list_config_resources", 0).config_resources
    )


def _set(connection: Connection, kind: int, name: str, given: dict[str, str]) -> None:
    configs = [{"name": key, "value": value, "config_operation": 0} for key, value in given.items()]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    [reply] = connection.ask("incremental_alter_configs", 1, resources=[resource]).responses
    assert reply.error_code == 0, reply


def _holds(connection: Connection, kind: int, name: str, given: dict[str, str]) -> bool:
    """Kafka's brokers hear of a change a moment after it was answered."""
    told = {one.name: one.config_source for one in _described(connection, kind, name).configs}
    return all(told.get(key, 5) not in (4, 5) for key in given)


def _described(connection: Connection, kind: int, name: str) -> Any:
    asked = {"resource_type": kind, "resource_name": name, "configuration_keys": None}
    reply = connection.ask("describe_configs", 4, resources=[asked], include_synonyms=True)
    return reply.results[0]


def _told(connection: Connection, kind: int, name: str) -> Iterator[str]:
    result = _described(connection, kind, name)
    yield f"## {KINDS[kind]} {name!r}: {int(result.error_code)}"
    for one in sorted(result.configs, key=lambda one: one.name):
        flags = [
            text for text, is_so in (("ro", one.read_only), ("secret", one.is_sensitive)) if is_so
        ]
        same = "; ".join(f"{s.source} {s.name}={s.value}" for s in one.synonyms)
        facts = " ".join(map(str, (one.config_source, one.config_type, *flags)))
        yield f"{one.name}={one.value} | {facts} | {same}"


def record() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(path=Path(folder) / "node", settings=IN_THE_FILE)
        with running("kafka", home):
            GOLDEN.write_text(transcript(home))


if __name__ == "__main__":
    record()

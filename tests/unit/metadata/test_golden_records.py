"""Metadata that Apache Kafka 4.3.1 wrote, read and written again byte for byte.

The logs were made by one node that created, changed and deleted topics and settings, was stopped
and started: formatted with static voters (and killed once), `--standalone` with two directories,
and with ACLs, SCRAM credentials and quotas. The checkpoint is Kafka's snapshot of the third.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.errors import OttlaError
from ottla.metadata.features import activation_records, bootstrap_values, level_records
from ottla.metadata.image import CLUSTER_DEFAULTS, RECOVERING, ConfigResourceType
from ottla.metadata.publisher import Publisher
from ottla.metadata.records import (
    UnknownRecord,
    frame,
    frames,
    unframe,
    unframe_versioned,
    version_of,
)
from ottla.metadata.snapshot import refuse_access_rules, snapshot_values
from ottla.wire.record_batch import iterate_batches, iterate_records
from ottla.wire.records.metadata import RegisterBrokerRecord, RegisterControllerRecord

GOLDEN = Path(__file__).with_name("golden")
STATIC, STANDALONE, RULES = (
    "static-clean-killed-clean.log",
    "standalone-two-directories.log",
    "rules-and-quotas.log",
)
SNAPSHOT, SNAPSHOT_END = "rules-and-quotas-106.checkpoint", 106


def batches(name: str) -> Iterator[tuple[int, int, list[bytes]]]:
    """Base offset, epoch and values of each batch of records."""
    data = (GOLDEN / name).read_bytes()
    for position, header in iterate_batches(data):
        if not header.is_control:
            values = [record.value or b"" for record in iterate_records(data, position, header)]
            yield header.base_offset, header.leader_epoch, values


def replayed(name: str, end_offset: int | None = None) -> Publisher:
    publisher = Publisher()
    for base_offset, epoch, values in batches(name):
        if end_offset is None or base_offset < end_offset:
            publisher.committed(base_offset, epoch, values, 0)
    return publisher


@pytest.mark.parametrize("name", [STATIC, STANDALONE, RULES, SNAPSHOT, "bootstrap.checkpoint"])
def test_every_record_is_written_again_byte_for_byte(name: str) -> None:
    for _, _, values in batches(name):
        for value in values:
            record, version = unframe_versioned(value)
            assert not isinstance(record, UnknownRecord)
            assert version_of(record) == version
            assert frame(record) == value


def test_a_new_cluster_begins_as_kafka_begins_it() -> None:
    [(_, _, values)] = batches("bootstrap.checkpoint")
    assert bootstrap_values() == values
    _, _, first = next(batches(STATIC))
    assert frames(activation_records(level_records(), min_in_sync=1)) == first


def test_what_the_records_add_up_to() -> None:
    image = replayed(STATIC).image
    assert set(image.topics_by_name) == {"alpha", "beta"}
    assert len(image.topics_by_name["alpha"].partitions) == 5
    assert image.config(ConfigResourceType.TOPIC, "beta") == {"cleanup.policy": "delete,compact"}
    assert image.config(*CLUSTER_DEFAULTS)["message.max.bytes"] == "2000000"
    assert image.next_producer_id == 1000
    partition = image.topics_by_name["beta"].partitions[0]
    assert (partition.isr, partition.elr, partition.last_known_elr) == ((), (1,), (1,))
    assert partition.leader_recovery_state == RECOVERING
    assert partition.leader_epoch == 5
    assert image.brokers[1].fenced
    assert image.brokers[1].features["metadata.version"] == (7, 30)


def test_directories_are_assigned_where_there_are_several() -> None:
    image = replayed(STANDALONE).image
    directories = set(image.brokers[1].directories)
    assert len(directories) == 2
    for topic in image.topics_by_name.values():
        for partition in topic.partitions.values():
            assert set(partition.directories) <= directories


def normal(values: list[bytes]) -> list[bytes]:
    """Sorted, and the features of a registration as well: Kafka's order is that of a hash map."""
    records = [unframe(value) for value in values]
    for record in records:
        if isinstance(record, RegisterBrokerRecord | RegisterControllerRecord):
            record.features.sort(key=lambda feature: feature.name)
    return sorted(frames(records))


def test_a_snapshot_holds_what_kafkas_own_snapshot_holds() -> None:
    [(_, _, values)] = batches(SNAPSHOT)
    publisher = replayed(RULES, SNAPSHOT_END)
    assert publisher.image.offset == SNAPSHOT_END - 1
    ours = list(snapshot_values(publisher.image))
    assert normal(ours) == normal(values)
    loaded = Publisher()
    loaded.load_snapshot(values, SNAPSHOT_END, 2)
    assert normal(list(snapshot_values(loaded.image))) == normal(values)


def test_a_directory_with_access_rules_is_refused() -> None:
    refuse_access_rules(replayed(STATIC).image)
    with pytest.raises(OttlaError, match="1 access control rule"):
        refuse_access_rules(replayed(RULES).image)

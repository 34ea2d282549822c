"""A node and its metadata: directories told, snapshots written, access rules refused."""

import shutil
import subprocess
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from ottla.log.checkpoints import MetaProperties, read_meta_properties, write_meta_properties
from ottla.metadata.image import Image
from ottla.metadata.publisher import Publisher
from ottla.wire.record_batch import iterate_batches, iterate_records
from support.brokers import BrokerProcess, running
from support.homes import CLUSTER_ID, Home
from support.ids import new_uuid

LOG = "__cluster_metadata-0"
RULES = Path(__file__).parents[2] / "unit" / "metadata" / "golden" / "rules-and-quotas.log"


def image_of(directory: Path) -> Image:
    """What the metadata in a directory adds up to, from its newest snapshot on."""
    publisher = Publisher()
    start = 0
    for snapshot in sorted((directory / LOG).glob("*.checkpoint"))[-1:]:
        start = int(snapshot.name[:20])
        values = [value for _, batch in batches(snapshot) for value in batch]
        publisher.load_snapshot(values, start, 1)
    for file in sorted((directory / LOG).glob("*.log")):
        for base_offset, batch in batches(file):
            if base_offset >= start:
                publisher.committed(base_offset, 1, batch, 0)
    return publisher.image


def batches(file: Path) -> list[tuple[int, list[bytes]]]:
    data = file.read_bytes()
    return [
        (
            header.base_offset,
            [record.value or b"" for record in iterate_records(data, position, header)],
        )
        for position, header in iterate_batches(data)
        if not header.is_control
    ]


def test_a_node_with_several_directories_tells_where_it_puts_replicas(tmp_path: Path) -> None:
    home = Home(path=tmp_path / "node", log_dirs=2)
    with running("ottla", home) as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic("alpha", 4, 1)])["alpha"].result(30)
    lying = {}
    for directory in home.data:
        meta = read_meta_properties(directory)
        assert meta is not None
        for partition in directory.glob("alpha-*"):
            lying[int(partition.name.removeprefix("alpha-"))] = (meta.directory_id,)
    told = image_of(home.data[0]).topics_by_name["alpha"].partitions
    assert {index: partition.directories for index, partition in told.items()} == lying
    assert len(set(lying.values())) == 2


def test_a_node_starts_from_a_snapshot_of_its_own(home: Home) -> None:
    home = Home(
        path=home.path, settings={"metadata.log.max.record.bytes.between.snapshots": "2000"}
    )
    with running("ottla", home) as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        for name in ("alpha", "beta"):
            admin.create_topics([NewTopic(name, 20, 1)])[name].result(30)
    assert list((home.data[0] / LOG).glob("*.checkpoint"))
    with running("ottla", home) as node:
        topics = AdminClient({"bootstrap.servers": node.bootstrap}).list_topics(timeout=30).topics
        assert set(topics) == {"alpha", "beta"}
        assert {part.leader for part in topics["beta"].partitions.values()} == {1}


def test_a_directory_with_access_rules_is_refused_in_a_sentence(home: Home) -> None:
    log = home.data[0] / LOG
    log.mkdir(parents=True)
    write_meta_properties(home.data[0], MetaProperties(1, CLUSTER_ID, new_uuid()))
    shutil.copy(RULES, log / "00000000000000000000.log")
    command = BrokerProcess("ottla", home).command(home.write_properties())
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0
    assert "access control rule" in ended.stderr
    assert "Traceback" not in ended.stderr

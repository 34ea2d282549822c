"""Records of a streams group that Apache Kafka 4.3.1 wrote: we read, mean and write the same.

Topic `src` of 3 partitions flows through the repartition topic `g-rep` into a subtopology with a
changelog `g-chg`. Two members: `m1` has joined, `m2` has its tasks.
"""

import json
from pathlib import Path
from uuid import UUID

from ottla.coordination.machine import CoordinatorRecord, Instant
from ottla.coordination.records import decode_entry, encode_entry
from ottla.groups.limits import GroupLimits
from ottla.groups.machine import Groups
from ottla.groups.streams.group import StreamsGroup, StreamsMemberState
from ottla.groups.streams.topics import configure
from ottla.metadata.image import Image, PartitionRegistration, Topic

GOLDEN = Path(__file__).with_name("golden") / "streams_group.json"
TOPICS = {
    "src": "d2fe59c9-7ecd-4d9c-9567-53ca09f9ab87",
    "g-rep": "72e3c63a-3bbd-425b-86c0-492280427e50",
    "g-chg": "caff7c51-1699-403c-8f33-d6ae4d640854",
}


def golden() -> list[tuple[bytes, bytes]]:
    return [
        (bytes.fromhex(one["key"]), bytes.fromhex(one["value"]))
        for one in json.loads(GOLDEN.read_text())
    ]


def image() -> Image:
    image = Image()
    for name, topic_id in TOPICS.items():
        partitions = {i: PartitionRegistration(replicas=(1,), isr=(1,), leader=1) for i in range(3)}
        topic = Topic(UUID(topic_id).bytes, name, partitions)
        image.topics_by_id[topic.id] = image.topics_by_name[name] = topic
    return image


def loaded() -> StreamsGroup:
    groups = Groups(GroupLimits(), lambda: bytes(16), image)
    for key, value in golden():
        entry = decode_entry(key, value, Groups.RECORDS)
        assert entry is not None
        groups.replay(-1, -1, *entry)
    groups.loaded(Instant(0.0, 0))
    group = groups.groups["g"]
    assert isinstance(group, StreamsGroup)
    return group


def test_every_record_is_written_as_it_was_read() -> None:
    for key, value in golden():
        entry = decode_entry(key, value, Groups.RECORDS)
        assert entry is not None
        assert encode_entry(CoordinatorRecord(*entry), Groups.RECORDS) == (key, value)


def test_the_group_goes_on() -> None:
    group = loaded()
    assert (group.epoch, group.assignment_epoch, group.validated_epoch) == (3, 3, 0)
    assert group.state == "Reconciling"
    assert group.configs == {"num.standby.replicas": "0"}
    joined, settled = group.members["m1"], group.members["m2"]
    assert (joined.epoch, joined.endpoint, joined.process_id) == (1, ("h", 77), "p-m1")
    assert (settled.epoch, settled.state) == (3, StreamsMemberState.STABLE)
    assert settled.held == group.targets["m2"]
    assert settled.held.active == {("0", 0), ("0", 2), ("1", 1)}
    assert set(settled.since.values()) == {3}
    assert group.targets["m1"].active == {("0", 1), ("1", 0), ("1", 2)}


def test_the_topology_and_the_hash_of_its_topics_are_kafkas() -> None:
    group = loaded()
    assert group.topology is not None
    outcome = configure(group.topology, image())
    assert outcome.is_ready
    assert outcome.task_counts == {"0": 3, "1": 3}
    assert outcome.metadata_hash == group.metadata_hash

"""Records that Apache Kafka 4.3.1 wrote: we read them, mean the same, and write the same bytes.

Two classic groups (one static), three of the consumer protocol (two members, a static one with
the range assignor, one with a regular expression), topics `t` of 3 and `u` of 2 partitions.
"""

import json
from pathlib import Path

from ottla.coordination.machine import CoordinatorRecord, Instant
from ottla.coordination.records import decode_entry, encode_entry
from ottla.groups.classic.group import ClassicGroup, ClassicGroupState
from ottla.groups.consumer.group import ConsumerGroup
from ottla.groups.consumer.topics import metadata_hash
from ottla.groups.limits import GroupLimits
from ottla.groups.machine import Groups
from ottla.metadata.image import Image, PartitionRegistration, Topic

GOLDEN = Path(__file__).with_name("golden") / "consumer_offsets.json"
T = bytes.fromhex("f2f26c438bd048e8b74a1f351cb97c12")
U = bytes.fromhex("86323feb58cb455f8a5976707a398092")


def golden() -> list[tuple[bytes, bytes | None]]:
    return [
        (bytes.fromhex(one["key"]), None if one["value"] is None else bytes.fromhex(one["value"]))
        for one in json.loads(GOLDEN.read_text())
    ]


def image() -> Image:
    image = Image()
    for topic_id, name, count in ((T, "t", 3), (U, "u", 2)):
        partitions = {
            i: PartitionRegistration(replicas=(1,), isr=(1,), leader=1) for i in range(count)
        }
        topic = Topic(topic_id, name, partitions)
        image.topics_by_id[topic_id] = image.topics_by_name[name] = topic
    return image


def loaded() -> Groups:
    groups = Groups(GroupLimits(), lambda: bytes(16), image)
    for key, value in golden():
        entry = decode_entry(key, value, Groups.RECORDS)
        assert entry is not None
        groups.replay(-1, -1, *entry)
    groups.loaded(Instant(0.0, 0))
    return groups


def test_every_record_is_written_as_it_was_read() -> None:
    for key, value in golden():
        entry = decode_entry(key, value, Groups.RECORDS)
        assert entry is not None
        assert encode_entry(CoordinatorRecord(*entry), Groups.RECORDS) == (key, value)


def test_classic_groups_go_on() -> None:
    groups = loaded()
    group = groups.groups["classic-1"]
    assert isinstance(group, ClassicGroup)
    assert (group.state, group.generation, len(group.members)) == (ClassicGroupState.STABLE, 2, 2)
    assert group.subscribed_topics == frozenset({"t"})
    static = groups.groups["static-1"]
    assert isinstance(static, ClassicGroup)
    assert list(static.static_ids) == ["i1"]
    assert {place: c.offset for place, c in groups.offsets.of("static-1").items()} == {
        ("t", 0): 7,
        ("t", 1): 11,
        ("t", 2): 12,
    }


def test_consumer_groups_go_on() -> None:
    group = loaded().groups["modern-2"]
    assert isinstance(group, ConsumerGroup)
    (member,) = group.members.values()
    assert (group.epoch, group.assignment_epoch, member.epoch, group.state) == (2, 2, 2, "Stable")
    assert member.held == {T: {0: 2, 1: 2, 2: 2}}
    assert member.assignor == "range"


def test_the_hash_of_the_metadata_is_kafkas() -> None:
    groups = loaded()
    group = groups.groups["modern-1"]
    assert isinstance(group, ConsumerGroup)
    assert group.metadata_hash == metadata_hash(image(), ["t", "u"])
    other = groups.groups["modern-2"]
    assert isinstance(other, ConsumerGroup)
    assert other.metadata_hash == metadata_hash(image(), ["t"])
    assert metadata_hash(image(), ["unknown"]) == 0

"""What a classic group is subscribed to: what its members said when its generation began."""

from ottla.groups.classic.group import ClassicGroup
from ottla.groups.classic.records import apply
from ottla.wire.records.classic_groups import GroupMetadataValue, MemberMetadata


def subscription(topic: str) -> bytes:
    name = topic.encode()
    return b"\0\0" + (1).to_bytes(4, "big") + len(name).to_bytes(2, "big") + name + b"\xff" * 4


def written(generation: int, topic: str) -> GroupMetadataValue:
    member = MemberMetadata(
        member_id="m", group_instance_id="one", subscription=subscription(topic)
    )
    return GroupMetadataValue(
        protocol_type="consumer",
        generation=generation,
        protocol="range",
        leader="m",
        members=[member],
    )


def test_a_static_member_that_comes_back_with_another_waits_for_the_next_generation() -> None:
    group = ClassicGroup("g")
    apply(group, written(1, "old"))
    group.members["m"].protocols = [("range", subscription("new"))]  # it is back
    apply(group, written(1, "new"))
    assert group.is_subscribed_to("old")
    assert not group.is_subscribed_to("new")
    apply(group, written(2, "new"))
    assert group.is_subscribed_to("new")


def test_whoever_reads_the_log_knows_the_last_record_only() -> None:
    group = ClassicGroup("g")
    apply(group, written(1, "old"))
    apply(group, written(1, "new"))
    assert group.subscribed_topics == frozenset({"new"})

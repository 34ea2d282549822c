"""Offsets of share groups, request by request: described, altered, deleted, and who keeps them."""

import uuid
from typing import Any

from kio.schema.errors import ErrorCode

from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic
from system.conformance.share_member import ACCEPT, JoinShareGroup, fill


def describe(connection: Connection, group: str, topics: Any) -> Any:
    asked = [{"group_id": group, "topics": topics}]
    reply = connection.ask("describe_share_group_offsets", 1, groups=asked)
    (found,) = reply.groups
    assert found.error_code == ErrorCode.none
    return [
        (part.partition_index, part.start_offset, part.lag, part.leader_epoch, part.error_code)
        for topic in found.topics
        for part in topic.partitions
    ]


def test_offsets_of_unknown_groups_topics_and_partitions_are_not_refused(
    make_raw_topic: MakeRawTopic, connection: Connection, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    join(topic)  # somebody has used share groups before
    nothing = [(0, -1, -1, 0, ErrorCode.none)]
    asked = [{"topic_name": topic.name, "partitions": [0]}]
    assert describe(connection, "nobody", asked) == nothing
    assert describe(connection, "nobody", None) == []
    assert (
        describe(connection, "nobody", [{"topic_name": "no-topic", "partitions": [0]}]) == nothing
    )


def test_offsets_tell_what_was_written_with_the_last_answer(
    make_raw_topic: MakeRawTopic, connection: Connection, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill(topic, 4)
    member = join(topic)
    asked = [{"topic_name": topic.name, "partitions": [0]}]
    assert describe(connection, member.group, asked) == [(0, -1, -1, 0, ErrorCode.none)]
    member.take([0])
    assert describe(connection, member.group, asked) == [(0, -1, -1, 0, ErrorCode.none)]
    member.answer({0: [(0, 1, [ACCEPT])]})
    assert describe(connection, member.group, asked) == [(0, 0, 2, 0, ErrorCode.none)]
    member.answer({0: [(2, 2, [ACCEPT])]})
    assert describe(connection, member.group, asked) == [(0, 2, 1, 0, ErrorCode.none)]
    assert describe(connection, member.group, None) == [(0, 2, 1, 0, ErrorCode.none)]


def test_offsets_are_deleted_and_altered_while_nobody_is_in_the_group(
    make_raw_topic: MakeRawTopic, connection: Connection, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill(topic, 4)
    member = join(topic)
    group = member.group

    def alter(name: str, index: int, group: str = group) -> Any:
        part = {"partition_index": index, "start_offset": 2}
        wanted = [{"topic_name": name, "partitions": [part]}]
        return connection.ask("alter_share_group_offsets", 0, group_id=group, topics=wanted)

    def delete(*names: str, group: str = group) -> Any:
        topics = [{"topic_name": name} for name in names]
        return connection.ask("delete_share_group_offsets", 0, group_id=group, topics=topics)

    assert alter(topic.name, 0).error_code == ErrorCode.non_empty_group
    assert delete(topic.name).error_code == ErrorCode.non_empty_group
    assert delete(topic.name, group="nobody").error_code == ErrorCode.group_id_not_found
    assert alter(topic.name, 0, group="").error_code == ErrorCode.invalid_group_id
    member.leave()
    unknown = ErrorCode.unknown_topic_or_partition
    assert alter("no-topic", 0).responses[0].partitions[0].error_code == unknown
    assert alter(topic.name, 7).responses[0].partitions[0].error_code == unknown
    assert alter(topic.name, 0).responses[0].partitions[0].error_code == ErrorCode.none
    assert describe(connection, group, None) == [(0, 2, 2, 0, ErrorCode.none)]
    reply = delete("no-topic", topic.name)
    assert {one.topic_name: one.error_code for one in reply.responses} == {
        "no-topic": unknown,
        topic.name: ErrorCode.none,
    }
    assert [one.error_code for one in delete(topic.name).responses] == [unknown]
    assert describe(connection, group, None) == []


def test_a_group_of_which_only_unknown_partitions_were_altered_has_no_offsets(
    make_raw_topic: MakeRawTopic, connection: Connection, join: JoinShareGroup
) -> None:
    topic, other = make_raw_topic(), make_raw_topic()
    join(topic)  # somebody has used share groups before
    group = f"share-{uuid.uuid4().hex[:10]}"

    def alter(*wanted: tuple[str, int]) -> None:
        topics = [
            {"topic_name": name, "partitions": [{"partition_index": index, "start_offset": 0}]}
            for name, index in wanted
        ]
        connection.ask("alter_share_group_offsets", 0, group_id=group, topics=topics)

    def topics_told() -> list[str]:
        groups = [{"group_id": group, "topics": None}]
        reply = connection.ask("describe_share_group_offsets", 1, groups=groups)
        return [one.topic_name for one in reply.groups[0].topics]

    alter((topic.name, 7))
    assert topics_told() == []
    alter((topic.name, 7), (other.name, 0))
    assert topics_told() == [other.name]


def test_a_coordinator_is_found_only_by_the_key_of_a_share_partition(
    connection: Connection,
) -> None:
    for key in ("g", "g:t:0", f"g:{'A' * 22}:x", f" :{'A' * 22}:0", f"g:{'A' * 21}*:0"):
        reply = connection.ask("find_coordinator", 6, key_type=2, coordinator_keys=[key])
        assert reply.coordinators[0].error_code == ErrorCode.invalid_request, key

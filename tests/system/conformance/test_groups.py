"""The group APIs: coordinators, members, generations and commits out of turn."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.confluent import wait_until
from support.wire import Connection
from system.conformance.raw_topics import RawTopic


def join(connection: Connection, group: str, **fields: Any) -> Any:
    protocols = [{"name": "range", "metadata": b"\0\1\0\0\0\0\0\0\0\0"}]
    return connection.ask(
        "join_group",
        9,
        **{
            "group_id": group,
            "session_timeout": 10_000,
            "rebalance_timeout": 10_000,
            "protocol_type": "consumer",
            "protocols": protocols,
            **fields,
        },
    )


def joined(connection: Connection, group: str) -> tuple[str, int]:
    """A member that leads a stable group of one: its id and generation."""
    first = join(connection, group)
    assert first.error_code == ErrorCode.member_id_required
    second = join(connection, group, member_id=first.member_id)
    assert second.error_code == ErrorCode.none
    synced = connection.ask(
        "sync_group",
        5,
        group_id=group,
        generation_id=second.generation_id,
        member_id=second.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[{"member_id": second.member_id, "assignment": b"mine"}],
    )
    assert (synced.error_code, synced.assignment) == (ErrorCode.none, b"mine")
    return second.member_id, second.generation_id


def test_coordinators_are_found_for_many_groups_at_once(
    connection: Connection, group: str, bootstrap: str
) -> None:
    reply = connection.ask("find_coordinator", 4, key_type=0, coordinator_keys=[group, "other"])
    found = [(c.key, c.error_code, c.node_id, f"{c.host}:{c.port}") for c in reply.coordinators]
    assert found == [
        (group, ErrorCode.none, 1, bootstrap),
        ("other", ErrorCode.none, 1, bootstrap),
    ]


def test_the_leader_of_a_new_generation_sees_its_members(
    connection: Connection, group: str
) -> None:
    first = join(connection, group)
    second = join(connection, group, member_id=first.member_id)
    assert (second.generation_id, second.leader) == (1, first.member_id)
    assert [m.member_id for m in second.members] == [first.member_id]
    assert (second.protocol_type, second.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, ErrorCode.invalid_group_id),
        ({"session_timeout": 1}, ErrorCode.invalid_session_timeout),
        ({"session_timeout": 99_999_999}, ErrorCode.invalid_session_timeout),
        ({"member_id": "nobody"}, ErrorCode.unknown_member_id),
        ({"protocols": [], "member_id": ""}, ErrorCode.inconsistent_group_protocol),
        ({"protocol_type": ""}, ErrorCode.inconsistent_group_protocol),
    ],
    ids=lambda value: "" if isinstance(value, ErrorCode) else "-".join(value),
)
def test_a_bad_join_is_refused(
    connection: Connection, group: str, fields: dict[str, Any], error: ErrorCode
) -> None:
    assert join(connection, group, **fields).error_code == error


def test_a_join_without_a_group_is_told_who_asked(connection: Connection) -> None:
    assert join(connection, "", member_id="somebody").member_id == "somebody"


def test_of_protocols_with_as_many_votes_one_is_elected_by_its_name(
    connection: Connection, group: str, bootstrap: str
) -> None:
    """Whoever comes first."""
    names = ["range", "sticky"]
    favourites = [
        [{"name": name, "metadata": b""} for name in order] for order in (names, names[::-1])
    ]
    mine = {"protocols": favourites[0], "group_instance_id": "a"}
    reply = first = join(connection, group, **mine)
    assert first.protocol_name == "range"
    with Connection(bootstrap) as other:
        fields = {"group_id": group, "session_timeout": 10_000, "rebalance_timeout": 10_000}
        theirs = {"protocols": favourites[1], "group_instance_id": "b"}
        other.send("join_group", 9, **fields, protocol_type="consumer", **theirs)

        def is_next() -> bool:  # not before the other has come
            nonlocal reply
            reply = join(connection, group, member_id=first.member_id, **mine)
            return bool(reply.generation_id > first.generation_id)

        wait_until(is_next)
        _, joined_too = other.receive("join_group", 9)
    assert (reply.protocol_name, joined_too.protocol_name) == ("sticky", "sticky")


def test_a_member_with_no_protocol_in_common_is_refused(connection: Connection, group: str) -> None:
    joined(connection, group)
    other = [{"name": "sticky", "metadata": b""}]
    refused = join(connection, group, protocols=other)
    assert refused.error_code == ErrorCode.inconsistent_group_protocol
    refused = join(connection, group, protocol_type="connect")
    assert refused.error_code == ErrorCode.inconsistent_group_protocol


def test_heartbeats_are_checked_against_member_and_generation(
    connection: Connection, group: str
) -> None:
    member, generation = joined(connection, group)

    def beat(member_id: str, generation_id: int) -> ErrorCode:
        return connection.ask(
            "heartbeat", 4, group_id=group, member_id=member_id, generation_id=generation_id
        ).error_code

    assert beat(member, generation) == ErrorCode.none
    assert beat(member, generation + 1) == ErrorCode.illegal_generation
    assert beat("nobody", generation) == ErrorCode.unknown_member_id


def commit(
    connection: Connection, group: str, topic: str, offset: int, version: int = 9, **fields: Any
) -> Any:
    place = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "note"}
    reply = connection.ask(
        "offset_commit",
        version,
        **{
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "topics": [{"name": topic, "partitions": [place]}],
            **fields,
        },
    )
    return reply.topics[0].partitions[0].error_code


def test_commits_are_checked_against_member_and_generation(
    connection: Connection, group: str, raw_topic: RawTopic
) -> None:
    member, generation = joined(connection, group)

    def by(member_id: str, generation_id: int) -> ErrorCode:
        return commit(
            connection,
            group,
            raw_topic.name,
            1,
            member_id=member_id,
            generation_id_or_member_epoch=generation_id,
        )

    assert by(member, generation) == ErrorCode.none
    assert by(member, generation - 1) == ErrorCode.illegal_generation
    assert by("nobody", generation) == ErrorCode.unknown_member_id
    assert by("", -1) == ErrorCode.unknown_member_id


def test_a_group_without_members_takes_commits_from_anyone(
    connection: Connection, group: str, raw_topic: RawTopic
) -> None:
    assert commit(connection, group, raw_topic.name, 42) == ErrorCode.none
    reply = connection.ask(
        "offset_fetch",
        8,
        groups=[
            {
                "group_id": group,
                "topics": [
                    {"name": raw_topic.name, "partition_indexes": [0]},
                    {"name": "never-made", "partition_indexes": [0]},
                ],
            },
            {"group_id": "never-seen", "topics": None},
        ],
    )
    known, unknown_group = reply.groups
    offsets = [
        (t.name, p.committed_offset, p.metadata, p.error_code)
        for t in known.topics
        for p in t.partitions
    ]
    assert offsets == [
        (raw_topic.name, 42, "note", ErrorCode.none),
        ("never-made", -1, "", ErrorCode.none),
    ]
    assert (unknown_group.error_code, unknown_group.topics) == (ErrorCode.none, ())


def test_commits_to_unknown_places_and_with_long_notes_are_refused(
    connection: Connection, group: str, raw_topic: RawTopic
) -> None:
    unknown = commit(connection, group, "never-made", 1)
    assert unknown == ErrorCode.unknown_topic_or_partition
    place = {"partition_index": 0, "committed_offset": 1, "committed_metadata": "x" * 5000}
    too_long = commit(
        connection,
        group,
        raw_topic.name,
        1,
        topics=[{"name": raw_topic.name, "partitions": [place]}],
    )
    assert too_long == ErrorCode.offset_metadata_too_large


def test_leaving_is_answered_member_by_member(connection: Connection, group: str) -> None:
    member, _ = joined(connection, group)
    leaving = [{"member_id": member}, {"member_id": "nobody"}]
    reply = connection.ask("leave_group", 5, group_id=group, members=leaving)
    assert reply.error_code == ErrorCode.none
    assert [m.error_code for m in reply.members] == [ErrorCode.none, ErrorCode.unknown_member_id]


def test_a_stable_group_is_described_and_listed(connection: Connection, group: str) -> None:
    member, _ = joined(connection, group)
    [described] = connection.ask("describe_groups", 5, groups=[group]).groups
    assert (described.group_state, described.protocol_type) == ("Stable", "consumer")
    [only] = described.members
    assert (only.member_id, only.client_id, only.client_host) == (member, "raw", "/127.0.0.1")
    assert only.member_assignment == b"mine"
    listed = connection.ask("list_groups", 5, states_filter=["Stable"], types_filter=["classic"])
    entries = {g.group_id: (g.group_state, g.group_type) for g in listed.groups}
    assert entries[group] == ("Stable", "classic")
    empty = connection.ask("list_groups", 5, states_filter=["Empty"], types_filter=[])
    assert group not in {g.group_id for g in empty.groups}


def test_an_unknown_group_is_dead_below_version_6_and_not_found_from_it_on(
    connection: Connection, group: str
) -> None:
    [dead] = connection.ask("describe_groups", 5, groups=["never-seen"]).groups
    assert (dead.error_code, dead.group_state) == (ErrorCode.none, "Dead")
    [missing] = connection.ask("describe_groups", 6, groups=["never-seen"]).groups
    assert (missing.error_code, missing.group_state) == (ErrorCode.group_id_not_found, "Dead")


def test_offsets_are_deleted_unless_the_group_reads_their_topic(
    connection: Connection, group: str, raw_topic: RawTopic
) -> None:
    commit(connection, group, raw_topic.name, 5)
    places = [{"name": raw_topic.name, "partitions": [{"partition_index": 0}]}]
    reply = connection.ask("offset_delete", 0, group_id=group, topics=places)
    assert reply.error_code == ErrorCode.none
    assert reply.topics[0].partitions[0].error_code == ErrorCode.none
    reply = connection.ask("offset_delete", 0, group_id="never-seen", topics=places)
    assert reply.error_code == ErrorCode.group_id_not_found


def test_a_group_with_members_cannot_be_deleted(connection: Connection, group: str) -> None:
    joined(connection, group)
    results = connection.ask("delete_groups", 2, groups_names=[group, "never-seen"]).results
    codes = {result.group_id: result.error_code for result in results}
    assert codes == {
        group: ErrorCode.non_empty_group,
        "never-seen": ErrorCode.group_id_not_found,
    }


def test_a_commit_of_which_nothing_is_kept_makes_its_group(
    connection: Connection, group: str, raw_topic: RawTopic
) -> None:
    place = {"partition_index": 0, "committed_offset": 5, "committed_metadata": "m" * 5000}
    topics = [{"name": raw_topic.name, "partitions": [place]}]
    code = commit(connection, group, raw_topic.name, 5, topics=topics)
    assert code == ErrorCode.offset_metadata_too_large
    [described] = connection.ask("describe_groups", 6, groups=[group]).groups
    assert described.error_code == ErrorCode.group_id_not_found, "nothing was written yet"
    codes = []
    for _ in range(2):
        [deleted] = connection.ask("delete_groups", 2, groups_names=[group]).results
        codes.append(deleted.error_code)
    assert codes == [ErrorCode.none, ErrorCode.group_id_not_found]

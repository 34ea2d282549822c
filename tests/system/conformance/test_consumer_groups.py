"""Consumer groups (KIP-848) answer by answer: epochs, static members, both protocols in one."""

import struct
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.confluent import wait_until
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic, RawTopic

GROUP_RESOURCE = 32


@pytest.fixture
def hasty(connection: Connection, group: str) -> str:
    """A group that makes a new target with the first heartbeat that needs one."""
    setting = {"name": "consumer.assignment.interval.ms", "value": "0", "config_operation": 0}
    resource = {"resource_type": GROUP_RESOURCE, "resource_name": group, "configs": [setting]}
    reply = connection.ask("incremental_alter_configs", 1, resources=[resource])
    assert reply.responses[0].error_code == ErrorCode.none
    asked = {"resource_type": GROUP_RESOURCE, "resource_name": group, "configuration_keys": None}

    def is_set() -> bool:
        results = connection.ask("describe_configs", 4, resources=[asked]).results
        return ("consumer.assignment.interval.ms", "0") in {
            (config.name, config.value) for config in results[0].configs
        }

    wait_until(is_set)
    return group


class Member:
    """A member of the consumer protocol; what it is told is in `reply`."""

    def __init__(
        self, connection: Connection, group: str, name: str, instance: str | None = None
    ) -> None:
        self.connection = connection
        self.group = group
        self.name = name
        self.instance = instance
        self.epoch = 0

    def beat(self, epoch: int | None = None, version: int = 1, **fields: Any) -> Any:
        topics = fields.pop("topics", None)
        reply = self.connection.ask(
            "consumer_group_heartbeat",
            version,
            **{
                "group_id": self.group,
                "member_id": self.name,
                "member_epoch": self.epoch if epoch is None else epoch,
                "instance_id": self.instance,
                "rebalance_timeout": -1,
                "subscribed_topic_names": topics,
                "subscribed_topic_regex": None,
                "topic_partitions": None,
                **fields,
            },
        )
        if reply.error_code == ErrorCode.none:
            self.epoch = reply.member_epoch
        return reply

    def join(self, *topics: str, **fields: Any) -> Any:
        return self.beat(
            0, topics=list(topics), rebalance_timeout=60_000, topic_partitions=[], **fields
        )

    def joined(self, *topics: str, **fields: Any) -> "Member":
        reply = self.join(*topics, **fields)
        assert reply.error_code == ErrorCode.none, reply
        return self


def partitions(reply: Any) -> list[int]:
    return sorted(i for place in reply.assignment.topic_partitions for i in place.partitions)


def owning(topic: RawTopic, *indexes: int) -> list[dict[str, Any]]:
    return [{"topic_id": topic.id, "partitions": list(indexes)}]


def described(connection: Connection, group: str) -> Any:
    return connection.ask("consumer_group_describe", 1, group_ids=[group]).groups[0]


def subscription(*topics: str) -> bytes:
    """Of a classic consumer, version 0."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def join_classic(
    connection: Connection, group: str, topic: RawTopic, version: int = 9, **fields: Any
) -> Any:
    protocols = [{"name": "range", "metadata": subscription(topic.name)}]
    timeouts = {"session_timeout": 10_000}
    if version >= 1:
        timeouts["rebalance_timeout"] = 60_000
    wanted = {"group_id": group, "protocol_type": "consumer", "protocols": protocols}
    return connection.ask("join_group", version, **{**timeouts, **wanted, **fields})


def classic_member(
    connection: Connection, group: str, topic: RawTopic, **fields: Any
) -> tuple[str, int]:
    """In the group, and told what it has: its id and generation."""
    reply = join_classic(connection, group, topic, version=3 if not fields else 9, **fields)
    assert reply.error_code == ErrorCode.none
    synced = sync_classic(connection, group, reply.member_id, reply.generation_id)
    assert synced.error_code == ErrorCode.none
    return reply.member_id, reply.generation_id


def sync_classic(connection: Connection, group: str, member: str, generation: int) -> Any:
    return connection.ask(
        "sync_group", 3, group_id=group, generation_id=generation, member_id=member
    )


def beat_classic(connection: Connection, group: str, member: str, generation: int) -> ErrorCode:
    asked = {"group_id": group, "generation_id": generation, "member_id": member}
    return connection.ask("heartbeat", 4, **asked).error_code


def commit(
    connection: Connection, group: str, topic: RawTopic, member: str, epoch: int, *indexes: int
) -> Any:
    places = [{"partition_index": index, "committed_offset": 1} for index in indexes or (0,)]
    reply = connection.ask(
        "offset_commit",
        9,
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member,
        topics=[{"name": topic.name, "partitions": places}],
    )
    return {p.partition_index: p.error_code for t in reply.topics for p in t.partitions}


# -- static members -------------------------------------------------------------------------------


def test_a_static_member_that_lives_cannot_join_once_more(
    connection: Connection, hasty: str, raw_topic: RawTopic
) -> None:
    member = Member(connection, hasty, "one", "i").joined(raw_topic.name)
    assert member.join(raw_topic.name).error_code == ErrorCode.unreleased_instance_id
    other = Member(connection, hasty, "two", "i")
    assert other.join(raw_topic.name).error_code == ErrorCode.unreleased_instance_id
    assert member.beat().error_code == ErrorCode.none


def test_a_static_member_that_left_for_a_while_comes_back_to_what_it_had(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    member = Member(connection, hasty, "one", "i").joined(topic.name)
    epoch = member.epoch
    assert member.beat(-2).error_code == ErrorCode.none
    again = Member(connection, hasty, "two", "i")
    reply = again.join(topic.name)
    assert (reply.error_code, reply.member_epoch) == (ErrorCode.none, epoch)
    assert partitions(reply) == [0, 1]


def test_a_classic_static_member_takes_the_place_of_one_of_the_consumer_protocol(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    static = Member(connection, hasty, "one", "i").joined(topic.name)
    stays = Member(connection, hasty, "two").joined(topic.name)
    static.beat(topic_partitions=owning(topic, 0))
    joined = join_classic(connection, hasty, topic, group_instance_id="i")
    assert joined.error_code == ErrorCode.none
    assert joined.member_id != "one"
    assert static.beat().error_code == ErrorCode.fenced_instance_id
    assert stays.beat().error_code == ErrorCode.none


def test_a_classic_static_member_in_the_last_place_brings_the_classic_group_back(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    static = Member(connection, hasty, "one", "i").joined(topic.name)
    joined = join_classic(connection, hasty, topic, group_instance_id="i")
    assert (joined.error_code, joined.generation_id) == (ErrorCode.none, static.epoch)
    shown = connection.ask("describe_groups", 5, groups=[hasty]).groups[0]
    assert (shown.group_state, len(shown.members)) == ("Stable", 1)
    synced = sync_classic(connection, hasty, joined.member_id, joined.generation_id)
    assert synced.error_code == ErrorCode.none
    assert synced.assignment


# -- both protocols -------------------------------------------------------------------------------


def test_classic_members_go_on_when_the_last_consumer_member_leaves(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    new = Member(connection, hasty, "new").joined(topic.name)
    old, generation = classic_member(connection, hasty, topic)
    assert new.beat(-1).error_code == ErrorCode.none
    in_progress = ErrorCode.rebalance_in_progress
    assert beat_classic(connection, hasty, old, generation) == in_progress
    assert commit(connection, hasty, topic, old, generation) == {0: ErrorCode.none}
    shown = connection.ask("describe_groups", 5, groups=[hasty]).groups[0]
    assert shown.group_state == "PreparingRebalance"


def test_version_0_of_join_group_is_as_good_as_any(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    Member(connection, hasty, "new").joined(topic.name)
    joined = join_classic(connection, hasty, topic, version=0)
    assert joined.error_code == ErrorCode.none
    synced = sync_classic(connection, hasty, joined.member_id, joined.generation_id)
    assert synced.error_code == ErrorCode.none
    assert len(described(connection, hasty).members) == 2


def test_a_newcomer_without_a_subscription_is_first_given_an_id(
    connection: Connection, hasty: str, raw_topic: RawTopic
) -> None:
    Member(connection, hasty, "new").joined(raw_topic.name)
    protocols = [{"name": "range", "metadata": b""}]
    reply = join_classic(connection, hasty, raw_topic, protocols=protocols)
    assert reply.error_code == ErrorCode.member_id_required
    reply = join_classic(connection, hasty, raw_topic, protocol_type="connect")
    assert reply.error_code == ErrorCode.inconsistent_group_protocol


def test_leave_group_sends_members_of_the_consumer_protocol_away_too(
    connection: Connection, hasty: str, raw_topic: RawTopic
) -> None:
    member = Member(connection, hasty, "new").joined(raw_topic.name)
    reply = connection.ask(
        "leave_group", 5, group_id=hasty, members=[{"member_id": "new", "group_instance_id": None}]
    )
    assert [one.error_code for one in reply.members] == [ErrorCode.none]
    assert member.beat().error_code == ErrorCode.unknown_member_id


# -- epochs ---------------------------------------------------------------------------------------


def test_the_target_is_made_with_the_next_heartbeat_after_a_member_left(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    one = Member(connection, hasty, "one").joined(topic.name)
    two = Member(connection, hasty, "two").joined(topic.name)
    two.beat(-1)
    shown = described(connection, hasty)
    assert (shown.group_state, shown.group_epoch - shown.assignment_epoch) == ("Assigning", 1)
    one.beat(topic_partitions=owning(topic, 0, 1))
    shown = described(connection, hasty)
    assert (shown.group_state, shown.group_epoch - shown.assignment_epoch) == ("Stable", 0)


def test_another_assignor_waits_for_the_next_change(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    one = Member(connection, hasty, "one").joined(topic.name)
    epoch = one.epoch
    assert one.beat(server_assignor="range").member_epoch == epoch
    shown = described(connection, hasty)
    assert (shown.group_epoch, shown.assignor_name) == (epoch, "range")


def test_a_rack_that_is_not_named_again_stays(
    connection: Connection, hasty: str, raw_topic: RawTopic
) -> None:
    member = Member(connection, hasty, "one").joined(raw_topic.name, rack_id="here")
    member.joined(raw_topic.name)
    assert [m.rack_id for m in described(connection, hasty).members] == ["here"]


def test_a_member_that_has_to_give_up_stays_in_its_epoch_until_it_has(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=6)
    one = Member(connection, hasty, "one").joined(topic.name)
    epoch = one.epoch
    Member(connection, hasty, "two").joined(topic.name)
    reply = one.beat(topic_partitions=owning(topic, *range(6)))
    kept = partitions(reply)
    assert (reply.member_epoch, len(kept)) == (epoch, 3)
    shown = {m.member_id: m for m in described(connection, hasty).members}
    assert partitions(shown["one"]) == list(range(6))  # its own until it has given them up
    assert (
        sorted(i for t in shown["one"].target_assignment.topic_partitions for i in t.partitions)
        == kept
    )
    Member(connection, hasty, "three").joined(topic.name)
    reply = one.beat(topic_partitions=owning(topic, *kept))
    assert reply.member_epoch == epoch
    assert len(partitions(reply)) == 2
    reply = one.beat(topic_partitions=owning(topic, *partitions(reply)))
    assert reply.member_epoch == epoch + 2


def test_the_range_assignor_puts_static_members_first(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    Member(connection, hasty, "a").joined(topic.name, server_assignor="range")
    Member(connection, hasty, "b", "z").joined(topic.name, server_assignor="range")
    targets = {
        m.member_id: [i for t in m.target_assignment.topic_partitions for i in t.partitions]
        for m in described(connection, hasty).members
    }
    assert targets == {"b": [0], "a": [1]}


def test_a_member_gives_up_at_once_what_it_unsubscribed_from(
    connection: Connection, group: str, make_raw_topic: MakeRawTopic
) -> None:
    """Even while a new target has to wait for its time."""
    one, two = make_raw_topic(partitions=1), make_raw_topic(partitions=1)
    member = Member(connection, group, "one").joined(one.name, two.name)
    reply = member.beat(topics=[one.name], topic_partitions=owning(one, 0) + owning(two, 0))
    assert [place.topic_id for place in reply.assignment.topic_partitions] == [one.id]


def test_a_regular_expression_stands_for_the_topics_that_match_it_as_a_whole(
    connection: Connection, hasty: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    member = Member(connection, hasty, "one")
    reply = member.join(subscribed_topic_regex=f"{topic.name[:-1]}.")
    given = partitions(reply)  # at once here; Kafka looks for them in the background

    def is_told() -> bool:
        nonlocal given
        beat = member.beat(topic_partitions=owning(topic, *given))
        given = given if beat.assignment is None else partitions(beat)
        return given == [0, 1]

    wait_until(is_told)
    assert [m.subscribed_topic_regex for m in described(connection, hasty).members] == [
        f"{topic.name[:-1]}."
    ]


# -- what is refused, and in which order ----------------------------------------------------------


def test_a_bad_regex_is_looked_at_last(
    connection: Connection, hasty: str, raw_topic: RawTopic
) -> None:
    nobody = Member(connection, hasty, "nobody")
    reply = nobody.beat(3, subscribed_topic_regex="(")
    assert reply.error_code == ErrorCode.group_id_not_found
    Member(connection, hasty, "one").joined(raw_topic.name)
    reply = nobody.beat(3, subscribed_topic_regex="(")
    assert reply.error_code == ErrorCode.unknown_member_id
    reply = nobody.join(raw_topic.name, subscribed_topic_regex="(")
    assert reply.error_code == ErrorCode.invalid_regular_expression


def test_the_empty_group_id_is_refused(
    connection: Connection, group: str, raw_topic: RawTopic
) -> None:
    invalid = ErrorCode.invalid_group_id
    assert described(connection, "").error_code == invalid
    topics = [{"name": raw_topic.name, "partitions": [{"partition_index": 0}]}]
    assert connection.ask("offset_delete", 0, group_id="", topics=topics).error_code == invalid
    reply = Member(connection, "", "one").join(raw_topic.name)
    assert reply.error_code == ErrorCode.invalid_request


def test_an_unknown_group_has_no_state(connection: Connection, group: str) -> None:
    shown = described(connection, group)
    assert (shown.error_code, shown.group_state) == (ErrorCode.group_id_not_found, "")


def test_commits_to_partitions_that_do_not_exist_are_refused_one_by_one(
    connection: Connection, group: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    unknown = ErrorCode.unknown_topic_or_partition
    answer = commit(connection, group, topic, "", -1, 0, 7)
    assert answer == {0: ErrorCode.none, 7: unknown}
    answer = commit(connection, group, topic, "nobody", 5, 0, 7)
    assert answer == {0: ErrorCode.unknown_member_id, 7: unknown}
    assert commit(connection, "", topic, "nobody", 5, 7) == {7: unknown}


def test_offsets_of_partitions_that_do_not_exist_cannot_be_deleted(
    connection: Connection, group: str, make_raw_topic: MakeRawTopic
) -> None:
    topic = make_raw_topic(partitions=2)
    commit(connection, group, topic, "", -1, 0)
    places = [{"partition_index": index} for index in (0, 7)]
    asked = {"group_id": group, "topics": [{"name": topic.name, "partitions": places}]}
    reply = connection.ask("offset_delete", 0, **asked)
    answer = {p.partition_index: p.error_code for t in reply.topics for p in t.partitions}
    assert answer == {0: ErrorCode.none, 7: ErrorCode.unknown_topic_or_partition}


def test_a_rebalancing_classic_group_shows_what_its_members_had(
    connection: Connection, group: str, raw_topic: RawTopic
) -> None:
    first = join_classic(connection, group, raw_topic, version=3)
    mine = [{"member_id": first.member_id, "assignment": b"mine"}]
    connection.ask(
        "sync_group",
        3,
        group_id=group,
        generation_id=first.generation_id,
        member_id=first.member_id,
        assignments=mine,
    )
    again = join_classic(connection, group, raw_topic, version=3, member_id=first.member_id)
    assert again.error_code == ErrorCode.none
    shown = connection.ask("describe_groups", 5, groups=[group]).groups[0]
    assert shown.group_state == "CompletingRebalance"
    assert [(m.member_metadata, m.member_assignment) for m in shown.members] == [(b"", b"mine")]

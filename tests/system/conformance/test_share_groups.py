"""Share groups, request by request: sessions, what is taken, what may be answered for it."""

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import wait_until
from support.share import start_at_the_beginning
from support.wire import Connection
from system.conformance.conftest import MakeRawTopic, RawTopic

SECONDS_MAX = 20
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
BATCHES, RECORDS = 0, 1
Taken = dict[int, list[tuple[int, int, int]]]
RETRIABLE = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
)


class Member:
    """Of a share group, over one connection: epochs are its own affair, unless told."""

    def __init__(self, bootstrap: str, group: str, topic: RawTopic) -> None:
        self.connection = Connection(bootstrap, timeout=SECONDS_MAX)
        self.group = group
        self.topic = topic
        self.id = str(uuid.uuid4())
        self.member_epoch = 0
        self.session_epoch = 0

    def find_coordinator(self) -> None:
        """The first who asks has the coordinator's topic made."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            reply = self.connection.ask(
                "find_coordinator", 4, key_type=0, coordinator_keys=[self.group]
            )
            if reply.coordinators[0].error_code == ErrorCode.none:
                return
            time.sleep(0.05)
        raise AssertionError("no coordinator")

    def beat(self, epoch: int | None = None, topics: list[str] | None = None) -> Any:
        epoch = self.member_epoch if epoch is None else epoch
        if epoch == 0 and topics is None:
            topics = [self.topic.name]
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            reply = self.connection.ask(
                "share_group_heartbeat",
                1,
                group_id=self.group,
                member_id=self.id,
                member_epoch=epoch,
                rack_id=None,
                subscribed_topic_names=topics,
            )
            if reply.error_code not in RETRIABLE or time.monotonic() > deadline:
                return reply
            time.sleep(0.05)

    def join(self) -> set[int]:
        """The partitions it is given, once they have a state."""
        deadline = time.monotonic() + SECONDS_MAX
        while time.monotonic() < deadline:
            reply = self.beat()
            assert reply.error_code == ErrorCode.none, reply
            self.member_epoch = reply.member_epoch
            if reply.assignment is not None and reply.assignment.topic_partitions:
                return {
                    index
                    for topic in reply.assignment.topic_partitions
                    for index in topic.partitions
                }
            time.sleep(0.05)
        raise AssertionError("no partition was given to the member")

    def leave(self) -> None:
        assert self.beat(-1).error_code == ErrorCode.none
        self.member_epoch = 0

    def fetch(
        self,
        partitions: Sequence[int] = (),
        answers: dict[int, list[tuple[int, int, list[int]]]] | None = None,
        *,
        version: int = 2,
        epoch: int | None = None,
        **fields: Any,
    ) -> Any:
        wanted: dict[int, list[tuple[int, int, list[int]]]] = {index: [] for index in partitions}
        wanted |= answers or {}
        request: dict[str, Any] = {
            "max_wait": 5000,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
            **fields,
        }
        reply = self.connection.ask(
            "share_fetch",
            version,
            group_id=self.group,
            member_id=self.id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            topics=self._topics(wanted) if wanted else [],
            forgotten_topics_data=[],
            **request,
        )
        if reply.error_code == ErrorCode.none and epoch is None:
            self.session_epoch += 1
        return reply

    def take(self, partitions: Sequence[int] = (), **fields: Any) -> Taken:
        reply = self.fetch(partitions, **fields)
        assert reply.error_code == ErrorCode.none, reply
        return taken(reply)

    def answer(
        self,
        answers: dict[int, list[tuple[int, int, list[int]]]],
        *,
        version: int = 2,
        **fields: Any,
    ) -> dict[int, ErrorCode]:
        reply = self.ask_to_acknowledge(answers, version=version, **fields)
        assert reply.error_code == ErrorCode.none, reply
        return {
            part.partition_index: part.error_code
            for topic in reply.responses
            for part in topic.partitions
        }

    def ask_to_acknowledge(
        self,
        answers: dict[int, list[tuple[int, int, list[int]]]],
        *,
        version: int = 2,
        epoch: int | None = None,
        **fields: Any,
    ) -> Any:
        reply = self.connection.ask(
            "share_acknowledge",
            version,
            group_id=self.group,
            member_id=self.id,
            share_session_epoch=self.session_epoch if epoch is None else epoch,
            topics=self._topics(answers),
            **fields,
        )
        if reply.error_code == ErrorCode.none and epoch is None:
            self.session_epoch += 1
        return reply

    def _topics(self, answers: dict[int, list[tuple[int, int, list[int]]]]) -> list[dict[str, Any]]:
        return [
            {
                "topic_id": self.topic.id,
                "partitions": [
                    {
                        "partition_index": index,
                        "acknowledgement_batches": [
                            {"first_offset": first, "last_offset": last, "acknowledge_types": types}
                            for first, last, types in batches
                        ],
                    }
                    for index, batches in answers.items()
                ],
            }
        ]


def taken(reply: Any) -> Taken:
    return {
        part.partition_index: [
            (one.first_offset, one.last_offset, one.delivery_count) for one in part.acquired_records
        ]
        for topic in reply.responses
        for part in topic.partitions
        if part.acquired_records
    }


def told(reply: Any) -> dict[int, tuple[ErrorCode, ErrorCode]]:
    """Errors of partitions: of what was taken, and of what was answered."""
    return {
        part.partition_index: (part.error_code, part.acknowledge_error_code)
        for topic in reply.responses
        for part in topic.partitions
    }


JoinShareGroup = Callable[..., Member]


@pytest.fixture
def join(bootstrap: str) -> Iterator[JoinShareGroup]:
    members: list[Member] = []

    def join(topic: RawTopic, group: str | None = None, *, has_joined: bool = True) -> Member:
        if group is None:
            group = f"share-{uuid.uuid4().hex[:10]}"
            start_at_the_beginning(bootstrap, group)
        member = Member(bootstrap, group, topic)
        members.append(member)
        member.find_coordinator()
        if has_joined:
            member.join()
        return member

    yield join
    for member in members:
        member.connection.socket.close()


def configure(connection: Connection, group: str, **settings: str) -> None:
    configs = [
        {"name": name.replace("_", "."), "value": value, "config_operation": 0}
        for name, value in settings.items()
    ]
    resource = {"resource_type": 32, "resource_name": group, "configs": configs}
    reply = connection.ask("incremental_alter_configs", 1, resources=[resource])
    assert reply.responses[0].error_code == ErrorCode.none
    wanted = {name.replace("_", "."): value for name, value in settings.items()}

    def is_known() -> bool:
        asked = {"resource_type": 32, "resource_name": group, "configuration_keys": list(wanted)}
        reply = connection.ask("describe_configs", 4, resources=[asked])
        return {one.name: one.value for one in reply.results[0].configs} == wanted

    wait_until(is_known)


def fill(topic: RawTopic, count: int, partition: int = 0, size: int = 10) -> None:
    """So many batches of one record each."""
    for _ in range(count):
        assert topic.produce(batch([b"v" * size]), partition).error_code == ErrorCode.none


def fill_one(topic: RawTopic, count: int, partition: int = 0) -> None:
    """One batch of so many records."""
    records = batch([b"%d" % number for number in range(count)])
    assert topic.produce(records, partition).error_code == ErrorCode.none


# -- joining ----------------------------------------------------------------------------------


def test_partitions_are_given_once_they_have_a_state(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    member = join(make_raw_topic(2), has_joined=False)
    first = member.beat()
    assert (first.error_code, first.member_epoch) == (ErrorCode.none, 2)
    assert first.assignment.topic_partitions == ()
    member.member_epoch = 2
    assert member.join() == {0, 1}
    assert member.member_epoch == 3


def test_members_take_from_as_many_partitions_as_are_their_part(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic(4)
    one = join(topic)
    other = join(topic, one.group)
    reply = one.beat()
    given = {index for part in reply.assignment.topic_partitions for index in part.partitions}
    assert len(given) == 2
    described = other.beat(topics=[topic.name])
    others = {index for part in described.assignment.topic_partitions for index in part.partitions}
    assert given | others == {0, 1, 2, 3}


# -- sessions ---------------------------------------------------------------------------------


def test_a_new_session_with_answers_is_refused_and_the_old_one_stays(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill(topic, 2)
    member = join(topic)
    assert member.take([0]) == {0: [(0, 1, 1)]}
    refused = member.fetch([0], {0: [(0, 1, [ACCEPT])]}, epoch=0)
    assert refused.error_code == ErrorCode.invalid_request
    assert member.answer({0: [(0, 1, [ACCEPT])]}) == {0: ErrorCode.none}


def test_the_first_answer_of_a_session_tells_of_every_partition_later_ones_of_changes(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic(2)
    member = join(topic)
    fine = (ErrorCode.none, ErrorCode.none)
    assert told(member.fetch([0, 1], max_wait=1000)) == {0: fine, 1: fine}
    assert told(member.fetch(max_wait=0)) == {}
    fill(topic, 1, 1)
    assert told(member.fetch()) == {1: fine}


def test_a_session_with_another_epoch_is_refused(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    member = join(make_raw_topic())
    assert member.fetch(epoch=3).error_code == ErrorCode.share_session_not_found
    assert member.ask_to_acknowledge({}, epoch=0).error_code == (
        ErrorCode.invalid_share_session_epoch
    )
    member.take([0], max_wait=0)
    assert member.fetch(epoch=3).error_code == ErrorCode.invalid_share_session_epoch
    assert member.ask_to_acknowledge({}, epoch=-1).error_code == ErrorCode.none
    assert member.fetch(epoch=-1).error_code == ErrorCode.share_session_not_found


def test_a_partition_that_does_not_exist_is_told_of(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    member = join(make_raw_topic())
    reply = member.fetch([7], max_wait=0)
    assert told(reply) == {7: (ErrorCode.unknown_topic_or_partition, ErrorCode.none)}


# -- limits -----------------------------------------------------------------------------------


def test_bytes_are_limited_within_a_partition_and_over_all(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic(2)
    for partition in (0, 1):
        fill(topic, 10, partition)
    member = join(topic)
    found = member.take([0, 1], max_bytes=1)
    assert found == {0: [(0, 0, 1)]}
    found = member.take(max_bytes=1)
    assert found == {1: [(0, 0, 1)]}
    found = member.take(max_bytes=500)  # three batches of each
    assert {sum(last - first + 1 for first, last, _ in runs) for runs in found.values()} == {3}
    assert len(found) == 2


def test_a_batch_of_the_log_is_taken_whole_even_if_fewer_records_are_wanted(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill_one(topic, 5)
    fill_one(topic, 5)
    member = join(topic)
    assert member.take([0], max_records=2) == {0: [(0, 4, 1)]}
    assert member.take(max_records=2) == {0: [(5, 9, 1)]}


def test_a_limit_of_records_is_kept_over_all_partitions(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic(2)
    fill_one(topic, 5, 0)
    fill_one(topic, 5, 1)
    member = join(topic)
    assert member.take([0, 1], max_records=3, share_acquire_mode=RECORDS) == {0: [(0, 2, 1)]}
    assert member.take(max_records=3, share_acquire_mode=RECORDS) == {1: [(0, 2, 1)]}
    assert member.take(max_records=3, share_acquire_mode=RECORDS) == {
        0: [(3, 4, 1)],
        1: [(3, 3, 1)],
    }


def test_records_are_told_in_parts_of_the_size_that_is_wanted(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    for _ in range(4):
        fill_one(topic, 3)
    member = join(topic)
    assert member.take([0], batch_size=4) == {0: [(0, 5, 1), (6, 11, 1)]}


# -- deliveries -------------------------------------------------------------------------------


def test_records_near_the_delivery_limit_are_isolated(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill(topic, 10)
    member = join(topic)
    seen = []
    found = member.take([0])
    while found:
        (run,) = found[0]
        seen.append(run)
        assert member.answer({0: [(run[0], run[1], [RELEASE])]}) == {0: ErrorCode.none}
        found = member.take(max_wait=0)
    assert seen[:4] == [(0, 9, 1), (0, 9, 2), (0, 9, 3), (0, 4, 4)]
    assert seen[4:9] == [(offset, offset, 5) for offset in range(5)]
    assert seen[9:] == [(5, 9, 4)] + [(offset, offset, 5) for offset in range(5, 10)]


def test_a_limit_of_two_deliveries_isolates_nothing(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup, connection: Connection
) -> None:
    topic = make_raw_topic()
    fill(topic, 4)
    member = join(topic)
    configure(connection, member.group, share_delivery_count_limit="2")
    assert member.take([0]) == {0: [(0, 3, 1)]}
    member.answer({0: [(0, 3, [RELEASE])]})
    assert member.take() == {0: [(0, 3, 2)]}
    member.answer({0: [(0, 3, [RELEASE])]})
    assert member.take(max_wait=0) == {}


def test_what_is_released_in_a_fetch_comes_with_its_answer(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill(topic, 4)
    member = join(topic)
    assert member.take([0]) == {0: [(0, 3, 1)]}
    reply = member.fetch(answers={0: [(0, 1, [ACCEPT]), (2, 3, [RELEASE])]})
    assert told(reply) == {0: (ErrorCode.none, ErrorCode.none)}
    assert taken(reply) == {0: [(2, 3, 2)]}


def test_a_fetch_whose_time_is_up_changes_nothing_about_whose_turn_is_next(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    """Who was read from at the same place before goes first; the last look does not count."""
    topic = make_raw_topic(partitions=2)
    member = join(topic)
    nothing: dict[str, Any] = {"max_wait": 200, "min_bytes": 1 << 20}
    assert member.take([0, 1], **nothing) == {}
    fill(topic, 1, partition=1)
    assert member.take() == {1: [(0, 0, 1)]}
    fill(topic, 1, partition=0)
    waited = member.fetch(answers={1: [(0, 0, [RELEASE])]}, max_records=1, **nothing)
    assert taken(waited) == {0: [(0, 0, 1)]}
    assert member.answer({0: [(0, 0, [RELEASE])]}) == {0: ErrorCode.none}
    assert member.take(max_wait=0, min_bytes=0, max_records=1) == {0: [(0, 0, 2)]}


def test_partitions_that_had_records_together_stay_in_their_order(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic(partitions=2)
    member = join(topic)
    assert member.take([0, 1], max_wait=200, min_bytes=1 << 20) == {}
    for _ in range(2):
        fill(topic, 1, partition=0)
        fill(topic, 1, partition=1)
    few: dict[str, Any] = {"max_wait": 0, "max_bytes": 1 << 8}  # a batch of each
    assert member.take(**few) == {0: [(0, 0, 1)], 1: [(0, 0, 1)]}, "the second goes first"
    assert member.take(max_wait=0, max_records=1) == {0: [(1, 1, 1)]}


def test_locks_are_given_back_with_the_session(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill(topic, 4)
    one = join(topic)
    other = join(topic, one.group)
    assert one.take([0]) == {0: [(0, 3, 1)]}
    assert other.take([0], max_wait=0) == {}
    assert one.ask_to_acknowledge({}, epoch=-1).error_code == ErrorCode.none
    assert other.take() == {0: [(0, 3, 2)]}


# -- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "batches",
    [
        pytest.param([(3, 2, [ACCEPT])], id="ends before it begins"),
        pytest.param([(2, 3, [ACCEPT]), (0, 1, [ACCEPT])], id="not in order"),
        pytest.param([(0, 2, [ACCEPT]), (1, 3, [ACCEPT])], id="overlapping"),
        pytest.param([(0, 3, [])], id="no type"),
        pytest.param([(0, 3, [ACCEPT, ACCEPT])], id="not one for each"),
        pytest.param([(0, 3, [9])], id="no such type"),
        pytest.param([(0, 3, [-1])], id="a negative type"),
        pytest.param([(0, 3, [RENEW])], id="a renewal that was not announced"),
        pytest.param([(0, 9, [ACCEPT])], id="never given out"),
        pytest.param([(8, 9, [ACCEPT])], id="beyond what was given out"),
    ],
)
def test_answers_that_make_no_sense_are_refused_and_none_is_taken(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup, batches: list[tuple[int, int, list[int]]]
) -> None:
    topic = make_raw_topic()
    fill(topic, 4)
    member = join(topic)
    member.take([0])
    assert member.answer({0: batches}) == {0: ErrorCode.invalid_request}
    assert told(member.fetch(answers={0: batches}, max_wait=0))[0][1] == ErrorCode.invalid_request
    assert member.answer({0: [(0, 3, [ACCEPT])]}) == {0: ErrorCode.none}


def test_records_of_others_and_those_that_were_answered_are_not_answered_again(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic()
    fill(topic, 4)
    one = join(topic)
    other = join(topic, one.group)
    one.take([0])
    other.take([0], max_wait=0)
    invalid = {0: ErrorCode.invalid_record_state}
    assert other.answer({0: [(0, 3, [ACCEPT])]}) == invalid
    assert one.answer({0: [(1, 2, [ACCEPT])]}) == {0: ErrorCode.none}
    assert one.answer({0: [(1, 2, [ACCEPT])]}) == invalid
    assert one.answer({0: [(0, 3, [ACCEPT])]}) == invalid
    assert one.answer({0: [(0, 0, [ACCEPT])]}) == {0: ErrorCode.none}
    assert one.answer({0: [(0, 2, [ACCEPT])]}) == {0: ErrorCode.none}  # the start is beyond


def test_answers_without_batches_are_told_of_beside_others_only(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic(2)
    fill(topic, 1)
    member = join(topic)
    member.take([0, 1])
    assert member.answer({0: [], 1: []}) == {}
    assert member.answer({0: [(0, 0, [ACCEPT])], 1: []}) == {0: ErrorCode.none, 1: ErrorCode.none}


def test_a_partition_nobody_took_from_has_nothing_to_be_answered(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup
) -> None:
    topic = make_raw_topic(2)
    member = join(topic)
    member.take([0], max_wait=0)
    unknown = ErrorCode.unknown_topic_or_partition
    assert member.answer({1: [(0, 0, [ACCEPT])]}) == {1: unknown}
    assert member.answer({0: [(0, 0, [ACCEPT])]}) == {0: ErrorCode.invalid_record_state}


def test_locks_are_renewed_where_it_is_announced(
    make_raw_topic: MakeRawTopic, join: JoinShareGroup, connection: Connection
) -> None:
    topic = make_raw_topic()
    fill(topic, 2)
    member = join(topic)
    member.take([0])
    renewal = {0: [(0, 1, [RENEW])]}
    assert member.answer(renewal, is_renew_ack=True) == {0: ErrorCode.none}
    refused = member.fetch(answers=renewal, is_renew_ack=True)
    assert refused.error_code == ErrorCode.invalid_request
    nothing: dict[str, Any] = {"max_bytes": 0, "min_bytes": 0, "max_records": 0, "max_wait": 0}
    reply = member.fetch(answers=renewal, is_renew_ack=True, **nothing)
    assert told(reply) == {0: (ErrorCode.none, ErrorCode.none)}
    configure(connection, member.group, share_renew_acknowledge_enable="false")
    refused = {0: ErrorCode.invalid_record_state}  # once the setting has come to the broker
    wait_until(lambda: member.answer(renewal, is_renew_ack=True) == refused)


# -- offsets ----------------------------------------------------------------------------------


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

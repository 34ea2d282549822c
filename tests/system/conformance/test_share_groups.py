"""Share groups, request by request: sessions, what is taken, what may be answered for it."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.confluent import wait_until
from support.wire import Connection
from system.conformance.raw_topics import MakeRawTopic
from system.conformance.share_member import (
    ACCEPT,
    RECORDS,
    RELEASE,
    RENEW,
    JoinShareGroup,
    configure,
    fill,
    fill_one,
    taken,
    told,
)

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

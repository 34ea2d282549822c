"""Committed offsets: who may commit, what is read, what goes in time."""

from typing import Any

import pytest

from ottla.coordination.machine import Decision
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.offsets import committing, fetching, removal
from ottla.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from ottla.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from ottla.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.group_driver import Driver

DAY_S = 86_400
SUBSCRIBED_TO_T = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"


def commit(
    driver: Driver,
    offset: int,
    member: str = "",
    generation: int = -1,
    *,
    topic: str = "t",
    topic_id: bytes = bytes(16),
    version: int = 9,
    metadata: str | None = "m",
) -> Any:
    request = OffsetCommitRequest(
        group_id="g",
        member_id=member,
        generation_id_or_member_epoch=generation,
        topics=[
            OffsetCommitRequestTopic(
                name=topic,
                topic_id=topic_id,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=0, committed_offset=offset, committed_metadata=metadata
                    )
                ],
            )
        ],
    )
    reply = driver.ask(
        lambda _: committing.commit(driver.groups, driver.now, request, version)
    ).reply
    if isinstance(reply, KafkaError):
        return reply.code
    return ErrorCode(reply.topics[0].partitions[0].error_code)


def commit_in_transaction(driver: Driver, producer: int, offset: int) -> None:
    request = TxnOffsetCommitRequest(
        group_id="g",
        producer_id=producer,
        topics=[
            TxnOffsetCommitRequestTopic(
                name="t",
                partitions=[
                    TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
                ],
            )
        ],
    )
    driver.ask(lambda _: committing.commit_in_transaction(driver.groups, driver.now, request))


def fetch(
    driver: Driver, *, stable: bool = False, topic: str = "t", topic_id: bytes = bytes(16)
) -> Any:
    request = OffsetFetchRequestGroup(
        group_id="g",
        topics=[OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=[0])],
    )
    reply = driver.ask(
        lambda _: fetching.fetch(driver.groups, request, require_stable=stable)
    ).reply
    part = reply.topics[0].partitions[0]
    return ErrorCode(part.error_code) if part.error_code else part.committed_offset


def delete(driver: Driver, topic: str = "t") -> Any:
    request = OffsetDeleteRequest(
        group_id="g",
        topics=[
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
            )
        ],
    )
    reply = driver.ask(lambda _: removal.delete_offsets(driver.groups, request)).reply
    if isinstance(reply, KafkaError):
        return reply.code
    return ErrorCode(reply.topics[0].partitions[0].error_code)


def delete_group(driver: Driver) -> Any:
    return driver.ask(lambda _: removal.delete_group(driver.groups, "g")).reply


def test_anyone_may_commit_for_a_group_that_nobody_manages() -> None:
    driver = Driver()
    assert fetch(driver) == -1
    assert commit(driver, 7) is ErrorCode.NONE
    assert fetch(driver) == 7
    driver.restart()
    assert fetch(driver) == 7


def test_only_members_commit_while_there_are_members() -> None:
    driver = Driver()
    (member,) = driver.settle(1)
    assert commit(driver, 7) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(driver, 7, "nobody", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(driver, 7, member.member_id, 0) is ErrorCode.ILLEGAL_GENERATION
    assert commit(driver, 7, member.member_id, 1) is ErrorCode.NONE


def test_a_commit_keeps_the_session_alive() -> None:
    driver = Driver()
    (member,) = driver.settle(1, session_s=10)
    for _ in range(5):
        driver.pass_time(6)
        assert commit(driver, 7, member.member_id, 1) is ErrorCode.NONE


def test_nobody_commits_between_two_generations() -> None:
    driver = Driver()
    joined = driver.join(version=3)
    driver.pass_time(0)
    member = joined.reply.member_id
    assert commit(driver, 7, member, 1) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_generation_of_an_unknown_group_is_refused_as_the_version_knows() -> None:
    driver = Driver()
    assert commit(driver, 7, "m", 1, version=8) is ErrorCode.ILLEGAL_GENERATION
    assert commit(driver, 7, "m", 1, version=9) is ErrorCode.GROUP_ID_NOT_FOUND


def test_metadata_has_its_limit() -> None:
    driver = Driver()
    assert commit(driver, 7, metadata="x" * 4097) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert fetch(driver) == -1


def test_offsets_of_a_transaction_count_when_it_commits() -> None:
    driver = Driver()
    commit(driver, 1)
    commit_in_transaction(driver, 5, 10)
    assert fetch(driver) == 1
    assert fetch(driver, stable=True) is ErrorCode.UNSTABLE_OFFSET_COMMIT
    driver.groups.replay_marker(5, 0, True)
    assert fetch(driver, stable=True) == 10


def test_offsets_of_an_aborted_transaction_never_count() -> None:
    driver = Driver()
    commit_in_transaction(driver, 5, 10)
    driver.groups.replay_marker(5, 0, False)
    assert fetch(driver, stable=True) == -1


def test_a_later_commit_outlives_an_earlier_one_whose_transaction_ends_after_it() -> None:
    driver = Driver()
    commit_in_transaction(driver, 5, 10)
    commit(driver, 20)
    driver.groups.replay_marker(5, 0, True)
    assert fetch(driver) == 20


def test_offsets_of_a_topic_of_the_same_name_are_not_shown() -> None:
    driver = Driver()
    commit(driver, 7, topic_id=b"a" * 16)
    assert fetch(driver, topic_id=b"a" * 16) == 7
    assert fetch(driver, topic_id=b"b" * 16) == -1
    assert fetch(driver) == 7


def test_offsets_of_topics_in_use_are_not_deleted() -> None:
    driver = Driver()
    (member,) = driver.settle(1, metadata=SUBSCRIBED_TO_T)
    commit(driver, 7, member.member_id, 1)
    commit(driver, 7, member.member_id, 1, topic="u")
    assert delete(driver) is ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert delete(driver, "u") is ErrorCode.NONE
    assert fetch(driver) == 7
    assert fetch(driver, topic="u") == -1


def test_a_group_is_deleted_with_its_offsets_once_it_is_empty() -> None:
    driver = Driver()
    (member,) = driver.settle(1)
    commit(driver, 7, member.member_id, 1)
    assert delete_group(driver).code is ErrorCode.NON_EMPTY_GROUP
    driver.leave(member.member_id)
    assert delete_group(driver) is None
    assert fetch(driver) == -1
    assert delete_group(driver).code is ErrorCode.GROUP_ID_NOT_FOUND
    driver.restart()
    assert driver.groups.groups == {}


def test_offsets_nobody_renews_go_after_the_retention() -> None:
    driver = Driver(offsets_retention_ms=7 * DAY_S * 1000)
    commit(driver, 7)
    driver.pass_time(6.9 * DAY_S)
    assert fetch(driver) == 7
    driver.pass_time(0.2 * DAY_S)
    assert fetch(driver) == -1
    assert driver.groups.groups == {}


def test_offsets_of_a_living_group_stay_for_topics_it_reads() -> None:
    driver = Driver(offsets_retention_ms=DAY_S * 1000)
    (member,) = driver.settle(1, metadata=SUBSCRIBED_TO_T, session_s=1800)
    commit(driver, 7, member.member_id, 1)
    commit(driver, 7, member.member_id, 1, topic="u")
    for _ in range(52):
        driver.pass_time(1700)
        driver.heartbeat(member.member_id, 1)
    driver.pass_time(1700)
    assert fetch(driver) == 7
    assert fetch(driver, topic="u") == -1


def test_the_retention_counts_from_the_moment_the_group_became_empty() -> None:
    driver = Driver(offsets_retention_ms=DAY_S * 1000)
    (member,) = driver.settle(1, metadata=SUBSCRIBED_TO_T, session_s=1800)
    commit(driver, 7, member.member_id, 1)
    for _ in range(25):
        driver.pass_time(1700)
        driver.heartbeat(member.member_id, 1)
    driver.leave(member.member_id)
    driver.pass_time(0.9 * DAY_S)
    assert fetch(driver) == 7
    driver.pass_time(0.3 * DAY_S)
    assert fetch(driver) == -1


def test_offsets_of_deleted_topics_go_with_them() -> None:
    driver = Driver()
    commit(driver, 7)
    commit_in_transaction(driver, 5, 10)
    decision: Decision[None] = removal.topics_deleted(driver.groups, frozenset({"t"}))
    driver.ask(lambda _: decision)
    driver.groups.replay_marker(5, 0, True)
    assert fetch(driver) == -1


@pytest.mark.parametrize("committed", [True, False])
def test_a_topic_deleted_within_a_transaction_leaves_nothing_behind(committed: bool) -> None:
    driver = Driver()
    commit(driver, 7, topic="u")
    commit_in_transaction(driver, 5, 10)
    driver.ask(lambda _: removal.topics_deleted(driver.groups, frozenset({"t"})))
    driver.groups.replay_marker(5, 0, committed)
    assert not driver.groups.offsets.has_open_transactions("g")
    assert fetch(driver, topic="u", stable=True) == 7
    assert delete(driver, "u") is ErrorCode.NONE
    assert removal.topics_deleted(driver.groups, frozenset({"u"})).records == []


def test_more_offsets_than_a_batch_holds_expire_one_batch_after_another() -> None:
    driver = Driver(offsets_retention_ms=DAY_S * 1000)
    for number in range(2_500):
        commit(driver, 7, topic=f"t{number}")
    driver.seconds += 1.1 * DAY_S
    first = driver.groups.tick(driver.now)
    assert len(first.records) == 1_000
    driver.ask(lambda _: first)
    driver.pass_time(1)
    assert driver.groups.groups == {}

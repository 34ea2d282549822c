"""Answers that decide what a client does next: told as Kafka tells them."""

from typing import Any, NoReturn

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.delete_topics import DeleteTopicsRequest
from ottla.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from ottla.wire.messages.init_producer_id import InitProducerIdRequest
from ottla.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from ottla.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TOPIC = 2


def test_offsets_of_a_transaction_brought_to_the_wrong_broker_are_sent_to_the_right_one(
    serving: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client looks for the coordinator again only when it hears NOT_COORDINATOR."""
    place = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    request = TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=1,
        producer_epoch=0,
        topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[place])],
    )

    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic("t", "__consumer_offsets")
            monkeypatch.setattr(asking.broker.partitions, "leader", _led_elsewhere)
            answer = await asking.ask(request, 3)
            code = ErrorCode(answer.topics[0].partitions[0].error_code)
            assert code is ErrorCode.NOT_COORDINATOR

    run(scenario())


def test_offsets_of_a_topic_that_is_deleted_while_the_transaction_is_asked_for_are_refused(
    serving: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [
        TxnOffsetCommitRequestTopic(name=name, partitions=[place])
        for name in ("kept", "gone", "never")
    ]

    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic("kept", "gone", "__consumer_offsets")

            async def admit_late(*_: object) -> None:
                await asking.ask(DeleteTopicsRequest(topic_names=["gone"], timeout_ms=5000), 5)

            monkeypatch.setattr(
                "ottla.broker.handlers.transactions.txn_offset_commit.admit", admit_late
            )
            producer = await asking.ask(InitProducerIdRequest(transaction_timeout_ms=1000), 4)
            request = TxnOffsetCommitRequest(
                transactional_id="x",
                group_id="g",
                producer_id=producer.producer_id,
                producer_epoch=0,
                topics=topics,
            )
            answer = await asking.ask(request, 3)
            assert {topic.name: topic.partitions[0].error_code for topic in answer.topics} == {
                "kept": ErrorCode.NONE,
                "gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "never": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            }

    run(scenario())


def _led_elsewhere(topic: str, partition: int) -> NoReturn:
    raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_a_name_no_topic_can_have_is_told_so_where_topics_are_not_made_on_demand(
    serving: Any, run: Any
) -> None:
    async def scenario() -> None:
        async with serving(auto_create_topics_enable="false") as asking:
            names = [MetadataRequestTopic(name=name) for name in ("no such", "nosuch")]
            answer = await asking.ask(MetadataRequest(topics=names), 12)
            assert [ErrorCode(topic.error_code) for topic in answer.topics] == [
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ]

    run(scenario())


def test_no_names_of_options_means_all_of_them(serving: Any, run: Any) -> None:
    async def scenario() -> None:
        async with serving() as asking:
            await asking.make_topic("t")
            resource = DescribeConfigsResource(
                resource_type=TOPIC, resource_name="t", configuration_keys=[]
            )
            answer = await asking.ask(DescribeConfigsRequest(resources=[resource]), 4)
            assert len(answer.results[0].configs) > 20

    run(scenario())

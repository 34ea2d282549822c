"""The reply to a Produce: bytes for the usual one, messages for the rest."""

from struct import Struct
from typing import TYPE_CHECKING

from ottla.broker.transport.pending_reply import Body
from ottla.errors import ErrorCode, KafkaError
from ottla.log.partition_log import Appended
from ottla.log.validation import InvalidRecords
from ottla.replication.leader import Leader
from ottla.wire.codec import encode, uvarint
from ottla.wire.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

if TYPE_CHECKING:
    from ottla.broker.cluster_view import ClusterView

_LEADERSHIP_ERRORS = (ErrorCode.NOT_LEADER_OR_FOLLOWER,)
FIRST_WITH_LOG_START = 5

# One topic, one partition, no error: nearly every request of a busy producer.
_PLAIN = Struct(">ihqqq")
_PLAIN_END = bytes(4)  # no throttling
_PLAIN_END_8 = bytes(4) + b"\xff\xff" + bytes(4)  # no record errors, no message
_FLEXIBLE = Struct(">BihqqqHBBiB")


class ProduceOutcome:
    """What became of one partition's batch."""

    __slots__ = ("appended", "error", "leader", "log_start_offset", "partition")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.leader: Leader | None = None
        self.appended: Appended | None = None
        self.error: KafkaError | None = None
        self.log_start_offset = -1  # known to the client also where the log refused the batch


Outcomes = list[tuple[TopicProduceData, list[ProduceOutcome]]]
"""As they were asked for."""


def write_produce_response(
    version: int,
    topics: Outcomes,
    cluster: "ClusterView",
    listener_name: str,
    throttle_ms: int = 0,
) -> Body:
    if len(topics) == 1 and version >= FIRST_WITH_LOG_START and not throttle_ms:
        topic, outcomes = topics[0]
        if len(outcomes) == 1 and outcomes[0].error is None:
            appended = outcomes[0].appended
            assert appended is not None
            return [plain_reply(version, topic, outcomes[0].partition, appended)]
    told = [
        TopicProduceResponse(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[_described(topic, outcome, cluster) for outcome in outcomes],
        )
        for topic, outcomes in topics
    ]
    leaders = {
        one.current_leader.leader_id for each in told for one in each.partition_responses
    } - {-1}
    response = ProduceResponse(
        responses=told,
        throttle_time_ms=throttle_ms,
        node_endpoints=[
            NodeEndpoint(node_id=node_id, host=host, port=port, rack=rack)
            for node_id, host, port, rack in cluster.endpoints(leaders, listener_name)
        ],
    )
    return [encode(response, version)]


def _described(
    topic: TopicProduceData, outcome: ProduceOutcome, cluster: "ClusterView"
) -> PartitionProduceResponse:
    appended, error = outcome.appended, outcome.error
    told = PartitionProduceResponse(
        index=outcome.partition,
        base_offset=-1 if appended is None else appended.first_offset,
        log_append_time_ms=-1 if appended is None else appended.append_time,
        log_start_offset=outcome.log_start_offset
        if appended is None
        else appended.log_start_offset,
    )
    if error is not None:
        told.error_code = error.code
        told.record_errors = _records_at_fault(error)
        told.error_message = error.message
        if error.code in _LEADERSHIP_ERRORS:
            told.current_leader = _current_leader(topic, outcome, cluster)
    return told


def _current_leader(
    topic: TopicProduceData, outcome: ProduceOutcome, cluster: "ClusterView"
) -> LeaderIdAndEpoch:
    """Where to go instead (KIP-951)."""
    known = cluster.partition_state(topic.name, topic.topic_id, outcome.partition)
    if known is None:
        return LeaderIdAndEpoch()
    return LeaderIdAndEpoch(leader_id=known.leader, leader_epoch=known.leader_epoch)


def _records_at_fault(error: KafkaError) -> list[BatchIndexAndErrorMessage]:
    if not isinstance(error, InvalidRecords):
        return []
    return [
        BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
        for index, message in error.records
    ]


def plain_reply(version: int, topic: TopicProduceData, partition: int, appended: Appended) -> bytes:
    """One partition that went well, without building messages."""
    first, _, append_time, log_start = appended[:4]
    if version >= 9:
        if version >= 13:
            front = b"\x02" + topic.topic_id
        else:
            name = topic.name.encode()
            front = b"\x02" + uvarint(len(name) + 1) + name
        return front + _FLEXIBLE.pack(
            2, partition, 0, first, append_time, log_start, 0x0100, 0, 0, 0, 0
        )
    name = topic.name.encode()
    front = b"\x00\x00\x00\x01" + len(name).to_bytes(2, "big") + name + b"\x00\x00\x00\x01"
    end = _PLAIN_END_8 if version >= 8 else _PLAIN_END
    return front + _PLAIN.pack(partition, 0, first, append_time, log_start) + end

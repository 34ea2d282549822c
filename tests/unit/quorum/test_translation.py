"""What members say to each other survives Kafka's wire, there and back."""

from pathlib import Path

import pytest

from ottla.errors import ErrorCode, KafkaError
from ottla.quorum import events
from ottla.quorum.config import QuorumConfig
from ottla.quorum.control_records import build_control_batch, leader_change
from ottla.quorum.events import Batch, Divergence, Known, Request, Response
from ottla.quorum.requests import CALLS, incoming, outgoing
from ottla.quorum.responses import reply, response
from ottla.quorum.snapshots import SnapshotId
from ottla.quorum.voters import Address, ReplicaKey, Voter
from ottla.wire.codec import decode, encode
from ottla.wire.message import Message

CONFIG = QuorumConfig(
    node_id=1, cluster_id="here", directory_id=bytes([1]) * 16, log_dir=Path("/nowhere")
)
OURS, THEIRS = CONFIG.key, ReplicaKey(2, bytes([2]) * 16)
PLACES = (Address("CONTROLLER", "node1", 9093), Address("OTHER", "node1", 9094))
VOTE = events.Vote(OURS, 5, 4, 77, True, THEIRS)
BEGIN = events.BeginEpoch(1, 5, PLACES, THEIRS)
END = events.EndEpoch(1, 5, PLACES, (THEIRS, ReplicaKey(3)))
FETCH = events.Fetch(OURS, 5, 77, 4, 70, 0.5)
PART = events.FetchSnapshot(OURS, 5, SnapshotId(50, 3), 4096, 1024)
ADD = events.AddVoter(THEIRS, PLACES, False, 2.0)
REMOVE = events.RemoveVoter(THEIRS)
UPDATE = events.UpdateVoter(5, Voter(THEIRS, PLACES, (0, 1)))

KNOWN = Known(ErrorCode.NONE, 5, 2, ("node2", 9093))
LOST = Known(ErrorCode.NOT_LEADER_OR_FOLLOWER, 6, None)
BATCH = build_control_batch([leader_change(2, [1, 2], [2])], base_offset=77, epoch=5, now_ms=1)


def over_the_wire(message: Message, version: int) -> Message:
    return decode(type(message), version, encode(message, version))[0]


@pytest.mark.parametrize("request_", [VOTE, BEGIN, END, FETCH, PART, ADD, REMOVE, UPDATE])
def test_a_request_arrives_as_it_was_sent(request_: Request) -> None:
    message = outgoing(request_, CONFIG)
    version, _ = CALLS[type(message)]
    assert incoming(over_the_wire(message, version), "here") == request_


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (VOTE, events.VoteReply(KNOWN, True)),
        (VOTE, events.VoteReply(LOST, False)),
        (BEGIN, events.EpochReply(KNOWN)),
        (END, events.EpochReply(LOST)),
        (FETCH, events.FetchReply(LOST)),
        (FETCH, events.FetchReply(KNOWN, 70, Divergence(3, 60))),
        (FETCH, events.FetchReply(KNOWN, 70, snapshot_id=SnapshotId(50, 3))),
        (FETCH, events.FetchReply(KNOWN, 70, batches=(Batch(77, 78, 5),), records=BATCH)),
        (
            PART,
            events.SnapshotReply(Known(ErrorCode.NONE, 5, 2), SnapshotId(50, 3), 9, 4, b"part"),
        ),
    ],
)
def test_a_response_arrives_as_it_was_sent(asked: Request, answer: Response) -> None:
    version, _ = CALLS[type(outgoing(asked, CONFIG))]
    assert response(asked, over_the_wire(reply(asked, answer), version)) == answer


def test_damaged_records_are_left_out_of_a_fetch() -> None:
    torn = BATCH[:-1] + b"\xff"
    message = reply(FETCH, events.FetchReply(KNOWN, 70, records=torn))
    answer = response(FETCH, over_the_wire(message, 18))
    assert answer == events.FetchReply(KNOWN, 70)


def test_a_request_for_another_cluster_is_refused() -> None:
    with pytest.raises(KafkaError) as refusal:
        incoming(outgoing(VOTE, CONFIG), "there")
    assert refusal.value.code == ErrorCode.INCONSISTENT_CLUSTER_ID


def test_a_request_for_another_log_is_refused() -> None:
    message = outgoing(VOTE, CONFIG)
    message.topics[0].topic_name = "orders"  # type: ignore[attr-defined]
    with pytest.raises(KafkaError) as refusal:
        incoming(message, "here")
    assert refusal.value.code == ErrorCode.INVALID_REQUEST

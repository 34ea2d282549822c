"""Framing, versions and the order of replies, as Apache Kafka 4.3.1 was seen to handle them."""

import struct
import time

import pytest
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.wire import API_KEYS, Connection, decode_response
from system.conformance.raw_topics import RawTopic

OFFERED = {  # what one Kafka 4.3.1 node offers on a client's listener
    "produce": (0, 13),
    "fetch": (4, 18),
    "list_offsets": (1, 11),
    "metadata": (0, 13),
    "offset_commit": (2, 10),
    "offset_fetch": (1, 10),
    "find_coordinator": (0, 6),
    "join_group": (0, 9),
    "heartbeat": (0, 4),
    "leave_group": (0, 5),
    "sync_group": (0, 5),
    "describe_groups": (0, 6),
    "list_groups": (0, 5),
    "api_versions": (0, 4),
    "create_topics": (2, 7),
    "delete_topics": (1, 6),
    "delete_records": (0, 2),
    "init_producer_id": (0, 5),
    "offset_for_leader_epoch": (2, 4),
    "describe_configs": (1, 4),
    "alter_configs": (0, 2),
    "describe_log_dirs": (1, 5),
    "create_partitions": (0, 3),
    "delete_groups": (0, 2),
    "incremental_alter_configs": (0, 1),
    "offset_delete": (0, 0),
    "describe_quorum": (0, 2),
    "describe_cluster": (0, 2),
    "describe_producers": (0, 0),
    "list_config_resources": (0, 1),
    "describe_topic_partitions": (0, 0),
}


@pytest.mark.parametrize("version", range(5))
def test_the_apis_are_offered_at_kafkas_versions(connection: Connection, version: int) -> None:
    asked = {"client_software_name": "raw", "client_software_version": "1"} if version > 2 else {}
    reply = connection.ask("api_versions", version, **asked)
    assert reply.error_code == ErrorCode.none
    offered = {api.api_key: (api.min_version, api.max_version) for api in reply.api_keys}
    for name, versions in OFFERED.items():
        assert offered.get(API_KEYS[name]) == versions, name


def test_feature_levels_are_told(connection: Connection) -> None:
    reply = connection.ask(
        "api_versions", 4, client_software_name="raw", client_software_version="1"
    )
    supported = {f.name: (f.min_version, f.max_version) for f in reply.supported_features}
    finalized = {f.name: f.max_version_level for f in reply.finalized_features}
    assert supported == {
        "eligible.leader.replicas.version": (0, 1),
        "group.version": (0, 1),
        "kraft.version": (0, 1),
        "metadata.version": (7, 30),
        "share.version": (0, 1),
        "streams.version": (0, 1),
        "transaction.version": (0, 2),
    }
    assert finalized == {
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
        "metadata.version": 30,
        "share.version": 1,
        "streams.version": 1,
        "transaction.version": 2,
    }
    assert reply.finalized_features_epoch >= 0


def test_a_version_of_api_versions_beyond_ours_is_answered_in_version_0(
    connection: Connection,
) -> None:
    connection.send_frame(struct.pack(">hhih", API_KEYS["api_versions"], 99, 7, -1) + b"\0")
    correlation_id, reply = decode_response("api_versions", 0, connection.receive_frame())
    assert correlation_id == 7
    assert reply.error_code == ErrorCode.unsupported_version
    assert [(a.api_key, a.min_version, a.max_version) for a in reply.api_keys] == [(18, 0, 4)]
    assert connection.ask("api_versions", 0).error_code == ErrorCode.none


@pytest.mark.parametrize(("name", "version"), [("", "1"), ("-x", "1"), ("x", ""), ("a b", "1")])
def test_a_client_with_a_bad_name_is_refused(
    connection: Connection, name: str, version: str
) -> None:
    reply = connection.ask(
        "api_versions", 3, client_software_name=name, client_software_version=version
    )
    assert reply.error_code == ErrorCode.invalid_request


@pytest.mark.parametrize(
    ("api_key", "version"),
    [(API_KEYS["metadata"], 99), (API_KEYS["fetch"], 3), (9999, 0), (-1, 0)],
    ids=["too new", "too old", "unknown api", "negative api"],
)
def test_any_other_unsupported_request_closes_the_connection(
    connection: Connection, api_key: int, version: int
) -> None:
    connection.send_frame(struct.pack(">hhih", api_key, version, 1, -1) + b"\0" * 20)
    assert connection.is_closed_by_peer()


@pytest.mark.parametrize(
    "bytes_sent",
    [
        struct.pack(">i", -1),
        struct.pack(">i", 104_857_601),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 0),
        struct.pack(">i", 3) + b"abc",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        struct.pack(">ihhih", 14, 3, 12, 1, 400) + b"abcd",
        struct.pack(">ihhihi", 14, 3, 1, 1, -1, 2**31 - 1),
    ],
    ids=[
        "negative length",
        "one byte above socket.request.max.bytes",
        "the largest length",
        "an empty frame",
        "half a header",
        "another protocol",
        "a string beyond the frame",
        "an array beyond the frame",
    ],
)
def test_a_malformed_frame_closes_its_connection_and_no_other(
    connection: Connection, bootstrap: str, bytes_sent: bytes
) -> None:
    with Connection(bootstrap) as bad:
        bad.socket.sendall(bytes_sent)
        assert bad.is_closed_by_peer()
    assert connection.ask("metadata", 1, topics=[]).brokers


def test_a_half_sent_request_does_not_hold_up_others(
    connection: Connection, bootstrap: str
) -> None:
    with Connection(bootstrap) as slow:
        slow.socket.sendall(struct.pack(">ihh", 100, 3, 12))
        assert connection.ask("metadata", 1, topics=[]).brokers


def test_pipelined_requests_are_answered_in_order(
    connection: Connection, raw_topic: RawTopic
) -> None:
    """A fetch that waits holds back the replies behind it on its connection."""
    place = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    topics = [{"topic_id": raw_topic.id, "partitions": [place]}]
    began = time.monotonic()
    sent = [connection.send("fetch", 17, max_wait=300, min_bytes=1, topics=topics)]
    sent += [connection.send("metadata", 12, topics=[]) for _ in range(20)]
    received = [connection.receive("fetch", 17)[0]]
    assert time.monotonic() - began >= 0.29
    received += [connection.receive("metadata", 12)[0] for _ in range(20)]
    assert received == sent


def test_acks_0_gets_no_reply(connection: Connection, raw_topic: RawTopic) -> None:
    data = [{"index": 0, "records": batch([b"silent"])}]
    topics = [{"name": raw_topic.name, "partition_data": data}]
    connection.send("produce", 9, acks=0, timeout=1000, topic_data=topics)
    assert raw_topic.fetch(max_wait=2000).high_watermark == 1


def test_acks_0_that_fails_closes_the_connection(
    connection: Connection, raw_topic: RawTopic
) -> None:
    data = [{"index": 0, "records": batch([b"silent"], crc=1)}]
    topics = [{"name": raw_topic.name, "partition_data": data}]
    connection.send("produce", 9, acks=0, timeout=1000, topic_data=topics)
    assert connection.is_closed_by_peer()


def test_an_unknown_tagged_field_is_skipped(connection: Connection) -> None:
    """Client ids and bodies may carry tags of a later Kafka."""
    header = struct.pack(">hhih", API_KEYS["metadata"], 12, 5, 1) + b"c"
    tagged = b"\x01" + b"\x64" + b"\x03" + b"abc"  # one field: tag 100, three bytes
    body = b"\x01" + b"\0" + b"\0" + tagged  # no topics; two flags
    connection.send_frame(header + tagged + body)
    correlation_id, reply = decode_response("metadata", 12, connection.receive_frame())
    assert correlation_id == 5
    assert reply.topics == ()

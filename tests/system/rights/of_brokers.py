"""What brokers are asked: every API of theirs, filled so that nothing changes."""

from collections.abc import Callable
from typing import Any

from system.rights.people import (
    ABSENT,
    MOVER,
    NOBODY,
    NOTHING,
    ORDERS,
    OTHER,
    READERS,
    SECRET,
    STRANGERS,
)
from system.rights.question import NO_SUCH_ID, Ids, question

TOPICS = (ORDERS, SECRET, NOTHING)
GROUPS = (READERS, STRANGERS, NOBODY)
TRANSACTIONS = (MOVER, OTHER, ABSENT)
UNKNOWN_PRODUCER: dict[str, Any] = {"producer_id": 1 << 40, "producer_epoch": 0}
TOPIC_RESOURCE, BROKER_RESOURCE, METRICS_RESOURCE, GROUP_RESOURCE = 2, 4, 16, 32


def each_topic(**partition: Any) -> Callable[[Ids], list[dict[str, Any]]]:
    """By name, or by id where the version has ids; with one partition."""

    def made(ids: Ids) -> list[dict[str, Any]]:
        return [
            {
                "name": name,
                "topic": name,
                "topic_name": name,
                "topic_id": ids.get(name, NO_SUCH_ID),
                "partitions": [partition],
                "partition_data": [partition],
            }
            for name in TOPICS
        ]

    return made


def numbered(field: str) -> list[dict[str, Any]]:
    """Topics with a list of partition numbers."""
    return [{"name": name, "topic": name, "topic_name": name, field: [0]} for name in TOPICS]


def named(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "topic_name": name, **more} for name in names]


def resources(**more: Any) -> list[dict[str, Any]]:
    kinds = [(TOPIC_RESOURCE, name) for name in TOPICS]
    kinds += [(GROUP_RESOURCE, name) for name in GROUPS]
    kinds += [(BROKER_RESOURCE, "1"), (METRICS_RESOURCE, "rt-metrics")]
    return [{"resource_type": kind, "resource_name": name, **more} for kind, name in kinds]


def shared(**partition: Any) -> list[dict[str, Any]]:
    return [{"topic_id": NO_SUCH_ID, "partitions": [{"partition": 0, **partition}]}]


def broken_batch(*, transactional: bool) -> bytes:
    """Its checksum is wrong, its header is not."""
    attributes = b"\x00\x10" if transactional else b"\x00\x00"
    producer = (7).to_bytes(8, "big") + bytes(6) if transactional else b"\xff" * 14
    body = attributes + bytes(4) + bytes(16) + producer + (1).to_bytes(4, "big")
    body += b"\x10\x00\x00\x00\x01\x01x\x00\x00"
    inside = bytes(4) + b"\x02" + b"bad!" + body
    return bytes(8) + len(inside).to_bytes(4, "big") + inside


NO_RULE: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": "User:rt-absent",
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}
LEAVING: dict[str, Any] = {"member_id": "rt-member", "member_epoch": -1}

OF_BROKERS = (
    question(
        "produce",
        acks=1,
        timeout_ms=1000,
        topic_data=each_topic(index=0, records=broken_batch(transactional=False)),
    ),
    question(
        "produce",
        "in a transaction",
        transactional_id=MOVER,
        acks=-1,
        timeout_ms=1000,
        topic_data=each_topic(index=0, records=broken_batch(transactional=True)),
    ),
    question(
        "fetch",
        replica_id=-1,
        max_bytes=1000,
        session_epoch=-1,
        topics=each_topic(partition=0, partition_max_bytes=1000),
    ),
    question(
        "fetch",
        "as a replica",
        replica_id=7,
        replica_state={"replica_id": 7, "replica_epoch": -1},
        max_bytes=1000,
        session_epoch=-1,
        topics=each_topic(partition=0, partition_max_bytes=1000),
    ),
    question("list_offsets", replica_id=-1, topics=each_topic(partition_index=0, timestamp=-1)),
    question(
        "metadata",
        topics=named(*TOPICS),
        allow_auto_topic_creation=False,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    ),
    question(
        "metadata",
        "by id",
        range(12, 100),
        topics=lambda ids: [{"topic_id": one, "name": None} for one in (*ids.values(), NO_SUCH_ID)],
        include_topic_authorized_operations=True,
    ),
    question("metadata", "of all", range(1, 100), topics=None),
    question(
        "offset_commit",
        group_id=READERS,
        generation_id_or_member_epoch=-1,
        topics=each_topic(partition_index=0, committed_offset=5),
    ),
    question(
        "offset_fetch",
        group_id=READERS,
        topics=numbered("partition_indexes"),
        groups=lambda ids: [
            {
                "group_id": group,
                "member_epoch": -1,
                "topics": [
                    {"name": t, "topic_id": ids.get(t, NO_SUCH_ID), "partition_indexes": [0]}
                    for t in TOPICS
                ],
            }
            for group in GROUPS
        ],
    ),
    question(
        "offset_fetch",
        "of all",
        range(2, 100),
        group_id=READERS,
        topics=None,
        groups=[{"group_id": one, "member_epoch": -1, "topics": None} for one in GROUPS],
    ),
    question("find_coordinator", "group", key=READERS, key_type=0, coordinator_keys=[*GROUPS]),
    question(
        "find_coordinator",
        "transaction",
        range(1, 100),
        key=MOVER,
        key_type=1,
        coordinator_keys=[*TRANSACTIONS],
    ),
    question(
        "find_coordinator",
        "share",
        range(6, 100),
        key_type=2,
        coordinator_keys=[f"{READERS}:AAAAAAAAAAAAAAAAAAAAAQ:0"],
    ),
    question(
        "join_group",
        group_id=READERS,
        session_timeout_ms=1,
        rebalance_timeout_ms=1,
        protocol_type="consumer",
        protocols=[{"name": "range", "metadata": b""}],
    ),
    question("heartbeat", group_id=READERS, generation_id=1, member_id="rt-member"),
    question(
        "leave_group",
        group_id=READERS,
        member_id="rt-member",
        members=[{"member_id": "rt-member"}],
    ),
    question("sync_group", group_id=READERS, generation_id=1, member_id="rt-member"),
    question("describe_groups", groups=[*GROUPS], include_authorized_operations=True),
    question("list_groups"),
    question(
        "create_topics",
        topics=[{"name": name, "num_partitions": 1, "replication_factor": 1} for name in TOPICS],
        timeout_ms=5000,
        validate_only=True,
    ),
    question(
        "delete_topics",
        topics=[{"name": NOTHING}, {"name": None, "topic_id": NO_SUCH_ID}],
        topic_names=[NOTHING],
        timeout_ms=5000,
    ),
    question("delete_records", topics=each_topic(partition_index=0, offset=0), timeout_ms=5000),
    question("init_producer_id", transactional_id=None, transaction_timeout_ms=1000),
    question("init_producer_id", "transaction", transactional_id=MOVER, transaction_timeout_ms=0),
    question(
        "offset_for_leader_epoch",
        replica_id=-1,
        topics=each_topic(partition=0, current_leader_epoch=-1, leader_epoch=0),
    ),
    question(
        "add_partitions_to_txn",
        v3_and_below_transactional_id=MOVER,
        v3_and_below_producer_id=1 << 40,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=numbered("partitions"),
        transactions=[
            {
                "transactional_id": one,
                **UNKNOWN_PRODUCER,
                "verify_only": True,
                "topics": numbered("partitions"),
            }
            for one in TRANSACTIONS
        ],
    ),
    question("add_offsets_to_txn", transactional_id=MOVER, **UNKNOWN_PRODUCER, group_id=READERS),
    question("end_txn", transactional_id=MOVER, **UNKNOWN_PRODUCER, committed=True),
    question(
        "write_txn_markers",
        markers=[{**UNKNOWN_PRODUCER, "topics": [{"name": NOTHING, "partition_indexes": [0]}]}],
    ),
    question(
        "txn_offset_commit",
        transactional_id=MOVER,
        group_id=READERS,
        **UNKNOWN_PRODUCER,
        generation_id=-1,
        topics=each_topic(partition_index=0, committed_offset=5),
    ),
    question("describe_acls", **NO_RULE),
    question(
        "create_acls",
        creations=[
            {
                "resource_type": 2,
                "resource_name": "",
                "resource_pattern_type": 3,
                "principal": "User:rt-absent",
                "host": "*",
                "operation": 3,
                "permission_type": 3,
            }
        ],
    ),
    question("delete_acls", filters=[NO_RULE]),
    question("describe_configs", resources=resources(configuration_keys=["compression.type"])),
    question("alter_configs", resources=resources(configs=[]), validate_only=True),
    question("incremental_alter_configs", resources=resources(configs=[]), validate_only=True),
    question(
        "alter_replica_log_dirs",
        dirs=[{"path": "/rt-nowhere", "topics": numbered("partitions")}],
    ),
    question("describe_log_dirs", topics=numbered("partitions")),
    question(
        "create_partitions", topics=named(*TOPICS, count=1), timeout_ms=5000, validate_only=True
    ),
    question("delete_groups", groups_names=[NOBODY]),
    question("elect_leaders", topic_partitions=numbered("partitions"), timeout_ms=5000),
    question(
        "alter_partition_reassignments",
        timeout_ms=5000,
        topics=[{"name": NOTHING, "partitions": [{"partition_index": 0, "replicas": [1]}]}],
    ),
    question("list_partition_reassignments", timeout_ms=5000, topics=numbered("partition_indexes")),
    question(
        "offset_delete",
        group_id=READERS,
        topics=[
            {"name": name, "partitions": [{"partition_index": 0}]} for name in (SECRET, NOTHING)
        ],
    ),
    question("describe_client_quotas", components=[], strict=True),
    question(
        "alter_client_quotas",
        entries=[
            {
                "entity": [{"entity_type": "user", "entity_name": "rt-absent"}],
                "ops": [{"key": "producer_byte_rate", "value": 1000.0}],
            }
        ],
        validate_only=True,
    ),
    question("describe_user_scram_credentials", users=[{"name": "rt-absent"}]),
    question("alter_user_scram_credentials", deletions=[{"name": "rt-absent", "mechanism": 1}]),
    question(
        "describe_quorum",
        topics=[{"topic_name": "rt-not-metadata", "partitions": [{"partition_index": 0}]}],
    ),
    question("update_features", timeout_ms=5000, validate_only=True),
    question("describe_cluster", include_cluster_authorized_operations=True, endpoint_type=1),
    question("describe_producers", topics=numbered("partition_indexes")),
    question("unregister_broker", broker_id=99),
    question("describe_transactions", transactional_ids=[*TRANSACTIONS]),
    question("list_transactions", duration_filter=-1),
    question(
        "consumer_group_heartbeat",
        group_id=READERS,
        **LEAVING,
        subscribed_topic_names=[*TOPICS],
    ),
    question("consumer_group_describe", group_ids=[*GROUPS], include_authorized_operations=True),
    question("list_config_resources", resource_types=[16]),
    question("describe_topic_partitions", topics=named(*TOPICS), response_partition_limit=100),
    question("share_group_heartbeat", group_id=NOBODY, **LEAVING, subscribed_topic_names=[*TOPICS]),
    question("share_group_describe", group_ids=[*GROUPS], include_authorized_operations=True),
    question(
        "share_fetch",
        group_id=NOBODY,
        member_id="AAAAAAAAAAAAAAAAAAAAAQ",
        share_session_epoch=-1,
        max_bytes=1000,
        max_records=10,
        batch_size=10,
        topics=lambda ids: [
            {"topic_id": ids[name], "partitions": [{"partition_index": 0}]}
            for name in (ORDERS, SECRET)
        ],
    ),
    question(
        "share_acknowledge",
        group_id=NOBODY,
        member_id="AAAAAAAAAAAAAAAAAAAAAQ",
        share_session_epoch=-1,
        topics=lambda ids: [
            {"topic_id": ids[name], "partitions": [{"partition_index": 0}]}
            for name in (ORDERS, SECRET)
        ],
    ),
    question("add_raft_voter", cluster_id="rt-another", timeout_ms=5000, voter_id=9),
    question("remove_raft_voter", cluster_id="rt-another", voter_id=9),
    question("initialize_share_group_state", group_id="", topics=shared()),
    question("read_share_group_state", group_id="", topics=shared()),
    question("write_share_group_state", group_id="", topics=shared()),
    question("delete_share_group_state", group_id="", topics=shared()),
    question("read_share_group_state_summary", group_id="", topics=shared()),
    question("streams_group_heartbeat", group_id=NOBODY, **LEAVING),
    question("streams_group_describe", group_ids=[*GROUPS], include_authorized_operations=True),
    question(
        "describe_share_group_offsets",
        groups=[{"group_id": group, "topics": numbered("partitions")} for group in GROUPS],
    ),
    question(
        "alter_share_group_offsets",
        group_id=STRANGERS,
        topics=[
            {"topic_name": n, "partitions": [{"partition_index": 0, "start_offset": 0}]}
            for n in TOPICS
        ],
    ),
    question("delete_share_group_offsets", group_id=NOBODY, topics=named(*TOPICS)),
)

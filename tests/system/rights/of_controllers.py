"""What controllers alone are asked, by brokers and by each other."""

from system.rights.question import NO_SUCH_ID, question

ANOTHER = "rt-another-cluster"
QUORUM = "__cluster_metadata"
OF_CONTROLLERS = (
    question(
        "fetch",
        "of the quorum",
        range(12, 100),
        cluster_id=ANOTHER,
        replica_id=7,
        max_bytes=1000,
        topics=[{"topic": QUORUM, "topic_id": NO_SUCH_ID, "partitions": [{"partition": 0}]}],
    ),
    *(
        question(
            api,
            cluster_id=ANOTHER,
            topics=[{"topic_name": QUORUM, "name": QUORUM, "partitions": [{}]}],
        )
        for api in ("vote", "begin_quorum_epoch", "end_quorum_epoch", "fetch_snapshot")
    ),
    question("update_raft_voter", cluster_id=None, current_leader_epoch=0, voter_id=9),
    question("broker_registration", broker_id=99, cluster_id=ANOTHER),
    *(
        question(api, broker_id=99, broker_epoch=1)
        for api in (
            "broker_heartbeat",
            "alter_partition",
            "allocate_producer_ids",
            "assign_replicas_to_dirs",
        )
    ),
    question("envelope"),
)

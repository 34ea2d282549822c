"""What access rules keep out: the same questions to Apache Kafka and to Ottla."""

from kio.schema.errors import ErrorCode

from support.secured import (
    ALL,
    ALTER_CONFIGS,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    PREFIXED,
    READ,
    TOPIC,
    WRITE,
    Secured,
    create_topic,
)


def test_a_topic_one_may_not_see_is_refused_whether_it_exists_or_not(secured: Secured) -> None:
    secured.create("hidden")
    with secured.by("alice") as connection:
        topics = [{"topic_id": None, "name": name} for name in ("hidden", "not there")]
        reply = connection.ask("metadata", 12, topics=topics, allow_auto_topic_creation=False)
        told = [(one.name, one.error_code, one.topic_id, one.partitions) for one in reply.topics]
        denied = ErrorCode.topic_authorization_failed
        assert sorted(told, key=str) == [
            ("hidden", denied, None, ()),
            ("not there", denied, None, ()),
        ]
        everything = connection.ask("metadata", 12, topics=None)
        assert [one.name for one in everything.topics] == []


def test_of_all_topics_those_are_told_that_one_may_see(secured: Secured) -> None:
    secured.create("seen-1")
    secured.create("unseen")
    secured.allow("bob", (TOPIC, "seen-", DESCRIBE), pattern=PREFIXED)
    with secured.by("bob") as connection:
        reply = connection.ask("metadata", 12, topics=None)
        assert [one.name for one in reply.topics] == ["seen-1"]


def test_a_denial_wins_and_a_right_to_read_lets_see(secured: Secured) -> None:
    secured.create("mixed")
    secured.add_user("dora", "secret")
    secured.allow("dora", (TOPIC, "mixed", READ))
    with secured.by("dora") as connection:
        seen = [{"topic_id": None, "name": "mixed"}]
        reply = connection.ask("metadata", 12, topics=seen)
        assert reply.topics[0].error_code == ErrorCode.none
        secured.allow("dora", (TOPIC, "mixed", ALL), permission=DENY)
        reply = connection.ask("metadata", 12, topics=seen)
        assert reply.topics[0].error_code == ErrorCode.topic_authorization_failed


def test_rules_of_other_hosts_do_not_count(secured: Secured) -> None:
    secured.create("from-afar")
    secured.allow("alice", (TOPIC, "from-afar", DESCRIBE), host="10.1.2.3")
    with secured.by("alice") as connection:
        reply = connection.ask("metadata", 12, topics=[{"topic_id": None, "name": "from-afar"}])
        assert reply.topics[0].error_code == ErrorCode.topic_authorization_failed


def test_topics_are_made_and_deleted_by_those_who_may(secured: Secured) -> None:
    secured.add_user("maker", "secret")
    secured.allow("maker", (TOPIC, "made-", CREATE), pattern=PREFIXED)
    with secured.by("maker") as connection:
        refused = create_topic(connection, "other")
        assert refused.error_code == ErrorCode.topic_authorization_failed
        made = create_topic(connection, "made-1")
        assert made.error_code == ErrorCode.none
        assert made.topic_config_error_code == ErrorCode.topic_authorization_failed
        assert (made.num_partitions, made.replication_factor) == (-1, -1)
        topics = [{"name": "made-1", "topic_id": None}, {"name": "never", "topic_id": None}]
        reply = connection.ask("delete_topics", 6, topics=topics, timeout=5000)
        assert {one.name: one.error_code for one in reply.responses} == {
            "made-1": ErrorCode.topic_authorization_failed,
            "never": ErrorCode.topic_authorization_failed,
        }
        secured.allow("maker", (TOPIC, "made-", DELETE), pattern=PREFIXED)
        reply = connection.ask("delete_topics", 6, topics=topics[:1], timeout=5000)
        assert [one.error_code for one in reply.responses] == [ErrorCode.none]


def test_groups_are_closed_to_those_without_a_right(secured: Secured) -> None:
    denied = ErrorCode.group_authorization_failed
    with secured.by("alice") as connection:
        found = connection.ask("find_coordinator", 4, key_type=0, coordinator_keys=["g"])
        assert [one.error_code for one in found.coordinators] == [denied]
        reply = connection.ask("join_group", 5, group_id="g", session_timeout=6000)
        assert reply.error_code == denied
        reply = connection.ask("heartbeat", 4, group_id="g")
        assert reply.error_code == denied
        reply = connection.ask("offset_fetch", 8, groups=[{"group_id": "g", "topics": None}])
        assert [one.error_code for one in reply.groups] == [denied]
        reply = connection.ask("describe_groups", 5, groups=["g"])
        assert [one.error_code for one in reply.groups] == [denied]
        reply = connection.ask("delete_groups", 2, groups_names=["g"])
        assert [one.error_code for one in reply.results] == [denied]
        assert connection.ask("list_groups", 4).groups == ()


def test_settings_are_told_and_changed_by_those_who_may(secured: Secured) -> None:
    secured.create("settings")
    with secured.by("alice") as connection:
        resources = [
            {"resource_type": 2, "resource_name": "settings", "configuration_keys": None},
            {"resource_type": 4, "resource_name": "1", "configuration_keys": None},
            {"resource_type": 32, "resource_name": "g", "configuration_keys": None},
        ]
        reply = connection.ask("describe_configs", 4, resources=resources)
        assert {one.resource_type: one.error_code for one in reply.results} == {
            2: ErrorCode.topic_authorization_failed,
            4: ErrorCode.cluster_authorization_failed,
            32: ErrorCode.group_authorization_failed,
        }
        reply = connection.ask(
            "incremental_alter_configs",
            1,
            resources=[{"resource_type": 2, "resource_name": "settings"}],
        )
        assert [one.error_code for one in reply.responses] == [ErrorCode.topic_authorization_failed]


def test_ids_for_producers_need_a_right_to_write_something(secured: Secured) -> None:
    secured.add_user("idem", "secret")
    with secured.by("idem") as connection:
        reply = connection.ask("init_producer_id", 4, transactional_id=None)
        assert reply.error_code == ErrorCode.cluster_authorization_failed
        reply = connection.ask("init_producer_id", 4, transactional_id="tx")
        assert reply.error_code == ErrorCode.transactional_id_authorization_failed
        secured.allow("idem", (TOPIC, "anything", WRITE))
        assert connection.new_producer_id() >= 0


def test_records_are_read_and_written_by_those_who_may(secured: Secured) -> None:
    secured.create("records")
    secured.create("others")
    secured.add_user("rita", "secret")
    secured.allow("rita", (TOPIC, "records", READ))
    denied = ErrorCode.topic_authorization_failed
    with secured.by("rita") as connection:
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
        reply = connection.ask(
            "fetch",
            12,
            replica_id=-1,
            max_wait=0,
            max_bytes=1000,
            topics=[{"topic": name, "partitions": [partition]} for name in ("records", "others")],
        )
        told = {one.topic: one.partitions[0].error_code for one in reply.responses}
        assert told == {"records": ErrorCode.none, "others": denied}
        data = [{"index": 0, "records": None}]
        reply = connection.ask(
            "produce",
            9,
            acks=1,
            timeout=1000,
            topic_data=[{"name": name, "partition_data": data} for name in ("records", "others")],
        )
        codes = {one.name: one.partition_responses[0].error_code for one in reply.responses}
        assert codes == {"records": denied, "others": denied}
        listed = connection.ask(
            "list_offsets",
            7,
            replica_id=-1,
            topics=[
                {"name": name, "partitions": [{"partition_index": 0, "timestamp": -1}]}
                for name in ("records", "others")
            ],
        )
        codes = {one.name: one.partitions[0].error_code for one in listed.topics}
        assert codes == {"records": ErrorCode.none, "others": denied}


def test_nobody_reads_as_a_replica_without_the_right_to_be_one(secured: Secured) -> None:
    secured.create("replicated")
    secured.add_user("ruth", "secret")
    secured.allow("ruth", (TOPIC, "replicated", READ))
    with secured.by("ruth") as connection:
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
        reply = connection.ask(
            "fetch",
            12,
            replica_id=1,
            max_wait=0,
            max_bytes=1000,
            topics=[{"topic": "replicated", "partitions": [partition]}],
        )
        told = [one.partitions[0].error_code for one in reply.responses]
        assert told == [ErrorCode.topic_authorization_failed]


def test_allowed_operations_are_told_as_they_are(secured: Secured) -> None:
    secured.create("operations")
    secured.add_user("olga", "secret")
    secured.allow("olga", (TOPIC, "operations", READ), (TOPIC, "operations", ALTER_CONFIGS))
    with secured.by("olga") as connection:
        reply = connection.ask(
            "metadata",
            10,
            topics=[{"topic_id": None, "name": "operations"}],
            include_topic_authorized_operations=True,
            include_cluster_authorized_operations=True,
        )
        bits = sum(1 << one for one in (READ, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS))
        assert reply.topics[0].topic_authorized_operations == bits
        assert reply.cluster_authorized_operations == 0
        cluster = connection.ask("describe_cluster", 0, include_cluster_authorized_operations=True)
        assert cluster.cluster_authorized_operations == 0


def test_the_cluster_s_affairs_are_closed_to_others(secured: Secured) -> None:
    denied = ErrorCode.cluster_authorization_failed
    with secured.by("alice") as connection:
        reply = connection.ask("describe_log_dirs", 4, topics=None)
        assert reply.error_code == denied
        reply = connection.ask("list_partition_reassignments", 0, topics=None)
        assert reply.error_code == denied
        reply = connection.ask("describe_quorum", 1)
        assert reply.error_code == denied
        reply = connection.ask("find_coordinator", 6, key_type=2, coordinator_keys=["a:b:0"])
        assert {one.error_code for one in reply.coordinators} <= {denied}

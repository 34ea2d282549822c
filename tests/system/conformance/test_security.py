"""Users, access rules and what they keep out: the same questions to Apache Kafka and to Ottla.

One broker with two listeners: PLAINTEXT, where everybody is a super user and tests set things up,
and SECURE (SASL_PLAINTEXT), where nobody is.
"""

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from ottla.security import plain, scram
from support.brokers import Kind
from support.secured import (
    ALL,
    ALLOW,
    ALTER_CONFIGS,
    CLUSTER,
    CREATE,
    DELETE,
    DENY,
    DESCRIBE,
    DESCRIBE_CONFIGS,
    EVERY_RULE,
    LITERAL,
    PREFIXED,
    READ,
    SHA_512,
    TOPIC,
    WRITE,
    Secured,
    create_topic,
    running_secured,
    sign_in,
)
from support.wire import Connection


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("secured")) as secured:
        yield secured


# Who comes ------------------------------------------------------------------------------------


def test_a_user_proves_itself_and_is_served(secured: Secured) -> None:
    with secured.by("root") as connection:
        assert len(connection.ask("metadata", 1, topics=[]).brokers) == 1


def test_versions_may_be_asked_before_anything_else(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        reply = connection.ask("api_versions", 0)
        assert {17, 18, 36} <= {api.api_key for api in reply.api_keys}
        assert sign_in(connection, "root", "secret").error_code == ErrorCode.none


def test_versions_asked_twice_before_the_handshake_end_it(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        connection.ask("api_versions", 0)
        connection.send("api_versions", 0)
        assert connection.is_closed_by_peer()


@pytest.mark.parametrize("api", ["metadata", "produce", "create_topics", "describe_acls"])
def test_nothing_else_is_answered_before_it_is_known_who_asks(secured: Secured, api: str) -> None:
    version = {"metadata": 1, "produce": 9, "create_topics": 5, "describe_acls": 3}[api]
    with Connection(secured.address) as connection:
        connection.send(api, version)
        assert connection.is_closed_by_peer()


def test_a_mechanism_that_is_not_offered_is_refused_with_those_that_are(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        reply = connection.ask("sasl_handshake", 1, mechanism="GSSAPI")
        assert reply.error_code == ErrorCode.unsupported_sasl_mechanism
        assert sorted(reply.mechanisms) == ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
        assert connection.is_closed_by_peer()


def test_a_wrong_password_is_refused_and_the_connection_closed(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        reply = sign_in(connection, "alice", "wrong")
        assert reply.error_code == ErrorCode.sasl_authentication_failed
        assert connection.is_closed_by_peer()


def test_an_unknown_user_is_refused(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        reply = sign_in(connection, "nobody", "secret")
        assert reply.error_code == ErrorCode.sasl_authentication_failed
        assert connection.is_closed_by_peer()


def test_a_token_before_the_handshake_ends_it(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        connection.send("sasl_authenticate", 2, auth_bytes=b"\0pia\0plain secret")
        connection.socket.settimeout(5)
        try:
            connection.receive_frame()
        except ConnectionResetError:
            return
        assert connection.is_closed_by_peer()


def test_plain_knows_the_users_of_the_jaas_line(secured: Secured) -> None:
    for password, error in (
        ("plain secret", ErrorCode.none),
        ("other", ErrorCode.sasl_authentication_failed),
    ):
        with Connection(secured.address) as connection:
            connection.ask("sasl_handshake", 1, mechanism="PLAIN")
            token = plain.message("pia", password)
            reply = connection.ask("sasl_authenticate", 2, auth_bytes=token)
            assert reply.error_code == error


def test_sessions_have_an_end_and_are_renewed_on_the_same_connection(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        for _ in range(2):
            handshake = connection.ask("sasl_handshake", 1, mechanism="PLAIN")
            assert handshake.error_code == ErrorCode.none
            token = plain.message("pia", "plain secret")
            reply = connection.ask("sasl_authenticate", 2, auth_bytes=token)
            assert reply.error_code == ErrorCode.none
            assert reply.session_lifetime.total_seconds() == 60
        assert connection.ask("metadata", 1, topics=[]).brokers


def test_a_connection_cannot_become_another_users(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        connection.ask("sasl_handshake", 1, mechanism="PLAIN")
        token = plain.message("pia", "plain secret")
        connection.ask("sasl_authenticate", 2, auth_bytes=token)
        connection.ask("sasl_handshake", 1, mechanism="SCRAM-SHA-256")
        client = scram.ScramClient(scram.SHA_256, "root", "secret", nonce="n")
        connection.send("sasl_authenticate", 2, auth_bytes=client.first())
        assert connection.is_closed_by_peer()


def test_an_old_handshake_is_followed_by_bare_tokens(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        reply = connection.ask("sasl_handshake", 0, mechanism="PLAIN")
        assert reply.error_code == ErrorCode.none
        connection.send_frame(plain.message("pia", "plain secret"))
        assert connection.receive_frame() == b""
        assert connection.ask("metadata", 1, topics=[]).brokers


def test_without_sessions_that_end_a_second_handshake_is_out_of_place(secured: Secured) -> None:
    with secured.by("root") as connection:
        reply = connection.ask("sasl_handshake", 1, mechanism="SCRAM-SHA-256")
        assert reply.error_code == ErrorCode.illegal_sasl_state
        reply = connection.ask("sasl_authenticate", 2, auth_bytes=b"x")
        assert reply.error_code == ErrorCode.illegal_sasl_state


def test_on_a_plaintext_listener_a_handshake_is_out_of_place(secured: Secured) -> None:
    with secured.setup() as connection:
        reply = connection.ask("sasl_handshake", 1, mechanism="PLAIN")
        assert reply.error_code == ErrorCode.illegal_sasl_state


def test_a_frame_that_is_too_long_ends_it_before_it_is_read(secured: Secured) -> None:
    with Connection(secured.address) as connection:
        connection.socket.sendall(struct.pack(">i", 64 * 1024 * 1024))
        assert connection.is_closed_by_peer()


# Users ----------------------------------------------------------------------------------------


def test_users_are_described_without_their_keys(secured: Secured) -> None:
    secured.add_user("carol", "secret", SHA_512)
    with secured.setup() as connection:
        reply = connection.ask(
            "describe_user_scram_credentials",
            0,
            users=[{"name": name} for name in ("carol", "nobody", "bob", "bob")],
        )
    told = {one.user: (one.error_code, one.credential_infos) for one in reply.results}
    assert told["carol"][0] == ErrorCode.none
    assert [(one.mechanism, one.iterations) for one in told["carol"][1]] == [(SHA_512, 4096)]
    assert told["nobody"][0] == ErrorCode.resource_not_found
    assert told["bob"][0] == ErrorCode.duplicate_resource


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"name": "", "mechanism": 1, "iterations": 4096}, ErrorCode.unacceptable_credential),
        ({"name": "x", "mechanism": 9, "iterations": 4096}, ErrorCode.unsupported_sasl_mechanism),
        ({"name": "x", "mechanism": 1, "iterations": 4095}, ErrorCode.unacceptable_credential),
        ({"name": "x", "mechanism": 1, "iterations": 16385}, ErrorCode.unacceptable_credential),
    ],
)
def test_a_credential_that_is_too_weak_is_refused(
    secured: Secured, change: dict[str, Any], error: ErrorCode
) -> None:
    change |= {"salt": b"salt", "salted_password": b"password"}
    with secured.setup() as connection:
        reply = connection.ask("alter_user_scram_credentials", 0, upsertions=[change])
    assert [one.error_code for one in reply.results] == [error]


def test_a_user_is_changed_once_in_a_request(secured: Secured) -> None:
    one = {"name": "twice", "mechanism": 1, "iterations": 4096}
    one |= {"salt": b"salt", "salted_password": b"password"}
    gone = {"name": "never there", "mechanism": 1}
    with secured.setup() as connection:
        reply = connection.ask(
            "alter_user_scram_credentials", 0, deletions=[gone], upsertions=[one, one]
        )
    assert {result.user: result.error_code for result in reply.results} == {
        "twice": ErrorCode.duplicate_resource,
        "never there": ErrorCode.resource_not_found,
    }


# Rules ----------------------------------------------------------------------------------------


def rule(**fields: Any) -> dict[str, Any]:
    return {
        "resource_type": TOPIC,
        "resource_name": "t",
        "resource_pattern_type": LITERAL,
        "principal": "User:x",
        "host": "*",
        "operation": READ,
        "permission_type": ALLOW,
        **fields,
    }


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"resource_type": 1}, ErrorCode.unknown_server_error),
        ({"resource_type": CLUSTER, "resource_name": "other"}, ErrorCode.invalid_request),
        ({"resource_name": ""}, ErrorCode.invalid_request),
        ({"resource_pattern_type": 2}, ErrorCode.unknown_server_error),
        ({"operation": 1}, ErrorCode.unknown_server_error),
        ({"permission_type": 1}, ErrorCode.unknown_server_error),
        ({"principal": "x"}, ErrorCode.invalid_request),
    ],
    ids=str,
)
def test_a_rule_that_means_nothing_is_refused(
    secured: Secured, wrong: dict[str, Any], error: ErrorCode
) -> None:
    with secured.setup() as connection:
        reply = connection.ask("create_acls", 3, creations=[rule(**wrong)])
    assert [one.error_code for one in reply.results] == [error]


@pytest.mark.parametrize("part", ["resource_type", "resource_pattern_type", "operation"])
def test_a_rule_with_parts_left_out_ends_the_connection(secured: Secured, part: str) -> None:
    with secured.setup() as connection:
        connection.send("create_acls", 3, creations=[rule(**{part: 0})])
        assert connection.is_closed_by_peer()


def test_a_filter_with_parts_left_out_ends_the_connection(secured: Secured) -> None:
    for api, fields in (
        ("describe_acls", {**EVERY_RULE, "operation": 0}),
        ("delete_acls", {"filters": [{**EVERY_RULE, "operation": 0}]}),
    ):
        with secured.setup() as connection:
            connection.send(api, 3, **fields)
            assert connection.is_closed_by_peer()


def test_parts_that_nobody_knows_yet_are_refused_or_found_nowhere(secured: Secured) -> None:
    with secured.setup() as connection:
        reply = connection.ask("create_acls", 3, creations=[rule(operation=99)])
        assert [one.error_code for one in reply.results] == [ErrorCode.invalid_request]
        unknown = {**EVERY_RULE, "operation": 99}
        assert connection.ask("describe_acls", 3, **unknown).resources == ()
        reply = connection.ask("delete_acls", 3, filters=[unknown])
        assert [one.error_code for one in reply.filter_results] == [ErrorCode.invalid_request]


def test_rules_are_found_and_deleted_by_filters(secured: Secured) -> None:
    secured.allow("fay", (TOPIC, "fay-1", READ), (TOPIC, "fay-2", WRITE))
    secured.allow("fay", (TOPIC, "fay-", ALL), pattern=PREFIXED)
    any_rule = {**EVERY_RULE, "principal_filter": "User:fay"}
    with secured.setup() as connection:
        told = connection.ask("describe_acls", 3, **any_rule)
        found = {
            (one.resource_name, one.pattern_type, acl.operation)
            for one in told.resources
            for acl in one.acls
        }
        assert found == {
            ("fay-1", LITERAL, READ),
            ("fay-2", LITERAL, WRITE),
            ("fay-", PREFIXED, ALL),
        }
        match = {**any_rule, "resource_type_filter": TOPIC, "pattern_type_filter": 2}
        match["resource_name_filter"] = "fay-1"
        gone = connection.ask("delete_acls", 3, filters=[match, any_rule])
        assert [len(one.matching_acls) for one in gone.filter_results] == [2, 3]
        assert connection.ask("describe_acls", 3, **any_rule).resources == ()


def test_rules_and_users_are_the_cluster_s_affair(secured: Secured) -> None:
    with secured.by("alice") as connection:
        denied = ErrorCode.cluster_authorization_failed
        reply = connection.ask("create_acls", 3, creations=[rule(), rule()])
        assert [one.error_code for one in reply.results] == [denied, denied]
        assert connection.ask("describe_acls", 3, **EVERY_RULE).error_code == denied
        reply = connection.ask("describe_user_scram_credentials", 0)
        assert reply.error_code == denied
        reply = connection.ask(
            "alter_user_scram_credentials", 0, deletions=[{"name": "bob", "mechanism": 1}]
        )
        assert [one.error_code for one in reply.results] == [denied]


# What they keep out ---------------------------------------------------------------------------


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

"""Users and access rules, told and changed: the same questions to Apache Kafka and to Ottla."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from support.secured import (
    ALL,
    ALLOW,
    CLUSTER,
    EVERY_RULE,
    LITERAL,
    PREFIXED,
    READ,
    SHA_512,
    TOPIC,
    WRITE,
    Secured,
)


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

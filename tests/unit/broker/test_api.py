"""The table of APIs: each row names what exists, and nothing that exists lacks a row."""

from inspect import iscoroutinefunction
from pathlib import Path

import pytest

from ottla.broker import handlers
from ottla.broker.api import AnsweredBy, Api, Listeners, Quota, Right, apis, load
from ottla.controller.controller import Controller

ROWS = [
    row for listener in (Listeners.BROKER, Listeners.CONTROLLER) for row in apis(listener).values()
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name}-{row.listeners.name}")
def test_each_row_can_be_answered(row: Api) -> None:
    handler = load(row)
    assert (handler.handle is None) is not (handler.serve is None)
    assert row.key == handler.request.API_KEY
    assert set(row.versions) <= set(handler.request.VERSIONS)


def test_no_handler_is_without_a_row() -> None:
    written = {path.stem for path in Path(handlers.__path__[0]).glob("*/[a-z]*.py")}
    assert written <= {row.name for row in ROWS}


def test_the_controller_has_a_method_for_each_api_that_it_answers() -> None:
    asked = {row.name for row in ROWS if row.answered_by is AnsweredBy.CONTROLLER}
    for name in asked:
        assert iscoroutinefunction(getattr(Controller, name)), name


def test_what_brokers_pass_on_is_what_apache_kafka_forwards_of_it() -> None:
    assert {row.name for row in ROWS if row.is_passed_on} == {
        "add_raft_voter",
        "alter_client_quotas",
        "alter_configs",
        "alter_partition_reassignments",
        "alter_user_scram_credentials",
        "create_acls",
        "create_delegation_token",
        "create_partitions",
        "create_topics",
        "delete_acls",
        "delete_topics",
        "describe_quorum",
        "elect_leaders",
        "expire_delegation_token",
        "incremental_alter_configs",
        "list_partition_reassignments",
        "remove_raft_voter",
        "renew_delegation_token",
        "unregister_broker",
        "update_features",
    }


def test_what_only_nodes_of_the_cluster_ask_needs_the_right_to_act_for_it() -> None:
    for row in ROWS:
        if row.listeners is Listeners.CONTROLLER and row.name != "describe_cluster":
            assert row.right is Right.CLUSTER_ACTION, row.name


def test_changes_of_topics_count_for_the_quota_of_the_controller() -> None:
    counted = {row.name for row in ROWS if row.quota is Quota.CONTROLLER_MUTATION}
    assert counted == {"create_topics", "delete_topics", "create_partitions"}

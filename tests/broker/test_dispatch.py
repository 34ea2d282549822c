"""Every API in the table can be loaded, and every fault ends in a reply or a closed connection."""

from typing import Any

import pytest

from ottla.broker import dispatch
from ottla.broker.api import Listeners, apis, load
from ottla.broker.later import Broken
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.messages.describe_cluster import DescribeClusterRequest
from ottla.wire.messages.list_offsets import ListOffsetsRequest


@pytest.mark.parametrize("listener", [Listeners.BROKER, Listeners.CONTROLLER])
def test_every_api_in_the_table_has_a_handler_and_messages_at_its_versions(
    listener: Listeners,
) -> None:
    for api in apis(listener).values():
        handler = load(api)
        assert (handler.handle is None) != (handler.serve is None), api.name
        assert set(api.versions) <= set(handler.request.VERSIONS), api.name
        assert api.key == handler.request.API_KEY


def test_a_refusal_fills_the_place_that_the_response_has_for_it() -> None:
    handler = load(apis(Listeners.BROKER)[DescribeClusterRequest.API_KEY])
    error = KafkaError(ErrorCode.NOT_CONTROLLER, "Not here.")
    answer: Any = dispatch.refusal(handler, DescribeClusterRequest(), error)
    assert (answer.error_code, answer.error_message) == (41, "Not here.")


def test_a_fault_of_ours_is_told_in_general() -> None:
    handler = load(apis(Listeners.BROKER)[DescribeClusterRequest.API_KEY])
    answer: Any = dispatch.refusal(handler, DescribeClusterRequest(), ZeroDivisionError("secret"))
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "secret" not in answer.error_message


def test_a_fault_that_the_response_has_no_place_for_breaks_the_connection() -> None:
    handler = load(apis(Listeners.BROKER)[ListOffsetsRequest.API_KEY])._replace(refuse=None)
    with pytest.raises(Broken):
        dispatch.refusal(handler, ListOffsetsRequest(), ZeroDivisionError())

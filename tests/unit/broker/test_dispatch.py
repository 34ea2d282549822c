"""Who may ask, and that every fault ends in a reply or a closed connection."""

from typing import Any

import pytest

from ottla.broker import dispatch
from ottla.broker.access import Access, Operation, Resource, Unrestricted
from ottla.broker.accounting import Unlimited
from ottla.broker.api import Listeners, apis, load
from ottla.broker.dispatch import BadRequest, Dispatcher
from ottla.broker.transport.authentication import Authentication
from ottla.broker.transport.context import Peer, RequestContext
from ottla.broker.transport.pending_reply import ConnectionLost
from ottla.errors import ErrorCode, KafkaError
from ottla.security.sasl import SaslListener
from ottla.wire.message import Message
from ottla.wire.messages.api_versions import ApiVersionsRequest
from ottla.wire.messages.describe_cluster import DescribeClusterRequest
from ottla.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from ottla.wire.messages.list_offsets import ListOffsetsRequest
from support.frames import frame_of, read_reply
from support.services import cluster_services, cluster_view


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
    with pytest.raises(ConnectionLost):
        dispatch.refusal(handler, ListOffsetsRequest(), ZeroDivisionError())


class Refusing:
    """Allows nothing, and remembers what it was asked."""

    restricts = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, Operation, Resource, str]] = []

    def allows(
        self, context: RequestContext, operation: Operation, resource: Resource, name: str
    ) -> bool:
        self.asked.append((context.principal, operation, resource, name))
        return False

    would_allow = allows

    def allows_some(
        self, context: RequestContext, operation: Operation, resource: Resource
    ) -> bool:
        return False


def asked_of(access: Access, request: Message, version: int, peer: Peer | None = None) -> Any:
    """The answer of a listener that knows an empty cluster, and nothing else."""
    view = cluster_view(access=access)
    areas = {"cluster": lambda: cluster_services(view)}
    dispatcher = Dispatcher(Listeners.BROKER, areas, view, Unlimited())
    peer = peer or Peer("PLAINTEXT", Listeners.BROKER, "127.0.0.1")
    reply = dispatcher.take(frame_of(request, version), peer)
    assert isinstance(reply, list)
    return read_reply(request, version, b"".join(reply))


def test_who_may_not_ask_at_all_is_refused_before_anything_is_done() -> None:
    access = Refusing()
    answer = asked_of(access, DescribeLogDirsRequest(), 4)
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert access.asked == [
        ("User:ANONYMOUS", Operation.DESCRIBE, Resource.CLUSTER, "kafka-cluster")
    ]


def test_authorized_operations_are_those_that_are_allowed() -> None:
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    answer = asked_of(Unrestricted(), request, 2)
    assert answer.cluster_authorized_operations == sum(
        1 << operation for operation in (5, 7, 8, 9, 10, 11, 12)
    )
    assert asked_of(Refusing(), request, 2).cluster_authorized_operations == 0


def test_who_did_not_say_who_it_is_may_ask_for_versions_only() -> None:
    peer = Peer("PLAINTEXT", Listeners.BROKER, "127.0.0.1")
    peer.authentication = Authentication(
        SaslListener({}, {}),
        lambda: 0.0,
        lambda: 0,
        lambda work, finished: None,
        refusal_delay_s=0,
        frame_bytes_max=1000,
    )
    peer.awaits_authentication = True
    assert asked_of(Unrestricted(), ApiVersionsRequest(), 0, peer).error_code == 0
    with pytest.raises(BadRequest, match="before the client said who it is"):
        asked_of(Unrestricted(), DescribeClusterRequest(), 0, peer)

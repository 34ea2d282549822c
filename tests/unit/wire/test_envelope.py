"""A client's request on its way through a broker to the controller."""

import pytest

from ottla.wire.codec import MalformedMessage
from ottla.wire.envelope import Origin, principal_bytes, read_host, read_principal, unwrap, wrap
from ottla.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

ORIGIN = Origin("User:alice", "10.0.0.7", "admin-1", 4, 12)


def test_a_principal_is_written_as_kafkas_own_builder_writes_it() -> None:
    assert principal_bytes("User:ANONYMOUS") == b"\0\0\x05User\x0aANONYMOUS\0\0"


@pytest.mark.parametrize("principal", ["User:alice", "User:CN=a,O=b:c", "Group:", "User:ü"])
def test_a_principal_is_read_as_it_was_written(principal: str) -> None:
    assert read_principal(principal_bytes(principal)) == (principal, False)


@pytest.mark.parametrize("data", [None, b"", b"\0", b"\0\1\x05User\x02a\0\0", b"\0\0\x7f"])
def test_a_principal_nobody_can_read_is_refused(data: bytes | None) -> None:
    with pytest.raises(MalformedMessage):
        read_principal(data)


def test_an_envelope_tells_who_asked_and_from_where() -> None:
    envelope = wrap(DeleteTopicsRequest(topic_names=["t"]), ORIGIN)
    assert read_principal(envelope.request_principal) == ("User:alice", False)
    assert read_host(envelope.client_host_address) == "10.0.0.7"


@pytest.mark.parametrize("host", ["::1", "127.0.0.1"])
def test_addresses_of_both_kinds_are_carried(host: str) -> None:
    envelope = wrap(DeleteTopicsRequest(), ORIGIN._replace(host=host))
    assert read_host(envelope.client_host_address) == host


def test_an_address_of_another_length_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        read_host(b"\1\2\3")


def test_an_answer_to_another_request_is_refused() -> None:
    with pytest.raises(MalformedMessage):
        unwrap(b"\0\0\0\x0d\0", DeleteTopicsResponse, ORIGIN)

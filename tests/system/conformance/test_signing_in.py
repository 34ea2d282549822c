"""Who comes, and how that is proven: the same questions to Apache Kafka and to Ottla."""

import struct

import pytest
from kio.schema.errors import ErrorCode

from ottla.security import plain, scram
from support.secured import (
    Secured,
    sign_in,
)
from support.wire import Connection


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

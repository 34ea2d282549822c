"""OAUTHBEARER's messages, and where they go wrong."""

import pytest

from ottla.security.access_tokens import Bearer, TokenRefused
from ottla.security.exchange import Computation
from ottla.security.failures import AuthenticationFailed, InvalidCredentials
from ottla.security.oauthbearer import FirstMessage, OAuthServer, message, parse


def said(server: OAuthServer, given: bytes) -> bytes:
    answer = server.step(given)
    return answer.then(answer.run()) if isinstance(answer, Computation) else answer


def believe(token: str) -> Bearer:
    return Bearer("alice", 1234)


def doubt(token: str) -> Bearer:
    raise TokenRefused("it is forged")


def test_a_good_token_lets_its_bearer_in() -> None:
    server = OAuthServer(believe)
    assert said(server, message("a.b.c", {})) == b""
    assert (server.is_complete, server.user, server.expires_ms) == (True, "alice", 1234)


def test_a_bad_token_is_answered_with_a_status_and_then_with_a_refusal() -> None:
    server = OAuthServer(doubt)
    assert said(server, message("a.b.c", {})) == b'{"status": "invalid_token"}'
    assert not server.is_complete
    for again in (b"\x01", message("a.b.c", {})):
        with pytest.raises(InvalidCredentials, match="forged"):
            server.step(again)


def test_nobody_acts_in_the_name_of_another() -> None:
    with pytest.raises(AuthenticationFailed, match="another user"):
        said(OAuthServer(believe), b"n,a=root,\x01auth=Bearer a.b.c\x01\x01")
    assert said(OAuthServer(believe), b"n,a=alice,\x01auth=Bearer a.b.c\x01\x01") == b""


def test_extensions_are_let_through() -> None:
    given = b"n,,\x01auth=bearer a.b.c\x01logicalCluster=lkc 1\x01\x01"
    assert parse(given) == FirstMessage("", "a.b.c")


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"\x01",
        b"n,,\x01\x01",
        b"y,,\x01auth=Bearer a\x01\x01",
        b"n,,\x01auth=Basic a\x01\x01",
        b"n,,\x01auth=Bearer a\x01auth=Bearer b\x01\x01",
        b"n,,\x01auth=Bearer a b\x01\x01",
        b"n,,\x01auth=Bearer a\x01",
        b"\xff\xfe",
    ],
)
def test_what_is_no_first_message_is_refused(given: bytes) -> None:
    with pytest.raises(InvalidCredentials):
        OAuthServer(believe).step(given)

"""The server's side of GSSAPI: what may follow what, with a context that needs no Kerberos."""

import pytest

from ottla.security.exchange import Computation
from ottla.security.failures import AuthenticationFailed, InvalidCredentials
from ottla.security.gss_exchange import OFFER, ContextFailed, GssServer, choose_no_layer


class Context:
    """Established by the token `ticket`; what it wraps begins with `w`."""

    initiator = "ann@HOME"

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self.is_established = False

    def step(self, token: bytes) -> bytes:
        if token != b"ticket":
            raise ContextFailed("no ticket")
        self.is_established = True
        return self._answer

    def wrap(self, message: bytes) -> bytes:
        return b"w" + message

    def unwrap(self, message: bytes) -> bytes:
        if message[:1] != b"w":
            raise ContextFailed("not wrapped")
        return message[1:]


def server(answer: bytes = b"answer") -> GssServer:
    return GssServer(lambda: Context(answer), lambda principal: principal.partition("@")[0])


def said(one: GssServer, message: bytes) -> bytes:
    step = one.step(message)
    assert isinstance(step, Computation)
    return step.then(step.run())


def offered() -> GssServer:
    one = server()
    assert said(one, b"ticket") == b"answer"
    assert said(one, b"") == b"w" + OFFER
    return one


@pytest.mark.parametrize("name", [b"", b"ann@HOME", b"Ann@home"])
def test_a_ticket_and_no_layer_make_a_user(name: bytes) -> None:
    one = offered()
    assert not one.is_complete
    assert said(one, b"w" + choose_no_layer(OFFER) + name) == b""
    assert (one.is_complete, one.user, one.claimed) == (True, "ann", "ann@HOME")
    with pytest.raises(AuthenticationFailed):
        one.step(b"")


def test_where_the_context_has_nothing_to_say_the_offer_is_the_answer() -> None:
    one = server(b"")
    assert said(one, b"ticket") == b"w" + OFFER
    assert said(one, b"w" + OFFER) == b""
    assert one.user == "ann"


@pytest.mark.parametrize("message", [b"x", b"w", b"w\x02\0\0\0", b"w\x01\0\0\0\xff", OFFER])
def test_another_layer_or_a_broken_choice_is_refused(message: bytes) -> None:
    one = offered()
    with pytest.raises(InvalidCredentials):
        said(one, message)
    assert not one.is_complete


def test_nobody_acts_for_another() -> None:
    with pytest.raises(AuthenticationFailed, match="another user"):
        said(offered(), b"w" + OFFER + b"bob@HOME")


def test_what_is_no_ticket_is_refused_and_so_is_one_too_many() -> None:
    with pytest.raises(InvalidCredentials, match="no ticket"):
        said(server(), b"forged")
    one = server()
    said(one, b"ticket")
    with pytest.raises(InvalidCredentials):
        said(one, b"ticket")


def test_a_server_that_insists_on_a_layer_is_left() -> None:
    with pytest.raises(AuthenticationFailed):
        choose_no_layer(b"\x04\0\xff\xff")

"""SCRAM against an implementation that is not ours (scramp), each as client and as server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp import ScramClient as TheirClient
from scramp import ScramMechanism as TheirMechanism
from scramp.core import ScramException

from ottla.metadata.image import ScramCredential
from ottla.security import scram
from ottla.security.exchange import Computation
from ottla.security.failures import AuthenticationFailed, InvalidCredentials

SECRET = b"a secret of the cluster"
EACH = pytest.mark.parametrize("mechanism", scram.MECHANISMS.values(), ids=lambda each: each.name)


def stored(mechanism: scram.Mechanism, password: str = "pencil") -> ScramCredential:
    salt = b"0123456789abcdef"
    salted = scram.salted_password(mechanism, password, salt, 4096)
    return scram.credential(mechanism, salted, salt, 4096)


def server(mechanism: scram.Mechanism, password: str = "pencil") -> scram.ScramServer:
    known = scram.KnownUser(stored(mechanism, password), "alice")
    return scram.ScramServer(
        mechanism,
        lambda name, token: known if name == "alice" and not token else None,
        nonce="srv",
        secret=SECRET,
    )


def said(ours: scram.ScramServer, message: bytes) -> bytes:
    """The answer, with what a thread would compute."""
    answer = ours.step(message)
    return answer.then(answer.run()) if isinstance(answer, Computation) else answer


def converse(ours: scram.ScramServer, name: str, password: str) -> None:
    theirs = TheirClient([ours.mechanism.name], name, password)
    theirs.set_server_first(said(ours, theirs.get_client_first().encode()).decode())
    theirs.set_server_final(said(ours, theirs.get_client_final().encode()).decode())


@EACH
def test_a_foreign_client_proves_itself_and_believes_us(mechanism: scram.Mechanism) -> None:
    ours = server(mechanism)
    converse(ours, "alice", "pencil")
    assert ours.is_complete
    assert ours.user == "alice"
    assert not ours.is_by_token


@EACH
def test_a_wrong_password_and_an_unknown_user_fail_alike(mechanism: scram.Mechanism) -> None:
    for name, password in (("alice", "pen"), ("mallory", "pencil")):
        ours = server(mechanism)
        with pytest.raises(InvalidCredentials, match="the proof is wrong"):
            converse(ours, name, password)
        assert not ours.is_complete


@EACH
def test_our_client_convinces_a_foreign_server(mechanism: scram.Mechanism) -> None:
    theirs = TheirMechanism(mechanism.name)
    information = theirs.make_auth_info("pencil", iteration_count=4096)
    their_server = theirs.make_server(lambda name: information)
    ours = scram.ScramClient(mechanism, "alice", "pencil", nonce="ours")
    their_server.set_client_first(ours.first().decode())
    stretching = ours.challenge(their_server.get_server_first().encode())
    their_server.set_client_final(ours.prove(stretching.run()).decode())
    ours.check(their_server.get_server_final().encode())


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    ours = scram.ScramClient(scram.SHA_256, "alice", "pencil", nonce="n")
    theirs = server(scram.SHA_256)
    ours.prove(ours.challenge(said(theirs, ours.first())).run())
    with pytest.raises(AuthenticationFailed):
        ours.check(b"v=AAAA")
    with pytest.raises(AuthenticationFailed):
        ours.check(b"e=other-error")


@pytest.mark.parametrize("iterations", ["1", "4095", "16385", "99999999999"])
def test_a_server_cannot_make_us_compute_for_ever_or_hardly_at_all(iterations: str) -> None:
    ours = scram.ScramClient(scram.SHA_256, "alice", "pencil", nonce="n")
    with pytest.raises(AuthenticationFailed, match="iterations"):
        ours.challenge(f"r=nmore,s=AAAA,i={iterations}".encode())


def test_a_nonce_that_is_not_ours_is_refused() -> None:
    ours = scram.ScramClient(scram.SHA_256, "alice", "pencil", nonce="mine")
    for nonce in ("yours", "mine"):
        with pytest.raises(AuthenticationFailed, match="nonce"):
            ours.challenge(f"r={nonce},s=AAAA,i=4096".encode())


def test_an_unknown_user_gets_the_same_salt_each_time_and_another_than_the_next() -> None:
    first, again, other = (
        server(scram.SHA_256).step(f"n,,n={name},r=c".encode()) for name in ("x", "x", "y")
    )
    assert first == again
    assert first != other
    assert b",i=4096" in first


def test_a_nonce_that_was_not_given_is_refused() -> None:
    ours = server(scram.SHA_256)
    client = scram.ScramClient(scram.SHA_256, "alice", "pencil", nonce="c")
    final = client.prove(client.challenge(said(ours, client.first())).run())
    with pytest.raises(InvalidCredentials, match="nonce"):
        ours.step(final.replace(b"r=csrv", b"r=csrw"))


def test_nobody_acts_in_the_name_of_another() -> None:
    with pytest.raises(AuthenticationFailed, match="another user"):
        server(scram.SHA_256).step(b"n,a=root,n=alice,r=c")
    assert said(server(scram.SHA_256), b"n,a=alice,n=alice,r=c").startswith(b"r=csrv")


def test_a_delegation_token_is_looked_up_as_one() -> None:
    asked: list[tuple[str, bool]] = []

    def find(name: str, token: bool) -> scram.KnownUser | None:
        asked.append((name, token))
        return scram.KnownUser(stored(scram.SHA_256, "hmac"), "alice", 1234)

    ours = scram.ScramServer(scram.SHA_256, find, nonce="s", secret=SECRET)
    client = scram.ScramClient(scram.SHA_256, "token-1", "hmac", nonce="c", token=True)
    final = client.prove(client.challenge(said(ours, client.first())).run())
    client.check(said(ours, final))
    assert asked == [("token-1", True)]
    assert (ours.user, ours.is_by_token, ours.expires_ms) == ("alice", True, 1234)


def test_names_with_commas_and_equal_signs_come_through() -> None:
    name = "a,b=c,=2C"
    known = scram.KnownUser(stored(scram.SHA_256), name)
    ours = scram.ScramServer(
        scram.SHA_256, lambda given, _: known if given == name else None, nonce="s", secret=SECRET
    )
    converse(ours, name, "pencil")
    assert ours.user == name


@given(st.lists(st.binary(max_size=80), min_size=1, max_size=3))
def test_rubbish_fails_and_breaks_nothing(messages: list[bytes]) -> None:
    ours = server(scram.SHA_256)
    for message in (b"n,,n=alice,r=c", *messages):
        try:
            ours.step(message)
        except AuthenticationFailed:
            break
    assert not ours.is_complete


def test_the_exchange_ends_with_its_last_message() -> None:
    ours = server(scram.SHA_256)
    converse(ours, "alice", "pencil")
    with pytest.raises(AuthenticationFailed):
        ours.step(b"n,,n=alice,r=c")


def test_a_foreign_client_notices_a_server_with_other_keys() -> None:
    known = stored(scram.SHA_256)
    lying = ScramCredential(known.salt, known.stored_key, b"\0" * 32, known.iterations)
    ours = scram.ScramServer(
        scram.SHA_256, lambda *_: scram.KnownUser(lying, "alice"), nonce="s", secret=SECRET
    )
    with pytest.raises(ScramException):
        converse(ours, "alice", "pencil")

"""The server's side of SASL: what may follow what."""

from collections.abc import Mapping

import pytest

from ottla.errors import ErrorCode
from ottla.metadata.image import ScramCredential
from ottla.security import plain, scram
from ottla.security.exchange import Computation
from ottla.security.sasl import SaslAnswer, SaslListener, SaslServer, SaslState

SALT = b"salt of bob"
BOB = scram.credential(
    scram.SHA_256, scram.salted_password(scram.SHA_256, "tea", SALT, 4096), SALT, 4096
)


class Time:
    now = 100.0

    def __call__(self) -> float:
        return self.now

    def ms(self) -> int:
        return int(self.now * 1000)


def find(mechanism: scram.Mechanism, name: str) -> ScramCredential | None:
    return BOB if mechanism is scram.SHA_256 and name == "bob" else None


def machine(time: Time, session_ms: Mapping[str, int] | None = None) -> SaslServer:
    listener = SaslListener(
        {
            "PLAIN": lambda: plain.PlainServer({"alice": "secret"}, find, secret=b"s"),
            "SCRAM-SHA-256": lambda: scram.ScramServer(
                scram.SHA_256,
                lambda name, _: scram.KnownUser(BOB, "bob") if name == "bob" else None,
                nonce="n",
                secret=b"s",
            ),
        },
        session_ms or {},
    )
    return SaslServer(listener, time, time.ms)


def answered(sasl: SaslServer, token: bytes) -> SaslAnswer:
    answer = sasl.authenticate(token)
    return sasl.finish(answer, answer.run()) if isinstance(answer, Computation) else answer


def sign_in(sasl: SaslServer, name: str = "alice", password: str = "secret") -> SaslAnswer:
    sasl.handshake("PLAIN", 1)
    return answered(sasl, plain.message(name, password))


def test_versions_then_a_handshake_then_a_password() -> None:
    sasl = machine(Time())
    assert sasl.ask_versions()
    assert sasl.handshake("PLAIN", 1) == (ErrorCode.NONE, ["PLAIN", "SCRAM-SHA-256"])
    assert answered(sasl, b"\0alice\0secret") == SaslAnswer(ErrorCode.NONE)
    assert sasl.is_complete
    assert sasl.user == "alice"
    assert not sasl.takes_bare_tokens


def test_versions_may_be_asked_once_before_the_handshake() -> None:
    sasl = machine(Time())
    assert sasl.ask_versions()
    assert not sasl.ask_versions()


def test_who_asked_for_versions_in_one_that_is_not_known_asks_again() -> None:
    sasl = machine(Time())
    assert sasl.ask_versions(is_understood=False)
    assert sasl.ask_versions()
    assert not sasl.ask_versions()


def test_an_old_handshake_is_followed_by_bare_tokens() -> None:
    sasl = machine(Time())
    sasl.handshake("PLAIN", 0)
    assert sasl.takes_bare_tokens


def test_a_mechanism_that_is_not_enabled_ends_it() -> None:
    sasl = machine(Time())
    assert sasl.handshake("GSSAPI", 1) == (
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ["PLAIN", "SCRAM-SHA-256"],
    )
    assert sasl.state is SaslState.FAILED


def test_a_token_before_the_handshake_fails() -> None:
    sasl = machine(Time())
    assert answered(sasl, b"\0alice\0secret").error is ErrorCode.ILLEGAL_SASL_STATE
    assert sasl.state is SaslState.FAILED


def test_a_second_handshake_in_the_middle_fails() -> None:
    sasl = machine(Time())
    sasl.handshake("SCRAM-SHA-256", 1)
    answered(sasl, b"n,,n=bob,r=c")
    assert sasl.handshake("PLAIN", 1).error is ErrorCode.ILLEGAL_SASL_STATE
    assert sasl.state is SaslState.FAILED


@pytest.mark.parametrize(
    ("name", "password"), [("alice", "wrong"), ("bob", "wrong"), ("nobody", "secret")]
)
def test_a_wrong_password_is_refused_in_the_same_words_as_an_unknown_name(
    name: str, password: str
) -> None:
    sasl = machine(Time())
    assert sign_in(sasl, name, password) == SaslAnswer(
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        "Authentication failed: the name or the password is wrong.",
    )
    assert sasl.state is SaslState.FAILED


def test_a_user_of_scram_may_come_by_plain_and_a_thread_stretches_the_password() -> None:
    sasl = machine(Time())
    sasl.handshake("PLAIN", 1)
    assert isinstance(sasl.authenticate(b"\0bob\0tea"), Computation)
    assert sign_in(machine(Time()), "bob", "tea").error is ErrorCode.NONE


def test_plain_lets_nobody_act_in_the_name_of_another() -> None:
    for message, error in (
        (b"alice\0alice\0secret", ErrorCode.NONE),
        (b"root\0alice\0secret", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"\0\0secret", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"\0alice\0", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"alice\0secret", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"\0alice\0secret\0more", ErrorCode.SASL_AUTHENTICATION_FAILED),
        (b"\xff\0alice\0secret", ErrorCode.SASL_AUTHENTICATION_FAILED),
    ):
        sasl = machine(Time())
        sasl.handshake("PLAIN", 1)
        assert answered(sasl, message).error is error, message


def test_without_an_end_of_sessions_nobody_authenticates_again() -> None:
    sasl = machine(Time())
    sign_in(sasl)
    assert sasl.session_ends is None
    assert sasl.handshake("PLAIN", 1) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert sasl.is_complete
    assert answered(sasl, b"\0alice\0secret").error is ErrorCode.ILLEGAL_SASL_STATE


def test_a_session_ends_unless_it_is_renewed_as_the_same_user() -> None:
    time = Time()
    sasl = machine(time, {"PLAIN": 5000})
    assert sign_in(sasl).session_ms == 5000
    time.now += 4
    assert not sasl.is_expired
    assert sign_in(sasl) == SaslAnswer(ErrorCode.NONE, session_ms=5000)
    time.now += 4
    assert not sasl.is_expired
    time.now += 1
    assert sasl.is_expired


def test_another_user_or_mechanism_cannot_take_a_session_over() -> None:
    time = Time()
    for mechanism, token, is_told in (
        ("PLAIN", b"\0bob\0tea", True),
        ("SCRAM-SHA-256", b"n,,n=alice,r=c", False),
    ):
        sasl = machine(time, {"PLAIN": 5000})
        sign_in(sasl)
        time.now += 2
        assert sasl.handshake(mechanism, 1).error is ErrorCode.NONE
        answer = answered(sasl, token)
        assert answer.error is ErrorCode.SASL_AUTHENTICATION_FAILED
        assert answer.is_told is is_told
        assert sasl.state is SaslState.FAILED


def test_a_session_is_renewed_at_most_once_a_second() -> None:
    time = Time()
    sasl = machine(time, {"PLAIN": 5000})
    sign_in(sasl)
    sign_in(sasl)
    time.now += 0.9
    assert sasl.handshake("PLAIN", 1) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    time.now += 0.2
    assert sign_in(sasl).error is ErrorCode.NONE


def test_a_computation_that_breaks_lets_nobody_in() -> None:
    sasl = machine(Time())
    sasl.handshake("PLAIN", 1)
    sasl.authenticate(b"\0bob\0tea")
    assert sasl.break_off("no memory").error is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert not sasl.is_complete

"""Whose tokens a listener believes: it starts only where that is said, or said to be no matter."""

import pytest

from ottla.config import Settings
from ottla.errors import OttlaError
from ottla.security.jaas import parse_line
from ottla.security.oauth_options import OAuthOptions, read_oauth

LOGIN = parse_line(
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
    "sasl.jaas.config",
)
SAID = {
    "jwks.endpoint.url": "http://127.0.0.1:1/keys",
    "expected.issuer": "https://login.example",
    "expected.audience": "kafka, others",
}
ANY = {claim: f"allow.unverified.{claim}" for claim in ("issuer", "audience")}


def read(**said: str | None) -> OAuthOptions:
    """What is said, but for what is None."""
    options = {**SAID, **{name.replace("_", "."): value for name, value in said.items()}}
    given = {f"sasl.oauthbearer.{name}": value for name, value in options.items() if value}
    return read_oauth(Settings(given), "USERS", LOGIN)


def test_issuer_and_audiences_are_those_that_are_named() -> None:
    rules = read().rules
    assert (rules.issuer, rules.audiences) == ("https://login.example", ("kafka", "others"))


@pytest.mark.parametrize("missing", SAID)
def test_a_listener_without_one_of_them_does_not_start(missing: str) -> None:
    with pytest.raises(OttlaError, match=f"sasl.oauthbearer.{missing}: it is missing"):
        read(**{missing: None})


@pytest.mark.parametrize("claim", ANY)
def test_who_means_it_does_without_issuer_or_audience(claim: str) -> None:
    rules = read(**{f"expected.{claim}": None, ANY[claim]: "true"}).rules
    assert {"issuer": rules.issuer is None, "audience": rules.audiences == ()}[claim]


@pytest.mark.parametrize(("claim", "other"), [("issuer", "audience"), ("audience", "issuer")])
def test_to_do_without_one_says_nothing_of_the_other(claim: str, other: str) -> None:
    with pytest.raises(OttlaError, match=f"expected.{claim}"):
        read(**{f"expected.{claim}": None, ANY[other]: "true"})


def test_there_is_no_way_to_do_without_keys() -> None:
    with pytest.raises(OttlaError, match="without keys no signature can be checked"):
        read(**{"jwks.endpoint.url": None}, **dict.fromkeys(ANY.values(), "true"))


def test_what_is_said_of_a_listener_and_its_mechanism_goes_first() -> None:
    option = "sasl.oauthbearer.expected.issuer"
    given = {f"sasl.oauthbearer.{name}": value for name, value in SAID.items()}
    assert read_oauth(Settings(given), "USERS", LOGIN).rules.issuer == "https://login.example"
    given[f"listener.name.users.{option}"] = "https://of.the.listener"
    assert read_oauth(Settings(given), "USERS", LOGIN).rules.issuer == "https://of.the.listener"
    given[f"listener.name.users.oauthbearer.{option}"] = "https://of.the.mechanism"
    assert read_oauth(Settings(given), "USERS", LOGIN).rules.issuer == "https://of.the.mechanism"
    assert read_oauth(Settings(given), "OTHERS", LOGIN).rules.issuer == "https://login.example"


def test_a_validator_in_java_is_refused() -> None:
    with pytest.raises(OttlaError, match="cannot be loaded here"):
        read(**{"jwt.validator.class": "com.example.Mine"})

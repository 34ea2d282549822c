"""Users of Kerberos principals, by Kafka's rules."""

import pytest

from ottla.errors import OttlaError
from ottla.security.failures import AuthenticationFailed
from ottla.security.kerberos_names import parse_rules

REALM = "HOME.EXAMPLE"


def user(rules: str, principal: str) -> str:
    return parse_rules(rules.split(","), REALM).user(principal)


@pytest.mark.parametrize(
    ("rules", "principal", "name"),
    [
        ("DEFAULT", "alice@HOME.EXAMPLE", "alice"),
        ("DEFAULT", "kafka/broker1@HOME.EXAMPLE", "kafka"),
        ("RULE:[1:$1@$0](.*@OTHER)s/@.*//,DEFAULT", "ann@OTHER", "ann"),
        ("RULE:[1:$1](Bob)s/Bob/x/,DEFAULT", "alice@HOME.EXAMPLE", "alice"),
        ("RULE:[2:$1-$2]", "app/admin@OTHER", "app-admin"),
        ("RULE:[2:$2]/U", "app/admin@OTHER", "ADMIN"),
        ("RULE:[1:$1]/L", "Ann@OTHER", "ann"),
        ("RULE:[1:$1]s/a/b/g", "banana@X", "bbnbnb"),
        ("RULE:[1:$1]s/a/b/", "banana@X", "bbnana"),
        (r"RULE:[1:$1]s/(.)(.*)/$2$1/L", "Anna@X", "nnaa"),
        ("RULE:[1:$0]", "a@REALM", "REALM"),
    ],
)
def test_the_first_rule_that_applies_names_the_user(rules: str, principal: str, name: str) -> None:
    assert user(rules, principal) == name


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        ("DEFAULT", "alice@OTHER"),
        ("RULE:[2:$1]", "alice@HOME.EXAMPLE"),
        ("RULE:[1:$1@$0]", "alice@HOME.EXAMPLE"),
        ("RULE:[1:$1](bob)", "alice@HOME.EXAMPLE"),
        ("DEFAULT", "a/b/c@HOME.EXAMPLE"),
        ("DEFAULT", "alice"),
    ],
)
def test_a_principal_for_which_no_rule_has_a_user_is_nobody(rules: str, principal: str) -> None:
    with pytest.raises(AuthenticationFailed):
        user(rules, principal)


@pytest.mark.parametrize(
    "rule",
    ["default", "RULE:[1:$2]", "RULE:[x:$1]", "RULE:[1:$1](()", "RULE:[1:$1]s/(/x/", "RULE:"],
)
def test_what_is_no_rule_ends_the_start(rule: str) -> None:
    with pytest.raises(OttlaError, match=r"sasl\.kerberos\.principal\.to\.local\.rules"):
        parse_rules([rule], REALM)

"""Names of certificates as Java writes them, and the rules that make users of them."""

import pytest

from ottla.errors import OttlaError
from ottla.security import der
from ottla.security.principals import NoRuleApplies, PrincipalMapping, certificate_name
from unit.security.recording import recorded


@pytest.mark.parametrize(("question", "answer"), recorded("names"))
def test_names_of_certificates_are_written_as_java_does(question: list[str], answer: str) -> None:
    assert certificate_name(bytes.fromhex(question[1])) == answer


@pytest.mark.parametrize(("question", "answer"), recorded("mapping"))
def test_rules_make_the_user_that_apache_kafka_makes(question: list[str], answer: str) -> None:
    _, rules, name = question
    if answer.startswith("!NoMatchingRule"):
        with pytest.raises(NoRuleApplies):
            PrincipalMapping(rules).principal(name)
    else:
        assert PrincipalMapping(rules).principal(name) == f"User:{answer}"


@pytest.mark.parametrize("rules", ["ALICE", "RULE:x", "RULE:(/x/", "RULE:a/b"])
def test_what_is_no_rule_is_refused_when_it_is_read(rules: str) -> None:
    with pytest.raises(OttlaError, match=r"ssl\.principal\.mapping\.rules"):
        PrincipalMapping(rules)


def test_a_certificate_cut_anywhere_is_refused_and_breaks_nothing() -> None:
    whole = bytes.fromhex(recorded("names")[1][0][1])
    for length in range(len(whole)):
        with pytest.raises(der.BadEncoding):
            certificate_name(whole[:length])

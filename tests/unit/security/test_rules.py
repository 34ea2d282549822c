"""Access rules, judged by what Apache Kafka's StandardAuthorizer said (`recorded/acls.json`)."""

import pytest

from ottla.errors import OttlaError
from ottla.metadata.image import Acl
from ottla.security.acls import AclFilter, Operation, PatternType, Permission, ResourceType
from ottla.security.rules import SUPER_USER, Rules, parse_super_users, show_rule
from unit.security.recording import recorded

TOPIC, LITERAL, PREFIXED = ResourceType.TOPIC, PatternType.LITERAL, PatternType.PREFIXED


def rule(
    name: str = "orders",
    operation: Operation = Operation.READ,
    permission: Permission = Permission.ALLOW,
    pattern: PatternType = LITERAL,
    principal: str = "User:alice",
    host: str = "*",
) -> Acl:
    return Acl(TOPIC, name, pattern, principal, host, operation, permission)


def parsed_rule(fields: list[str]) -> Acl:
    kind, name, pattern, principal, host, operation, permission = fields
    return Acl(int(kind), name, int(pattern), principal, host, int(operation), int(permission))


def parsed_filter(fields: list[str]) -> AclFilter:
    kind, name, pattern, principal, host, operation, permission = (
        None if field == "\\N" else field for field in fields
    )
    assert kind is not None
    assert pattern is not None
    assert operation is not None
    assert permission is not None
    return AclFilter(
        int(kind), name, int(pattern), principal, host, int(operation), int(permission)
    )


def test_every_decision_is_the_one_of_apache_kafka() -> None:
    acls: list[Acl] = []
    rules = Rules()
    counts = dict.fromkeys(("world", "acl", "ask", "some", "filter"), 0)
    for question, answer in recorded("acls"):
        verb, *fields = question
        counts[verb] += 1
        if verb == "world":
            users, otherwise = parse_super_users(fields[0]), fields[1] == "true"
            acls, rules = [], Rules(super_users=users, allow_if_no_acl=otherwise)
        elif verb == "acl":
            acls.append(parsed_rule(fields))
            rules.replace(acls)
        elif verb == "ask":
            principal, host, operation, kind, name = fields
            allowed = rules.allows(principal, host, int(operation), int(kind), name)
            assert answer == ("ALLOWED" if allowed else "DENIED"), (question, acls)
        elif verb == "some":
            principal, host, operation, kind = fields
            allowed = rules.allows_some(principal, host, int(operation), int(kind))
            assert answer == ("ALLOWED" if allowed else "DENIED"), (question, acls)
        else:
            found = sorted({"|".join(map(str, shown(acl))) for acl in selected(fields, acls)})
            assert answer == " ".join(found), (question, acls)
    assert counts["ask"] == 1500
    assert counts["some"] == 300


def selected(fields: list[str], acls: list[Acl]) -> list[Acl]:
    return list(parsed_filter(fields).select(acls))


def shown(acl: Acl) -> tuple[object, ...]:
    return (
        acl.resource_type,
        acl.resource_name,
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )


def test_a_decision_names_the_rule_it_rests_on() -> None:
    denial = rule(operation=Operation.ALL, permission=Permission.DENY, host="10.0.0.1")
    rules = Rules([rule("ord", pattern=PREFIXED), denial], super_users=frozenset({"User:root"}))
    asked = Operation.DESCRIBE, TOPIC, "orders"
    assert rules.decide("User:alice", "10.0.0.1", *asked) == (False, denial)
    assert rules.decide("User:alice", "10.0.0.2", *asked) == (True, rule("ord", pattern=PREFIXED))
    assert rules.decide("User:root", "10.0.0.1", *asked) == (True, SUPER_USER)
    assert show_rule(denial) == (
        "MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=orders, patternType=LITERAL, "
        "principal=User:alice, host=10.0.0.1, operation=ALL, permissionType=DENY])"
    )


def test_what_was_decided_is_forgotten_when_the_rules_change() -> None:
    rules = Rules([rule()])
    assert rules.allows("User:alice", "h", Operation.READ, TOPIC, "orders")
    rules.replace([rule(), rule(permission=Permission.DENY)])
    assert not rules.allows("User:alice", "h", Operation.READ, TOPIC, "orders")
    rules.replace([])
    assert not rules.allows("User:alice", "h", Operation.READ, TOPIC, "orders")


def test_a_denial_implies_nothing() -> None:
    rules = Rules([rule(operation=Operation.DESCRIBE), rule(permission=Permission.DENY)])
    assert rules.allows("User:alice", "h", Operation.DESCRIBE, TOPIC, "orders")
    assert not rules.allows("User:alice", "h", Operation.READ, TOPIC, "orders")


def test_super_users_may_have_commas_in_their_names() -> None:
    assert parse_super_users("User:CN=a,O=b; User:c;") == {"User:CN=a,O=b", "User:c"}
    with pytest.raises(OttlaError, match=r"super\.users"):
        parse_super_users("alice")


def test_a_filter_of_things_to_come_is_known_as_such() -> None:
    assert not AclFilter().has_unknown_parts
    assert AclFilter(operation=99).has_unknown_parts
    assert AclFilter(resource_type=0).has_unknown_parts

"""Principals that differ by one rule, so that an answer tells which right it hung on."""

from collections.abc import Iterator
from typing import NamedTuple

PREFIX = "rt-"
ORDERS, SECRET, NOTHING = "rt-orders", "rt-secret", "rt-nothing"
"""Topics. Rules name the first and the last, which is not there; everybody asks for all three."""
READERS, STRANGERS, NOBODY = "rt-readers", "rt-strangers", "rt-nobody"
"""Groups, likewise."""
MOVER, OTHER, ABSENT = "rt-mover", "rt-other", "rt-absent"
"""Transactional ids, likewise."""

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
KINDS = {TOPIC: "topic", GROUP: "group", CLUSTER: "cluster", TRANSACTIONAL_ID: "transaction"}
NAMES = {
    TOPIC: (ORDERS, NOTHING),
    GROUP: (READERS, NOBODY),
    CLUSTER: ("kafka-cluster",),
    TRANSACTIONAL_ID: (MOVER, ABSENT),
}
OPERATIONS = {
    "all": 2,
    "read": 3,
    "write": 4,
    "create": 5,
    "delete": 6,
    "alter": 7,
    "describe": 8,
    "cluster_action": 9,
    "describe_configs": 10,
    "alter_configs": 11,
    "idempotent_write": 12,
    "two_phase_commit": 15,
}
OF_KIND = {
    TOPIC: "read write create delete alter describe describe_configs alter_configs",
    GROUP: "read delete describe describe_configs alter_configs",
    CLUSTER: (
        "create alter describe cluster_action describe_configs alter_configs idempotent_write"
    ),
    TRANSACTIONAL_ID: "write describe two_phase_commit",
}
ALL = OPERATIONS["all"]
DENY, ALLOW = 2, 3
LITERAL, PREFIXED = 3, 4
HERE, ELSEWHERE, ANYWHERE = "127.0.0.1", "10.11.12.13", "*"


class Rule(NamedTuple):
    kind: int
    name: str
    operation: int
    permission: int = ALLOW
    pattern: int = LITERAL
    host: str = ANYWHERE


class Person(NamedTuple):
    name: str
    rules: tuple[Rule, ...]


def every(kind: int) -> Rule:
    """There is one cluster, and no other name for it."""
    return Rule(kind, NAMES[kind][0] if kind == CLUSTER else "*", ALL)


EVERYTHING = tuple(map(every, KINDS))


def people() -> Iterator[Person]:
    yield Person("nobody", ())
    yield Person("all", EVERYTHING)
    for kind, called in KINDS.items():
        for operation in OF_KIND[kind].split():
            number = OPERATIONS[operation]
            own = tuple(Rule(kind, name, number) for name in NAMES[kind])
            yield Person(f"only-{called}-{operation}", own)
            denied = tuple(rule._replace(permission=DENY) for rule in own)
            yield Person(f"all-but-{called}-{operation}", EVERYTHING + denied)
        yield Person(f"every-{called}", (every(kind),))
        yield Person(f"deny-every-{called}", (*EVERYTHING, every(kind)._replace(permission=DENY)))
    for kind, (name, *_) in NAMES.items():
        if kind != CLUSTER:
            begin = Rule(kind, name[: len(PREFIX) + 2], ALL, pattern=PREFIXED)
            yield Person(f"prefix-{KINDS[kind]}", (begin,))
            denied = (begin._replace(permission=DENY),)
            yield Person(f"all-but-prefix-{KINDS[kind]}", EVERYTHING + denied)
    yield Person("here", tuple(rule._replace(host=HERE) for rule in EVERYTHING))
    yield Person("elsewhere", tuple(rule._replace(host=ELSEWHERE) for rule in EVERYTHING))
    away = tuple(rule._replace(host=ELSEWHERE, permission=DENY) for rule in EVERYTHING)
    yield Person("denied-elsewhere", EVERYTHING + away)


PEOPLE = tuple(people())

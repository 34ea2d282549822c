"""Access rules as people write and read them: `read topic:orders`, `all group:acme.*`.

A resource is a type and a name; a name that ends with `*` stands for all names that begin so, and
`*` alone for every name. The cluster has no name: `cluster`.
"""

from typing import NamedTuple

from ottla.client.acls import AclRule
from ottla.errors import OttlaError
from ottla.security.acls import (
    CLUSTER,
    WILDCARD,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "token": ResourceType.DELEGATION_TOKEN,
    "user": ResourceType.USER,
}
_NAMES = {kind: name for name, kind in TYPES.items()}


class ResourcePattern(NamedTuple):
    type: int
    name: str
    pattern: int


def read_resource(text: str) -> ResourcePattern:
    kind, colon, name = text.partition(":")
    if kind not in TYPES:
        raise OttlaError(f"{text!r} is no resource. Write TYPE:NAME, of {', '.join(TYPES)}.")
    if kind == "cluster" and not colon:
        name = CLUSTER
    if not name:
        raise OttlaError(f"{text!r} has no name. Write {kind}:NAME, or {kind}:* for all.")
    if name != WILDCARD and name.endswith(WILDCARD):
        return ResourcePattern(TYPES[kind], name[:-1], PatternType.PREFIXED)
    return ResourcePattern(TYPES[kind], name, PatternType.LITERAL)


def show_resource(kind: int, name: str, pattern: int) -> str:
    if kind == ResourceType.CLUSTER:
        return "cluster"
    shown = _NAMES.get(ResourceType(kind), str(kind))
    return f"{shown}:{name}{'*' if pattern == PatternType.PREFIXED else ''}"


def show_operation(operation: int) -> str:
    return Operation(operation).name.lower().replace("_", "-")


def show_rule(rule: AclRule) -> str:
    verdict = "deny" if rule.permission == Permission.DENY else "allow"
    place = show_resource(rule.resource_type, rule.resource_name, rule.pattern_type)
    where = "" if rule.host == WILDCARD else f" from {rule.host}"
    return f"{verdict} {rule.principal} {show_operation(rule.operation)} {place}{where}"

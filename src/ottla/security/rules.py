"""Who may do what: Apache Kafka's StandardAuthorizer as a decision over the rules of the image.

Pure. A denial wins over everything but a super user; an allowed READ, WRITE, DELETE or ALTER
implies DESCRIBE, an allowed ALTER_CONFIGS implies DESCRIBE_CONFIGS, denials imply nothing. Every
decision names the rule it rests on, and is kept until the rules change.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ottla.errors import OttlaError
from ottla.metadata.image import Acl
from ottla.security.acls import (
    EVERYBODY,
    WILDCARD,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

DECISIONS_MAX = 100_000
"""Names come from clients: beyond that all is forgotten and decided anew."""

_IMPLYING = {
    Operation.DESCRIBE: frozenset(
        (Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER)
    ),
    Operation.DESCRIBE_CONFIGS: frozenset((Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)),
}
"""By which allowed operations another is allowed as well."""


class AccessDecision(NamedTuple):
    """A verdict and what it rests on."""

    allowed: bool
    rule: "Acl | str"
    """The deciding rule, or what holds without one: SUPER_USER, DEFAULT_ALLOW, DEFAULT_DENY."""


SUPER_USER = "SuperUser"
DEFAULT_ALLOW, DEFAULT_DENY = "DefaultAllow", "DefaultDeny"


class _Key(NamedTuple):
    principal: str
    host: str
    operation: int
    resource_type: int
    name: str


class Rules:
    """All rules of a cluster, found by the resources they speak of."""

    def __init__(
        self,
        acls: Iterable[Acl] = (),
        *,
        super_users: frozenset[str] = frozenset(),
        allow_if_no_acl: bool = False,
    ) -> None:
        self.super_users = super_users
        self._default = (
            AccessDecision(True, DEFAULT_ALLOW)
            if allow_if_no_acl
            else AccessDecision(False, DEFAULT_DENY)
        )
        self._literal: dict[tuple[int, str], list[Acl]] = {}
        self._prefixed: dict[tuple[int, str], list[Acl]] = {}
        self._decisions: dict[_Key, AccessDecision] = {}
        self.replace(acls)

    def replace(self, acls: Iterable[Acl]) -> None:
        """Other rules hold from now on; whatever was decided by the old ones is forgotten."""
        self._literal, self._prefixed, self._decisions = {}, {}, {}
        for acl in acls:
            is_prefix = acl.pattern_type == PatternType.PREFIXED
            table = self._prefixed if is_prefix else self._literal
            table.setdefault((acl.resource_type, acl.resource_name), []).append(acl)
        for table in (self._literal, self._prefixed):
            for group in table.values():
                group.sort(key=_order)

    def allows(
        self, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> bool:
        return self.decide(principal, host, operation, resource_type, name).allowed

    def decide(
        self, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> AccessDecision:
        key = _Key(principal, host, operation, resource_type, name)
        known = self._decisions.get(key)
        if known is not None:
            return known
        decision = self._decide(key)
        if len(self._decisions) >= DECISIONS_MAX:
            self._decisions.clear()
        self._decisions[key] = decision
        return decision

    def _decide(self, key: _Key) -> AccessDecision:
        if key.principal in self.super_users:
            return AccessDecision(True, SUPER_USER)
        allowed_by: Acl | None = None
        speaks_of_it = False
        for acl in self._about(key.resource_type, key.name):
            speaks_of_it = True
            if not _applies(acl, key):
                continue
            if acl.permission == Permission.DENY:
                return AccessDecision(False, acl)
            allowed_by = acl  # the most general one is named, as Kafka's audit log does
        if allowed_by is not None:
            return AccessDecision(True, allowed_by)
        return AccessDecision(False, DEFAULT_DENY) if speaks_of_it else self._default

    def _about(self, resource_type: int, name: str) -> Iterator[Acl]:
        """Rules of that very name, of its beginnings from the longest on, and of all names.

        Kafka's quirk is kept: a name that begins with `*` is not among "all names".
        """
        yield from self._literal.get((resource_type, name), ())
        if self._prefixed:
            for length in range(len(name), 0, -1):
                yield from self._prefixed.get((resource_type, name[:length]), ())
        if not name.startswith(WILDCARD):
            yield from self._literal.get((resource_type, WILDCARD), ())

    def allows_some(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether there can be a resource of this type with which it is allowed (Kafka:
        authorizeByResourceType): an allowance that no denial covers whole. Here nothing is
        implied: the operation itself, or ALL."""
        if self.allows(principal, host, operation, resource_type, "hardcode"):
            return True
        key = _Key(principal, host, operation, resource_type, "")
        allowed: list[Acl] = []
        denied: dict[int, set[str]] = {PatternType.LITERAL: set(), PatternType.PREFIXED: set()}
        for table in (self._literal, self._prefixed):
            for (kind, _), group in table.items():
                if kind != resource_type:
                    continue
                for acl in group:
                    if not _concerns(acl, key) or acl.operation not in (operation, Operation.ALL):
                        continue
                    if acl.permission == Permission.DENY:
                        denied[acl.pattern_type].add(acl.resource_name)
                    else:
                        allowed.append(acl)
        if WILDCARD in denied[PatternType.LITERAL]:
            return False
        return any(not _is_covered(acl, denied) for acl in allowed)


def _order(acl: Acl) -> tuple[int, str, str, int]:
    return acl.operation, acl.principal, acl.host, acl.permission


def _concerns(acl: Acl, key: _Key) -> bool:
    return acl.principal in (key.principal, EVERYBODY) and acl.host in (key.host, WILDCARD)


def _applies(acl: Acl, key: _Key) -> bool:
    if not _concerns(acl, key):
        return False
    if acl.operation in (key.operation, Operation.ALL):
        return True
    if acl.permission == Permission.DENY:
        return False
    return acl.operation in _IMPLYING.get(Operation(key.operation), ())


def _is_covered(acl: Acl, denied: Mapping[int, set[str]]) -> bool:
    """Whether all that this rule allows is denied elsewhere."""
    name = acl.resource_name
    if acl.pattern_type == PatternType.LITERAL:
        if name == WILDCARD:
            return False
        if name in denied[PatternType.LITERAL]:
            return True
    return any(name[:length] in denied[PatternType.PREFIXED] for length in range(1, len(name) + 1))


def parse_super_users(text: str) -> frozenset[str]:
    """`User:alice;User:CN=bob,O=x`: names hold commas, so `;` is between them."""
    users = frozenset(filter(None, map(str.strip, text.split(";"))))
    for user in users:
        if ":" not in user:
            raise OttlaError(f"super.users: {user!r} is no principal; write User:NAME.")
    return users


def show_rule(rule: Acl | str) -> str:
    """In Kafka's own form: its audit log and `kafka-acls` know rules by it."""
    if isinstance(rule, str):
        return rule
    return (
        f"MatchingAcl(acl=StandardAcl[resourceType={ResourceType(rule.resource_type).name}, "
        f"resourceName={rule.resource_name}, patternType={PatternType(rule.pattern_type).name}, "
        f"principal={rule.principal}, host={rule.host}, "
        f"operation={Operation(rule.operation).name}, "
        f"permissionType={Permission(rule.permission).name}])"
    )

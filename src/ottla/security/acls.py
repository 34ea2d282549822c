"""The vocabulary of access rules, numbered as the protocol does, and filters over them."""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

from ottla.metadata.image import Acl


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2  # in filters: whatever would decide about a resource of that name
    LITERAL = 3
    PREFIXED = 4


class Operation(IntEnum):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(IntEnum):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


WILDCARD = "*"
EVERYBODY = "User:*"
CLUSTER = "kafka-cluster"
"""The name of the one resource of its kind."""


class AclFilter(NamedTuple):
    """Which rules are meant; None and ANY leave a field open."""

    resource_type: int = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: int = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: int = Operation.ANY
    permission: int = Permission.ANY

    @property
    def has_unknown_parts(self) -> bool:
        """What an older broker cannot know about is refused, never taken for "all"."""
        return (
            not _is_known(ResourceType, self.resource_type)
            or not _is_known(PatternType, self.pattern_type)
            or not _is_known(Operation, self.operation)
            or not _is_known(Permission, self.permission)
        )

    @property
    def has_empty_parts(self) -> bool:
        """UNKNOWN itself, which nobody may send."""
        kinds = self.resource_type, self.pattern_type, self.operation, self.permission
        return 0 in kinds

    def matches(self, acl: Acl) -> bool:
        return (
            self.resource_type in (ResourceType.ANY, acl.resource_type)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
            and self._names(acl)
        )

    def select(self, acls: Iterable[Acl]) -> Iterator[Acl]:
        return filter(self.matches, acls)

    def _names(self, acl: Acl) -> bool:
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type != PatternType.MATCH:
            return self.resource_name == acl.resource_name
        if acl.pattern_type == PatternType.PREFIXED:
            return self.resource_name.startswith(acl.resource_name)
        return acl.resource_name in (self.resource_name, WILDCARD)


def _is_known(kind: type[IntEnum], value: int) -> bool:
    return value != 0 and value in kind._value2member_map_

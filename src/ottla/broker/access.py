"""Who may do what: asked by dispatch for a whole request, by handlers for each resource.

Nobody is restricted yet: a cluster whose file names an authorizer is refused at its start. What
restricts will answer the same questions.
"""

from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ottla.broker.transport.context import RequestContext


class Resource(IntEnum):
    """As the protocol numbers them."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5


class Operation(IntEnum):
    """As the protocol numbers them."""

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


CLUSTER = "kafka-cluster"
"""The name of the one resource of its kind."""


class Access(Protocol):
    def allows(
        self, context: "RequestContext", operation: Operation, resource: Resource, name: str
    ) -> bool: ...


class Unrestricted:
    """Everybody may do everything."""

    def allows(
        self, context: "RequestContext", operation: Operation, resource: Resource, name: str
    ) -> bool:
        return True


OPERATIONS: dict[Resource, tuple[Operation, ...]] = {
    Resource.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    Resource.GROUP: (
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    Resource.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
}
"""What can be done with a resource of each kind at all."""


def authorized_operations(
    access: Access, context: "RequestContext", resource: Resource, name: str
) -> int:
    """What the client may do, as a set of bits: that is how the protocol shows it."""
    return sum(
        1 << operation
        for operation in OPERATIONS[resource]
        if access.allows(context, operation, resource, name)
    )

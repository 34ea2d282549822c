"""Who may do what: asked by dispatch for a whole request, by guards for each resource.

Without an authorizer nobody is restricted; with Kafka's, the rules of the metadata decide.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ottla.security.acls import CLUSTER, Operation
from ottla.security.acls import ResourceType as Resource

if TYPE_CHECKING:
    from ottla.broker.audit import AuditTrail
    from ottla.broker.transport.context import RequestContext
    from ottla.metadata.image import Delta, Image
    from ottla.security.rules import Rules

__all__ = ["CLUSTER", "OPERATIONS", "Access", "Operation", "Resource", "authorized_operations"]


class Access(Protocol):
    @property
    def restricts(self) -> bool:
        """Whether anybody has to be asked at all."""

    def allows(
        self, context: "RequestContext", operation: Operation, resource: Resource, name: str
    ) -> bool: ...

    def would_allow(
        self, context: "RequestContext", operation: Operation, resource: Resource, name: str
    ) -> bool:
        """The same where nobody asked to do it, to show what could be done or seen: a refusal is
        nothing to write down."""

    def allows_some(
        self, context: "RequestContext", operation: Operation, resource: Resource
    ) -> bool:
        """Whether there may be a resource of this kind for which it is allowed."""


class Unrestricted:
    """Everybody may do everything."""

    restricts = False

    def allows(
        self, context: "RequestContext", operation: Operation, resource: Resource, name: str
    ) -> bool:
        return True

    would_allow = allows

    def allows_some(
        self, context: "RequestContext", operation: Operation, resource: Resource
    ) -> bool:
        return True


class ByRules:
    """Kafka's StandardAuthorizer: the rules of the image, as they are at this moment."""

    restricts = True

    def __init__(
        self,
        rules: "Rules",
        is_ready: Callable[[], bool] = lambda: True,
        audit: "AuditTrail | None" = None,
    ) -> None:
        self.rules = rules
        self._audit = audit
        self._tells_allowed = audit is not None and audit.tells_allowed
        self._is_ready = is_ready
        self._was_ready = False

    def _knows(self, context: "RequestContext") -> bool:
        """Before all rules are read a denial may be missing: only super users are let through, so
        that voters can form the quorum by which the rules come."""
        self._was_ready = self._was_ready or self._is_ready()
        return self._was_ready or context.principal in self.rules.super_users

    def allows(
        self, context: "RequestContext", operation: Operation, resource: Resource, name: str
    ) -> bool:
        if not self._was_ready and not self._knows(context):
            return False
        decision = self.rules.decide(
            context.principal, context.client_host, operation, resource, name
        )
        if self._audit is not None and (not decision.allowed or self._tells_allowed):
            self._audit.decided(context, operation, resource, name, decision)
        return decision.allowed

    def would_allow(
        self, context: "RequestContext", operation: Operation, resource: Resource, name: str
    ) -> bool:
        if not self._was_ready and not self._knows(context):
            return False
        return self.rules.allows(context.principal, context.client_host, operation, resource, name)

    def allows_some(
        self, context: "RequestContext", operation: Operation, resource: Resource
    ) -> bool:
        if not self._was_ready and not self._knows(context):
            return False
        return self.rules.allows_some(context.principal, context.client_host, operation, resource)

    def load(self, image: "Image") -> None:
        self.rules.replace(image.acls.values())

    def image_changed(self, image: "Image", delta: "Delta") -> None:
        if delta.access:
            self.load(image)


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
        if access.would_allow(context, operation, resource, name)
    )

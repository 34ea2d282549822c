"""The audit trail of a node: what happened, handed to Kafka's logger and, where the options name
one, to a file of events, a line of JSON each, and to a topic, a record each.

Bounded: what comes faster than the disk takes it is dropped and counted. Threads write; whoever
asks is never held up. What an event says is `security.audit`'s.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from ottla.errors import OttlaError
from ottla.ports.recurring import every

if TYPE_CHECKING:
    from ottla.broker.audit_topic import AuditTopic
    from ottla.broker.background import Background
    from ottla.broker.transport.context import Peer, RequestContext
    from ottla.security.acls import Operation, ResourceType
    from ottla.security.rules import AccessDecision
    from ottla.wire.message import Message

log = logging.getLogger(__name__)
authorizer_log = logging.getLogger("kafka.authorizer.logger")

EVENTS_MAX = 10_000
WRITE_S = 0.5
MODE = 0o600
_NAMED = (
    ("topics", "TOPIC", "name"),
    ("creations", "ACL", "resource_name"),
    ("upsertions", "USER", "name"),
    ("deletions", "USER", "name"),
    ("resources", "CONFIG", "resource_name"),
    ("feature_updates", "FEATURE", "feature"),
)
"""Where requests have the names of what they change; values are never looked at."""


QUESTIONS = ("list_", "describe_")


class Audit(Protocol):
    def decided(
        self,
        context: "RequestContext",
        operation: "Operation",
        resource: "ResourceType",
        name: str,
        decision: "AccessDecision",
    ) -> None: ...

    def signed_in(self, peer: "Peer", user: str, mechanism: str, fault: str = "") -> None: ...

    def changed(self, context: "RequestContext", request: "Message", answer: "Message") -> None: ...


class AuditTrail:
    def __init__(self, path: str, now_ms: Callable[[], int], topic: str = "") -> None:
        """Without a path and a topic only the logger is told."""
        self._path = path
        self._topic = topic
        self._is_kept = bool(path or topic)
        self._writer: AuditTopic | None = None  # on a broker, once it serves
        self._unsent: list[bytes] = []  # to the topic
        self._now_ms = now_ms
        self._events: list[dict[str, Any]] = []
        self.dropped = 0
        self.tells_allowed = authorizer_log.isEnabledFor(logging.DEBUG)

    def decided(
        self,
        context: "RequestContext",
        operation: "Operation",
        resource: "ResourceType",
        name: str,
        decision: "AccessDecision",
    ) -> None:
        from ottla.security import audit

        principal, host, api = context.principal, context.client_host, context.api.name
        authorizer_log.log(
            logging.DEBUG if decision.allowed else logging.INFO,
            "%s",
            audit.authorizer_line(
                principal, host, operation, resource, name, audit.request_name(api), decision
            ),
        )
        if not decision.allowed and self._is_kept and name != self._topic:
            self._put(
                audit.denied(
                    self._now_ms(), principal, host, operation, resource, name, api, decision
                )
            )

    def signed_in(self, peer: "Peer", user: str, mechanism: str, fault: str = "") -> None:
        if not self._is_kept:
            return
        from ottla.security import audit

        self._put(
            audit.signed_in(
                self._now_ms(), user, peer.client_host, peer.listener_name, mechanism, fault
            )
        )

    def changed(self, context: "RequestContext", request: "Message", answer: "Message") -> None:
        if not self._is_kept or context.api.name.startswith(QUESTIONS) or _is_refusal(answer):
            return
        from ottla.security import audit

        named = [
            (kind, str(getattr(one, field)))
            for items, kind, field in _NAMED
            for one in getattr(request, items, None) or ()
            if isinstance(getattr(one, field, None), str)
        ]
        self._put(
            audit.changed(
                self._now_ms(), context.principal, context.client_host, context.api.name, named
            )
        )

    def _put(self, event: dict[str, Any]) -> None:
        if len(self._events) >= EVENTS_MAX:
            self.dropped += 1
        else:
            self._events.append(event)

    def write_to(self, make: "Callable[[str], AuditTopic]") -> None:
        if self._topic:
            self._writer = make(self._topic)

    def start(self, background: "Background") -> None:
        if not self._is_kept:
            return
        if self._path:
            self._write(b"")  # a file that cannot be written is a reason not to start
        background.spawn(every(WRITE_S, self._flush, "the audit trail"))

    async def _flush(self) -> None:
        lines = self._taken()
        if lines and self._path:
            data = b"".join(lines)
            await asyncio.get_running_loop().run_in_executor(None, self._write, data)
        if self._writer is not None:
            self._unsent += lines
            self.dropped += max(0, len(self._unsent) - EVENTS_MAX)
            del self._unsent[: max(0, len(self._unsent) - EVENTS_MAX)]
            written = await self._writer.write([line.rstrip() for line in self._unsent])
            del self._unsent[:written]

    def close(self) -> None:
        """What the topic lacks by then stays away from it: others end, too."""
        lines = self._taken()
        if lines and self._path:
            self._write(b"".join(lines))

    def _taken(self) -> list[bytes]:
        events, self._events = self._events, []
        if self.dropped:
            from ottla.security import audit

            events.append(audit.dropped(self._now_ms(), self.dropped))
            self.dropped = 0
        if not events:
            return []
        import json  # not at a start: most nodes have no such file

        return [json.dumps(event).encode() + b"\n" for event in events]

    def _write(self, data: bytes) -> None:
        """Opened each time: whoever rotates the file needs to tell nobody."""
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, MODE)
        except OSError as error:
            raise OttlaError(
                f"ottla.audit.file: {self._path} cannot be written: {error.strerror}."
            ) from None
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)


def _is_refusal(answer: "Message") -> bool:
    """All of it: what was changed in part was changed."""
    if getattr(answer, "error_code", 0):
        return True
    for items in ("topics", "results", "responses"):
        codes = [one.error_code for one in getattr(answer, items, None) or ()]
        if codes:
            return all(codes)
    return False

"""What a Produce has done in a thread before it goes on; later requests of the client wait."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, TypeVar

from ottla.broker.transport.pending_reply import Body, PendingReply

if TYPE_CHECKING:
    from ottla.broker.background import Background

log = logging.getLogger(__name__)
T = TypeVar("T")


def aside(
    background: "Background",
    work: Callable[[], T],
    go_on: "Callable[[T], Body | PendingReply | None]",
    threads: Executor,
    doing: str,
) -> PendingReply:
    """`work` in a thread, then, on the event loop, what comes after it."""
    later = PendingReply()
    later.is_first = True

    def finished(found: "T | Exception") -> None:
        if isinstance(found, Exception):
            background.unexpected(doing, found)
            later.break_off()
            return
        try:
            body = go_on(found)
        except Exception as error:  # with acks=0 a refusal is a closed connection
            log.warning("a Produce ends its connection: %s", error)
            later.break_off()
            return
        if isinstance(body, PendingReply):
            body.pass_on_to(later)
        else:
            later.deliver(body)

    background.in_thread(work, finished, threads)
    return later

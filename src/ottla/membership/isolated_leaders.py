"""A leader that nobody hears any more sends those away who wait for it.

Cut off from the controller and from every follower for longer than a session, it has very likely
been replaced, and can commit nothing in any case. Clients that still reach it would wait for their
own time-outs, again and again; when it hangs up they ask another broker who leads.
"""

import logging
from collections.abc import Callable

from ottla.replication.partitions import Partitions

log = logging.getLogger(__name__)


class IsolatedLeaders:
    def __init__(
        self,
        partitions: Partitions,
        controller_silent_s: Callable[[], float],
        session_s: float,
        now: Callable[[], float],
    ) -> None:
        self._partitions = partitions
        self._controller_silent_s = controller_silent_s
        self._session_s = session_s
        self._now = now
        self._is_alone = False

    def look(self) -> None:
        """Called every now and then."""
        was_alone, self._is_alone = self._is_alone, self._controller_silent_s() > self._session_s
        if not (was_alone or self._is_alone):
            return
        if self._is_alone and not was_alone:
            log.warning("no controller has answered for %.0f s", self._session_s)
        now = self._now()
        for replica in self._partitions:
            if replica.leader is not None:
                in_sync = replica.leader.in_sync
                replica.leader.isolate(self._is_alone and in_sync.is_silent(now, self._session_s))

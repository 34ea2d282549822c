"""Replicas whose disk is full or damaged step back, are mended, and come back.

The broker lives on: the controller is told (`assignments`) that the replica has no directory for
the time being, so that it leaves the in-sync set and another leads. Only where another is in sync:
the last one serves as well as it can.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from ottla.ids import LOST_DIRECTORY
from ottla.replication.assignments import Assignments
from ottla.replication.followers import Followers
from ottla.replication.partitions import Partitions, Replica

log = logging.getLogger(__name__)

TURN_S = 1.5
"""Where the disks of several brokers are full at once (they may be one), they step back one after
the other, and the last one finds itself alone in sync and stays."""


class OfflineReplicas:
    def __init__(
        self,
        partitions: Partitions,
        followers: Followers,
        assignments: Assignments,
        now: Callable[[], float],
        now_ms: Callable[[], int],
        signs: Callable[[], object],
    ) -> None:
        """Where no replica has failed, `signs` are the same as long as none does."""
        self._partitions = partitions
        self._followers = followers
        self._assignments = assignments
        self._now = now
        self._now_ms = now_ms
        self._signs = signs
        self._healthy_signs: object = None
        self._full_since: dict[Path, float] = {}

    def look(self) -> None:
        """Called again and again. Thousands of replicas that were well need no other look."""
        signs = self._signs()
        if self._healthy_signs == signs:
            return
        self._note_full_disks()
        changed = [replica for replica in self._partitions if self._treat(replica)]
        for replica in changed:
            self._followers.settle(replica)
        back = self._back()
        self._assignments.tell_of([*changed, *back])
        well = not (changed or back) and all(
            replica.lost is None and failure_of(replica) is None for replica in self._partitions
        )
        self._healthy_signs = signs if well else None

    def _back(self) -> list[Replica]:
        """Those that the controller still takes for lost: their logs could be made after all."""
        me = self._partitions.node_id
        return [
            replica
            for replica in self._partitions
            if replica.lost is None
            and LOST_DIRECTORY in replica.state.directories
            and replica.state.directory(me) == LOST_DIRECTORY
        ]

    def _treat(self, replica: Replica) -> bool:
        """Whether it began or ceased to take part."""
        if replica.lost is None:
            why = failure_of(replica)
            if why is None or not self._may_step_back(replica):
                return False
            replica.lost = why
            log.error("%s steps back: %s", replica.topic_partition, why)
            return True
        if replica.log.damage is not None and not self._mend(replica):
            return False
        if failure_of(replica) is not None:
            return False
        replica.lost = None
        log.warning("%s takes part again", replica.topic_partition)
        return True

    def _mend(self, replica: Replica) -> bool:
        """Cut a damaged log at the damage, once another leads: the rest is fetched anew."""
        state, me = replica.state, self._partitions.node_id
        if state.leader in (me, -1) or me in state.isr:
            return False
        damage = replica.log.damage
        assert damage is not None
        end = replica.log.log_end_offset
        try:
            replica.log.truncate_to(damage.offset, now_ms=self._now_ms())
        except OSError as error:
            self._cannot_mend(replica, error)
            return False
        replica.log.damage = None
        log.warning(
            "%s is cut at offset %d, where it is damaged; up to %d it is fetched from broker %d",
            replica.topic_partition,
            damage.offset,
            end,
            state.leader,
        )
        return True

    def _cannot_mend(self, replica: Replica, error: OSError) -> None:
        """It is tried again, and told once; the other replicas are treated all the same."""
        why = str(replica.log.health.report(error))
        if replica.lost != why:
            replica.lost = why
            log.error("%s cannot be mended: %s", replica.topic_partition, why)

    def _may_step_back(self, replica: Replica) -> bool:
        in_sync, me = sorted(replica.state.isr), self._partitions.node_id
        if not any(one != me for one in in_sync):
            return False
        if replica.log.damage is not None or me not in in_sync:
            return True
        full_s = self._now() - self._full_since[replica.log.health.path]
        return full_s >= in_sync.index(me) * TURN_S

    def _note_full_disks(self) -> None:
        full = {one.log.health.path for one in self._partitions if one.log.health.full}
        now = self._now()
        self._full_since = {path: self._full_since.get(path, now) for path in full}


def failure_of(replica: Replica) -> str | None:
    if replica.log.damage is not None:
        return str(replica.log.damage)
    if replica.log.health.full:
        return f"the disk of {replica.log.health.path} is full"
    return None

"""The next state of one partition: its leader, in-sync set, eligible leaders and replicas.

Every change of an existing partition goes through a `Draft`: say what is wanted, then ask for the
record. It elects, completes reassignments and keeps the eligible leader replicas (KIP-966): a
replica that leaves the in-sync set while fewer than `min.insync.replicas` remain still holds
everything committed, so it may lead later; one that lost its disk cache may not.
"""

from collections.abc import Iterable, Mapping
from enum import Enum

from ottla.controller.rules import Rules
from ottla.ids import Uuid
from ottla.metadata.apply import NO_LEADER_CHANGE
from ottla.metadata.image import NO_LEADER, RECOVERING, Partition, Topic
from ottla.wire.records.metadata import PartitionChangeRecord


class Election(Enum):
    ONLINE = "any replica that is in sync"
    PREFERRED = "the first replica, if it is in sync"
    UNCLEAN = "any replica that lives, if none is in sync"


class Draft:
    def __init__(
        self,
        rules: Rules,
        topic: Topic,
        index: int,
        *,
        election: Election = Election.ONLINE,
        isr: Iterable[int] | None = None,
        unclean_shutdown: int | None = None,
        directories: Mapping[int, Uuid] | None = None,
    ) -> None:
        """`unclean_shutdown` is a broker that may have lost what it had not flushed."""
        self.rules = rules
        self.topic = topic
        self.index = index
        self.before = before = topic.partitions[index]
        self.election = election
        self.unclean_shutdown = unclean_shutdown
        self.isr = before.isr if isr is None else tuple(isr)
        self.replicas = before.replicas
        self.removing = before.removing
        self.adding = before.adding
        self.elr = before.elr
        self.leader_recovery_state = before.leader_recovery_state
        self.directories = {**dict(zip(before.replicas, before.directories, strict=True))}
        self.directories.update(directories or {})

    def record(self) -> PartitionChangeRecord | None:
        """The change to write; None where nothing changes."""
        record = PartitionChangeRecord(topic_id=self.topic.id, partition_id=self.index)
        self._complete_reassignment()
        self._settle_eligible()
        self._elect(record)
        self._raise_epoch_where_replicas_leave(record)
        self._write_sets(record)
        self._write_last_known(record)
        self._write_assignment(record)
        if self.leader_recovery_state != self.before.leader_recovery_state:
            record.leader_recovery_state = self.leader_recovery_state
        nothing = PartitionChangeRecord(topic_id=self.topic.id, partition_id=self.index)
        return None if record == nothing else record

    # Before the election -------------------------------------------------------------------

    def _complete_reassignment(self) -> None:
        """Done when all that are added are in sync: then those to be removed go. Where more go than
        come, all that stay must be in sync, else copies would be lost before there are others."""
        if not (self.adding or self.removing):
            return
        staying = tuple(one for one in self.isr if one not in self.removing)
        replicas = tuple(one for one in self.replicas if one not in self.removing)
        if not staying or not replicas:
            return
        awaited = replicas if len(self.adding) < len(self.removing) else self.adding
        if not set(awaited) <= set(staying):
            return
        self.isr, self.replicas = staying, replicas
        self.removing = self.adding = ()

    def _settle_eligible(self) -> None:
        if not self.rules.elr_enabled:
            return
        if len(self.isr) >= self.rules.min_isr(self.topic):
            self.elr = ()
            return
        held_all = {*self.elr, *self.before.isr} & {*self.replicas}
        self.elr = tuple(sorted(held_all - {*self.isr, self.unclean_shutdown}))

    # The election --------------------------------------------------------------------------

    def _elect(self, record: PartitionChangeRecord) -> None:
        leader, unclean = self._choose()
        if leader == self.before.leader:
            return
        if leader in self.elr:
            self.isr = (leader,)
            self.elr = tuple(one for one in self.elr if one != leader)
        record.leader = leader
        if unclean:
            record.isr = [leader]
            self.elr = ()
            if self.before.leader_recovery_state != RECOVERING:
                record.leader_recovery_state = RECOVERING
                self.leader_recovery_state = RECOVERING

    def _choose(self) -> tuple[int, bool]:
        """The leader to be, and whether it may lack committed records."""
        before = self.before
        if self.election is Election.PREFERRED and self._fit(self.replicas[0]):
            return self.replicas[0], False
        if self._fit(before.leader):
            return before.leader, False
        for replica in self.rules.by_preference(self.replicas):
            if self._fit(replica):
                return replica, False
        if self._last_known_may_lead():
            return before.last_known_elr[0], True
        if self.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self._may_lead(replica):
                    return replica, True
        return NO_LEADER, False

    def _fit(self, replica: int) -> bool:
        in_sync = replica in self.isr or (not self.isr and replica in self.elr)
        return in_sync and self._may_lead(replica)

    def _may_lead(self, replica: int) -> bool:
        return self.rules.may_lead(replica, self.directories.get(replica))

    def _last_known_may_lead(self) -> bool:
        """Nobody is eligible, but one replica was the last that could lead: it is the best."""
        known = self.before.last_known_elr
        return (
            self.rules.elr_enabled
            and not self.elr
            and not self.isr
            and len(known) == 1
            and known[0] in self.replicas
            and self._may_lead(known[0])
        )

    # After the election --------------------------------------------------------------------

    def _raise_epoch_where_replicas_leave(self, record: PartitionChangeRecord) -> None:
        """A removed replica must not go on fetching: a new leader epoch tells it."""
        if record.leader == NO_LEADER_CHANGE and not set(self.before.replicas) <= set(
            self.replicas
        ):
            record.leader = self.before.leader

    def _write_sets(self, record: PartitionChangeRecord) -> None:
        if not self.rules.elr_enabled:
            self.elr = ()
        if self.elr != self.before.elr:
            record.eligible_leader_replicas = list(self.elr)
        # Without eligible leaders the last in-sync replica stays listed, else it were forgotten.
        may_be_empty = self.rules.elr_enabled
        if record.isr is None and self.isr != self.before.isr and (self.isr or may_be_empty):
            record.isr = list(self.isr)

    def _write_last_known(self, record: PartitionChangeRecord) -> None:
        if not self.rules.elr_enabled:
            return
        before = self.before
        if record.isr == [] and before.last_known_elr != (before.leader,):
            record.last_known_elr = [before.leader]
        elif before.last_known_elr:
            has_leader = record.leader >= 0 or (
                before.leader != NO_LEADER and record.leader != NO_LEADER
            )
            if has_leader:
                record.last_known_elr = []

    def _write_assignment(self, record: PartitionChangeRecord) -> None:
        before = self.before
        new_directory = self.rules.new_directory
        directories = tuple(
            self.directories.get(one) or new_directory(one) for one in self.replicas
        )
        if directories != before.directories:
            record.directories = list(directories)
        if self.replicas != before.replicas:
            record.replicas = list(self.replicas)
        if self.removing != before.removing:
            record.removing_replicas = list(self.removing)
        if self.adding != before.adding:
            record.adding_replicas = list(self.adding)


def leader_of(partition: Partition, record: PartitionChangeRecord) -> int:
    return partition.leader if record.leader == NO_LEADER_CHANGE else record.leader

"""A change of one partition: its leader, in-sync set, eligible leaders and replicas.

Every change of an existing partition goes through here (Kafka: PartitionChangeBuilder): say what
is wanted, then ask for the record. On the way a reassignment is completed, the eligible leader
replicas (KIP-966) are settled and a leader is elected, each step from the partition as the one
before left it. A replica that leaves the in-sync set while fewer than `min.insync.replicas` remain
still holds everything committed, so it may lead later; one that lost its disk cache may not.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from msgspec.structs import replace

from ottla.controller.rules import PartitionRules
from ottla.ids import Uuid
from ottla.metadata.apply import NO_LEADER_CHANGE
from ottla.metadata.image import NO_LEADER, RECOVERING, PartitionRegistration, Topic
from ottla.wire.records.metadata import PartitionChangeRecord


class Election(Enum):
    ONLINE = "any replica that is in sync"
    PREFERRED = "the first replica, if it is in sync"
    UNCLEAN = "any replica that lives, if none is in sync"


def election_for(rules: PartitionRules, topic: Topic) -> Election:
    """What the topic's options allow where a leader is gone."""
    return Election.UNCLEAN if rules.unclean_allowed(topic) else Election.ONLINE


class Elected(NamedTuple):
    leader: int
    is_unclean: bool = False  # it may lack committed records


class PartitionChange:
    """`isr`, `replicas`, `removing`, `adding` and `leader_recovery_state` are what is wanted, and
    as they were where nobody sets them."""

    def __init__(
        self,
        rules: PartitionRules,
        topic: Topic,
        index: int,
        *,
        election: Election = Election.ONLINE,
        isr: Iterable[int] | None = None,
        unclean_shutdown: int | None = None,
        directories: Mapping[int, Uuid] | None = None,
    ) -> None:
        """`unclean_shutdown` is a broker that may have lost what it had not flushed."""
        self._before = before = topic.partitions[index]
        self.isr = before.isr if isr is None else tuple(isr)
        self.replicas = before.replicas
        self.removing = before.removing
        self.adding = before.adding
        self.leader_recovery_state = before.leader_recovery_state
        self._rules = rules
        self._topic = topic
        self._index = index
        self._election = election
        self._unclean_shutdown = unclean_shutdown
        self._directories = dict(zip(before.replicas, before.directories, strict=True))
        self._directories.update(directories or {})

    def record(self) -> PartitionChangeRecord | None:
        """The change to write; None where nothing changes."""
        wanted = replace(
            self._before,
            isr=self.isr,
            replicas=self.replicas,
            removing=self.removing,
            adding=self.adding,
            leader_recovery_state=self.leader_recovery_state,
        )
        settled = self._settle_eligible(complete_reassignment(wanted))
        elected = self._elect(settled)
        if elected.leader == self._before.leader:
            return self._difference(settled)
        return self._difference(self._led_by(elected, settled), is_unclean=elected.is_unclean)

    # Before the election -------------------------------------------------------------------

    def _settle_eligible(self, target: PartitionRegistration) -> PartitionRegistration:
        if not self._rules.elr_enabled:
            return target
        if len(target.isr) >= self._rules.min_isr(self._topic):
            return replace(target, elr=())
        held_all = {*target.elr, *self._before.isr} & {*target.replicas}
        eligible = held_all - {*target.isr, self._unclean_shutdown}
        return replace(target, elr=tuple(sorted(eligible)))

    # The election --------------------------------------------------------------------------

    def _elect(self, target: PartitionRegistration) -> Elected:
        before = self._before
        preferred = target.replicas[0]
        if self._election is Election.PREFERRED and self._is_fit(preferred, target):
            return Elected(preferred)
        if self._is_fit(before.leader, target):
            return Elected(before.leader)
        for replica in self._rules.by_preference(target.replicas):
            if self._is_fit(replica, target):
                return Elected(replica)
        if self._last_known_may_lead(target):
            return Elected(before.last_known_elr[0], is_unclean=True)
        if self._election is Election.UNCLEAN:
            for replica in target.replicas:
                if self._may_lead(replica):
                    return Elected(replica, is_unclean=True)
        return Elected(NO_LEADER)

    def _is_fit(self, replica: int, target: PartitionRegistration) -> bool:
        in_sync = replica in target.isr or (not target.isr and replica in target.elr)
        return in_sync and self._may_lead(replica)

    def _may_lead(self, replica: int) -> bool:
        return self._rules.may_lead(replica, self._directories.get(replica))

    def _last_known_may_lead(self, target: PartitionRegistration) -> bool:
        """Nobody is eligible, but one replica was the last that could lead: it is the best."""
        known = self._before.last_known_elr
        return (
            self._rules.elr_enabled
            and not target.elr
            and not target.isr
            and len(known) == 1
            and known[0] in target.replicas
            and self._may_lead(known[0])
        )

    def _led_by(self, elected: Elected, target: PartitionRegistration) -> PartitionRegistration:
        leader = elected.leader
        if elected.is_unclean:  # alone in sync, whatever others have; and it says so
            was_recovering = self._before.leader_recovery_state == RECOVERING
            state = target.leader_recovery_state if was_recovering else RECOVERING
            alone = replace(target, leader=leader, isr=(leader,), elr=())
            return replace(alone, leader_recovery_state=state)
        if leader in target.elr:
            others = tuple(one for one in target.elr if one != leader)
            return replace(target, leader=leader, isr=(leader,), elr=others)
        return replace(target, leader=leader)

    # The record ----------------------------------------------------------------------------

    def _difference(
        self, target: PartitionRegistration, *, is_unclean: bool = False
    ) -> PartitionChangeRecord | None:
        before, elr_enabled = self._before, self._rules.elr_enabled
        record = PartitionChangeRecord(topic_id=self._topic.id, partition_id=self._index)
        nothing = PartitionChangeRecord(topic_id=self._topic.id, partition_id=self._index)
        # A removed replica must not go on fetching: a new leader epoch tells it.
        if target.leader != before.leader or not set(before.replicas) <= set(target.replicas):
            record.leader = target.leader
        elr = target.elr if elr_enabled else ()
        if elr != before.elr:
            record.eligible_leader_replicas = list(elr)
        # Without eligible leaders the last in-sync replica stays listed, else it were forgotten.
        is_other_isr = target.isr != before.isr and (target.isr or elr_enabled)
        if is_unclean or is_other_isr:
            record.isr = list(target.isr)
        if elr_enabled:
            self._write_last_known(record, target)
        directories = tuple(map(self._directory_of, target.replicas))
        if directories != before.directories:
            record.directories = list(directories)
        if target.replicas != before.replicas:
            record.replicas = list(target.replicas)
        if target.removing != before.removing:
            record.removing_replicas = list(target.removing)
        if target.adding != before.adding:
            record.adding_replicas = list(target.adding)
        if target.leader_recovery_state != before.leader_recovery_state:
            record.leader_recovery_state = target.leader_recovery_state
        return None if record == nothing else record

    def _write_last_known(
        self, record: PartitionChangeRecord, target: PartitionRegistration
    ) -> None:
        before = self._before
        if record.isr == [] and before.last_known_elr != (before.leader,):
            record.last_known_elr = [before.leader]
        elif before.last_known_elr and target.leader != NO_LEADER:
            record.last_known_elr = []

    def _directory_of(self, replica: int) -> Uuid:
        return self._directories.get(replica) or self._rules.new_directory(replica)


def complete_reassignment(target: PartitionRegistration) -> PartitionRegistration:
    """Done when all that are added are in sync: then those to be removed go. Where more go than
    come, all that stay must be in sync, else copies would be lost before there are others."""
    if not target.reassigning:
        return target
    staying = tuple(one for one in target.isr if one not in target.removing)
    replicas = tuple(one for one in target.replicas if one not in target.removing)
    if not staying or not replicas:
        return target
    awaited = replicas if len(target.adding) < len(target.removing) else target.adding
    if not set(awaited) <= set(staying):
        return target
    return replace(target, isr=staying, replicas=replicas, removing=(), adding=())


def leader_of(partition: PartitionRegistration, record: PartitionChangeRecord) -> int:
    return partition.leader if record.leader == NO_LEADER_CHANGE else record.leader

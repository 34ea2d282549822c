"""Bugs that Kafka and its kin have had, each put back on purpose: a simulated cluster must show it.

A mutant replaces one function of the product by a wrong one, as a patch to the source would. The
numbers are those of the list of hazards in docs/simulation.md.
"""

from collections.abc import Callable

import pytest

from ottla.broker.handlers.records.list_offsets import Search
from ottla.controller import registration
from ottla.controller.decision import ControllerResult
from ottla.controller.writer import RecordWriter
from ottla.ids import TopicPartition
from ottla.log.epoch_table import EpochStart
from ottla.log.epochs import LeaderEpochs
from ottla.log.partition_log import Appended, PartitionLog
from ottla.metadata.image import Image, PartitionRegistration, Topic
from ottla.node.broker_role import BrokerRole
from ottla.quorum import elections, leading
from ottla.quorum.events import LeaderChanged
from ottla.quorum.member import RaftMember
from ottla.quorum.roles import LeaderState
from ottla.replication.follower import FollowedPartition
from ottla.replication.in_sync import InSync
from ottla.replication.partitions import Partitions, Replica
from ottla.wire.messages.fetch import FetchPartition

Mutant = Callable[[pytest.MonkeyPatch], None]


def followers_cut_to_their_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """1, KIP-101: a follower's high watermark lags behind what was committed."""
    right = FollowedPartition.__init__

    def begin(
        self: FollowedPartition,
        log: PartitionLog,
        leader_id: int,
        epoch: int,
        advanced: Callable[[], None] = lambda: None,
        *,
        in_sync: bool = False,
    ) -> None:
        right(self, log, leader_id, epoch, advanced, in_sync=in_sync)
        log.truncate_to(log.high_watermark, now_ms=0)

    patch.setattr(FollowedPartition, "__init__", begin)


def an_unknown_epoch_ends_with_the_log(patch: pytest.MonkeyPatch) -> None:
    """2, KIP-279: after two elections the follower's epoch may be one the leader never had."""
    right = LeaderEpochs.end_offset_for

    def end_offset_for(self: LeaderEpochs, epoch: int, log_end_offset: int) -> EpochStart:
        if epoch not in {known.epoch for known in self.entries}:
            return EpochStart(epoch, log_end_offset)
        return right(self, epoch, log_end_offset)

    patch.setattr(LeaderEpochs, "end_offset_for", end_offset_for)


def nobody_says_which_epoch_is_meant(patch: pytest.MonkeyPatch) -> None:
    """3, KIP-320: a leader of the past is believed, and nothing is ever cut."""
    right = FollowedPartition.wanted

    def wanted(self: FollowedPartition, max_bytes: int) -> FetchPartition:
        asked = right(self, max_bytes)
        asked.current_leader_epoch = asked.last_fetched_epoch = -1
        return asked

    patch.setattr(FollowedPartition, "wanted", wanted)


def who_lost_its_tail_may_still_lead(patch: pytest.MonkeyPatch) -> None:
    """5, KIP-966: a broker that comes back from a crash stays eligible."""
    patch.setattr(registration, "lost_unflushed", lambda *_: [])
    patch.setattr(BrokerRole, "_previous_epoch", lambda self: 0)


def a_new_leader_tells_its_own_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """9, KIP-207: it may not know yet what its predecessor committed."""
    patch.setattr(Search, "_refuse_while_uncertain", lambda *_: None)


def a_node_leads_by_what_it_knew_in_its_last_life(patch: pytest.MonkeyPatch) -> None:
    """11: elected is not caught up; having lost its tail, it has its followers cut theirs."""

    async def at_once(self: BrokerRole) -> None:
        pass

    patch.setattr(BrokerRole, "_know_of_own_registration", at_once)


def a_controller_decides_before_it_has_caught_up(patch: pytest.MonkeyPatch) -> None:
    """11: what earlier controllers committed may not have reached its image yet."""
    right = leading.become_leader

    def become_leader(member: RaftMember, now: float, granted: set[int]) -> None:
        right(member, now, granted)
        if isinstance(member.role, LeaderState) and not member.role.announced:
            member.role.announced = True
            member.emit(LeaderChanged(member.id, member.epoch))

    patch.setattr(elections, "become_leader", become_leader)


def followers_know_nothing_of_producers(patch: pytest.MonkeyPatch) -> None:
    """13: after a fail-over what is sent again is taken for new."""
    right = PartitionLog.append_as_follower

    def append(self: PartitionLog, batches: bytes, *, now_ms: int) -> Appended | None:
        appended = right(self, batches, now_ms=now_ms)
        self.producers.replace({}, self.log_end_offset)
        return appended

    patch.setattr(PartitionLog, "append_as_follower", append)


def a_log_belongs_to_whoever_has_its_name(patch: pytest.MonkeyPatch) -> None:
    """20: a topic that was deleted and made again gets its predecessor's records."""
    right = Partitions._add

    def add(self: Partitions, topic: Topic, index: int, state: PartitionRegistration) -> Replica:
        found = self._logs.find(TopicPartition(topic.name, index))
        if found is not None:
            found.topic_id = topic.id
        return right(self, topic, index, state)

    patch.setattr(Partitions, "_add", add)


def the_leader_alone_commits(patch: pytest.MonkeyPatch) -> None:
    """Acknowledged before the others have it."""

    def appended(self: InSync, now: float, end_offset: int) -> int | None:
        self.end_offset = self.high_watermark = end_offset
        return end_offset

    patch.setattr(InSync, "appended", appended)


def who_leaves_the_in_sync_set_is_forgotten_at_once(patch: pytest.MonkeyPatch) -> None:
    """A smaller set counts before the controller agreed to it."""
    patch.setattr(
        InSync,
        "maximal",
        property(lambda self: self.committed if self.proposed is None else self.proposed),
    )


def the_controller_answers_before_its_records_are_committed(patch: pytest.MonkeyPatch) -> None:
    """A rule that was acknowledged goes with its controller; one that was deleted comes back."""

    async def decide(
        self: RecordWriter, decide: Callable[[Image], ControllerResult[object]]
    ) -> object:
        decision = decide(self.image)
        self.append(decision.records, atomic=decision.atomic)
        return decision.reply

    patch.setattr(RecordWriter, "decide", decide)


CLUSTER_MUTANTS: list[Mutant] = [
    followers_cut_to_their_high_watermark,
    an_unknown_epoch_ends_with_the_log,
    nobody_says_which_epoch_is_meant,
    who_lost_its_tail_may_still_lead,
    a_new_leader_tells_its_own_high_watermark,
    a_node_leads_by_what_it_knew_in_its_last_life,
    a_controller_decides_before_it_has_caught_up,
    followers_know_nothing_of_producers,
    a_log_belongs_to_whoever_has_its_name,
    the_leader_alone_commits,
    who_leaves_the_in_sync_set_is_forgotten_at_once,
    the_controller_answers_before_its_records_are_committed,
]

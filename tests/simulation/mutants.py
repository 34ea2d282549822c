"""Bugs that Raft implementations have had, each put back on purpose: the simulation must find it.

A mutant replaces one function of the quorum by a wrong one, as a patch to the source would.
"""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ottla.errors import ErrorCode
from ottla.quorum import elections, leading, reconfiguration
from ottla.quorum.election_state import ElectionState
from ottla.quorum.events import Divergence, Effect, Persist, Truncate, Vote
from ottla.quorum.log_state import LogState
from ottla.quorum.member import RaftMember
from ottla.quorum.replica import QuorumReplica
from ottla.quorum.roles import LeaderState, ProspectiveState

Mutant = Callable[[pytest.MonkeyPatch], None]


def older_epochs_are_committed_by_counting(patch: pytest.MonkeyPatch) -> None:
    """Raft's figure 8: a majority has the record, and another leader still undoes it."""
    right = leading.advance

    def advance(member: RaftMember, leader: LeaderState) -> None:
        start, leader.epoch_start = leader.epoch_start, -1
        right(member, leader)
        leader.epoch_start = start

    patch.setattr(leading, "advance", advance)


def votes_are_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A vote that is not on disk is given twice."""
    right = QuorumReplica.perform

    def perform(self: QuorumReplica, effect: Effect, now_ms: int) -> bool:
        if isinstance(effect, Persist) and effect.election.leader is None:
            return True
        return right(self, effect, now_ms)

    patch.setattr(QuorumReplica, "perform", perform)


def followers_cut_to_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """KIP-101: the high watermark lags behind what was committed."""

    def cut(member: RaftMember, diverging: Divergence) -> None:
        offset = min(member.high_watermark, member.log.end_offset)
        member.emit(Truncate(offset))
        member.log.truncate(offset)
        member.history.cut_from(offset)

    right = RaftMember.become_follower

    def become_follower(self: RaftMember, *arguments: Any) -> None:
        right(self, *arguments)
        if self.high_watermark < self.log.end_offset:
            cut(self, Divergence(0, 0))

    patch.setattr(RaftMember, "become_follower", become_follower)


def nobody_is_asked_before_an_election(patch: pytest.MonkeyPatch) -> None:
    """Without a pre-vote a node that was cut off comes back with a higher epoch."""

    def stand(member: RaftMember, now: float, retries: int = 0) -> None:
        member.become_prospective(now, retries)
        member.become_candidate(now, retries)
        elections.count_votes(member, now)

    patch.setattr(elections, "stand", stand)


def records_count_before_they_are_synced(patch: pytest.MonkeyPatch) -> None:
    """An acknowledgement before the fsync: a power cut takes it back."""
    right = LogState.append

    def append(self: LogState, base_offset: int, next_offset: int, epoch: int) -> None:
        right(self, base_offset, next_offset, epoch)
        self.flushed = next_offset

    patch.setattr(LogState, "append", append)


def any_log_is_good_enough(patch: pytest.MonkeyPatch) -> None:
    """A vote for a log that lacks committed records."""

    right = elections._may_grant

    def may_grant(member: RaftMember, ask: Vote) -> bool:
        log = member.log
        return right(member, replace(ask, last_epoch=log.last_epoch, end_offset=log.end_offset))

    patch.setattr(elections, "_may_grant", may_grant)


def a_leader_goes_on_in_its_epoch_after_a_restart(patch: pytest.MonkeyPatch) -> None:
    """It may have lost records of that epoch which others have."""
    right = elections.tick

    def tick(member: RaftMember, now: float) -> None:
        if isinstance(member.role, ProspectiveState) and member.election.leader == member.id:
            epoch = member.epoch
            member.election = ElectionState(epoch - 1)
            member.become_candidate(now, 0)
            leading.become_leader(member, now, {member.id})
        right(member, now)

    patch.setattr(elections, "tick", tick)


def voters_change_twice_at_once(patch: pytest.MonkeyPatch) -> None:
    """Two changes that are not committed: the sets need not share a majority."""

    def hindrance(member: RaftMember, now: float) -> tuple[ErrorCode, str | None]:
        error = leading.refuses_to_lead(member, member.epoch)
        if isinstance(member.role, LeaderState):
            member.role.change = None
        return error, None

    patch.setattr(reconfiguration, "_hindrance", hindrance)


def a_minority_is_enough(patch: pytest.MonkeyPatch) -> None:
    """Half of an even number of voters is no majority."""
    from ottla.quorum.voters import VoterSet

    def majority(self: VoterSet) -> int:
        return (len(self.voters) + 1) // 2

    patch.setattr(VoterSet, "majority", property(majority))


def torn_records_are_believed(patch: pytest.MonkeyPatch) -> None:
    """A log that is not checked after a crash."""
    from ottla.quorum import metadata_log

    patch.setattr(metadata_log, "crc_is_valid", lambda *_: True)


MUTANTS: list[Mutant] = [
    older_epochs_are_committed_by_counting,
    votes_are_forgotten,
    followers_cut_to_the_high_watermark,
    nobody_is_asked_before_an_election,
    records_count_before_they_are_synced,
    any_log_is_good_enough,
    a_leader_goes_on_in_its_epoch_after_a_restart,
    voters_change_twice_at_once,
    a_minority_is_enough,
    torn_records_are_believed,
]

"""The quorum as a machine: `step(now, event)` gives effects; no socket, clock, thread or file.

The caller performs the effects in order, the `Persist` ones durably before those that follow, and
comes back with a `Tick` when `next_deadline` is reached.
"""

from typing import assert_never

from ottla.errors import ErrorCode
from ottla.quorum import elections, following, leading, reconfiguration
from ottla.quorum.config import QuorumConfig
from ottla.quorum.election_state import ElectionState
from ottla.quorum.events import (
    AddVoter,
    Answered,
    AskFeatures,
    BeginEpoch,
    Disconnected,
    Effect,
    EndEpoch,
    Event,
    Failed,
    FeaturesReply,
    Fetch,
    FetchReply,
    FetchSnapshot,
    Flushed,
    Known,
    Propose,
    Received,
    RemoveVoter,
    Resign,
    Response,
    SnapshotReply,
    SnapshotTaken,
    Tick,
    UpdateVoter,
    Vote,
    VoteReply,
)
from ottla.quorum.log_state import LogState
from ottla.quorum.member import Outgoing, RaftMember, Rng
from ottla.quorum.roles import (
    CandidateState,
    FollowerState,
    LeaderState,
    ProspectiveState,
    ResignedState,
    UnattachedState,
)
from ottla.quorum.voter_history import VoterHistory

FIRST_STAND = 0.2
"""Seconds after a start at which a voter may stand at the earliest: a pre-vote disturbs nobody."""


class QuorumMachine:
    def __init__(
        self,
        now: float,
        config: QuorumConfig,
        rng: Rng,
        election: ElectionState,
        log: LogState,
        history: VoterHistory,
    ) -> None:
        member = self.member = RaftMember(now, config, rng, election, log, history)
        leader = member.leader
        address = None if leader is None else member.address_of(leader)
        if member.voters.only(member.key):
            member.role = UnattachedState(now)
        elif leader is not None and address is not None:
            deadline = now + config.fetch_timeout
            member.role = FollowerState(leader, address, deadline, update_voter_at=deadline)
        else:
            member.role = UnattachedState(now + FIRST_STAND * (1 + member.rng.random()))

    def step(self, now: float, event: Event) -> list[Effect]:
        member = self.member
        role = member.role
        self._take(now, event)
        self._poll(now)
        if member.role is not role:
            leading.refuse_all(member, role)
            self._poll(now)
        effects, member.effects = member.effects, []
        return effects

    def next_deadline(self) -> float:
        """When to come back with a `Tick` at the latest."""
        member = self.member
        times = [out.deadline for out in member.outgoing.values()]
        times += member.retry_at.values()
        match member.role:
            case LeaderState() as leader:
                times.append(leader.begin_at)
                if leading.needs_others(member):
                    times.append(leader.check_quorum_at)
                times += [parked.deadline for parked in leader.parked]
                if leader.change is not None:
                    times.append(leader.change.deadline)
            case role:
                times.append(role.deadline)
        return min(times)

    def _take(self, now: float, event: Event) -> None:
        member = self.member
        match event:
            case Tick():
                pass
            case Received():
                self._received(now, event)
            case Answered(number=number, response=response):
                outgoing = member.outgoing.pop(number, None)
                if outgoing is not None:
                    self._answered(now, number, outgoing, response)
            case Failed(number=number, refused=refused):
                self._failed(now, number, refused)
            case Disconnected(node=node):
                elections.on_disconnected(member, now, node)
            case Propose():
                leading.on_propose(member, now, event)
            case Flushed():
                self._flushed(event)
            case SnapshotTaken(snapshot_id=snapshot_id, start_offset=start):
                member.log.snapshot_taken(snapshot_id, start)
            case Resign(for_good=for_good):
                if isinstance(member.role, LeaderState):
                    leading.resign(member, now, for_good=for_good)
            case _:
                assert_never(event)

    def _received(self, now: float, event: Received) -> None:
        member, token, request = self.member, event.token, event.request
        match request:
            case Vote():
                elections.on_vote(member, now, token, request)
            case BeginEpoch():
                elections.on_begin_epoch(member, now, token, request)
            case EndEpoch():
                elections.on_end_epoch(member, now, token, request)
            case Fetch():
                leading.on_fetch(member, now, token, request)
            case FetchSnapshot():
                leading.on_fetch_snapshot(member, now, token, request)
            case AddVoter():
                reconfiguration.on_add(member, now, token, request)
            case RemoveVoter():
                reconfiguration.on_remove(member, now, token, request)
            case UpdateVoter():
                reconfiguration.on_update(member, now, token, request)
            case AskFeatures():
                raise AssertionError("ApiVersions is the server's to answer")
            case _:
                assert_never(request)

    def _answered(self, now: float, number: int, sent: Outgoing, response: Response) -> None:
        member, request = self.member, sent.request
        if isinstance(response, FeaturesReply):
            reconfiguration.on_features(member, now, number, response)
            return
        known = response.known
        if known.error not in (ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH):
            self._back_off(now, sent.address)
        self._learn(now, known)
        match request, response:
            case Vote(), VoteReply(granted=granted):
                if known.error is ErrorCode.NONE and known.epoch == request.epoch:
                    elections.on_vote_reply(member, now, request, sent.node, granted)
            case Fetch(), FetchReply():
                following.on_fetch_reply(member, now, request, response)
            case FetchSnapshot(), SnapshotReply():
                following.on_snapshot_reply(member, now, request, response)
            case EndEpoch(), _:
                if isinstance(member.role, ResignedState) and sent.node is not None:
                    member.role.unaware.discard(sent.node)

    def _learn(self, now: float, known: Known) -> None:
        if known.epoch < 0:
            return
        address = known.address
        if address is None and known.leader is not None:
            address = self.member.address_of(known.leader)
        elections.learn_of_leader(self.member, now, known.epoch, known.leader, address)

    def _failed(self, now: float, number: int, refused: bool) -> None:
        member = self.member
        sent = member.outgoing.pop(number, None)
        if sent is None:
            return
        self._back_off(now, sent.address)
        reconfiguration.on_features(member, now, number, None)
        if isinstance(sent.request, EndEpoch) and isinstance(member.role, ResignedState):
            member.role.unaware.discard(sent.node or -1)
        if refused and isinstance(sent.request, Vote):
            elections.on_unreachable(member, now, sent.node)
        elif refused and sent.node is not None:
            elections.on_disconnected(member, now, sent.node)

    def _back_off(self, now: float, address: tuple[str, int]) -> None:
        self.member.retry_at[address] = now + self.member.config.retry_backoff

    def _flushed(self, event: Flushed) -> None:
        member = self.member
        if event.generation != member.log.generation:
            return
        member.log.flushed = max(member.log.flushed, event.end_offset)
        if isinstance(member.role, FollowerState):
            following.commit(member, member.role.told)

    def _poll(self, now: float) -> None:
        """Do what the role does by itself, until it has no reason to change any more."""
        member = self.member
        for number in [n for n, out in member.outgoing.items() if now >= out.deadline]:
            self._failed(now, number, refused=False)
        if member.retry_at:
            member.retry_at = {place: at for place, at in member.retry_at.items() if at > now}
        elections.tick(member, now)
        if isinstance(member.role, LeaderState):
            leading.advance(member, member.role)
            leading.tick(member, now)
            reconfiguration.tick(member, now)
        match member.role:
            case FollowerState() | UnattachedState() as role:
                following.tick(member, now, role)
            case ResignedState() as role:
                leading.tick_resigned(member, now, role)
            case ProspectiveState() | CandidateState() | LeaderState():
                pass
        member.flush()

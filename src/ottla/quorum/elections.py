"""Elections: who asks for votes, who grants them, and how an election is won or given up."""

from ottla.errors import ErrorCode
from ottla.quorum.election_state import ElectionState
from ottla.quorum.events import BeginEpoch, EndEpoch, EpochReply, Reply, Token, Vote, VoteReply
from ottla.quorum.leading import become_leader
from ottla.quorum.member import RaftMember
from ottla.quorum.roles import (
    CandidateState,
    FollowerState,
    LeaderState,
    ProspectiveState,
    ResignedState,
    UnattachedState,
)

SUSPICION_SPREAD = 0.1
"""Seconds over which voters spread their pre-votes when all see the leader's socket close."""


def on_vote(member: RaftMember, now: float, token: Token, ask: Vote) -> None:
    error, granted = _consider(member, now, ask)
    member.emit(Reply(token, VoteReply(member.known(error), granted)))


def _consider(member: RaftMember, now: float, ask: Vote) -> tuple[ErrorCode, bool]:
    newest_possible = ask.epoch if ask.pre_vote else ask.epoch - 1
    if not 0 <= ask.last_epoch <= newest_possible or ask.end_offset < 0:
        return ErrorCode.INVALID_REQUEST, False
    if ask.epoch < member.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH, False
    if ask.epoch > member.epoch:
        member.become_unattached(now, ask.epoch)
    if ask.voter is not None and not ask.voter.matches(member.key):
        return ErrorCode.INVALID_VOTER_KEY, False
    if not _may_grant(member, ask):
        return ErrorCode.NONE, False
    if not ask.pre_vote and member.election.voted is None:
        member.persist(ElectionState(member.epoch, None, ask.candidate))
        member.become_unattached(now, member.epoch)
    return ErrorCode.NONE, True


def _may_grant(member: RaftMember, ask: Vote) -> bool:
    """One vote an epoch, none once it has a leader, and only for a log at least as long as ours.

    A pre-vote binds nobody, but is refused as long as the leader is believed to be alive.
    """
    log = member.log
    if (ask.last_epoch, ask.end_offset) < (log.last_epoch, log.end_offset):
        return False
    match member.role:
        case LeaderState() | ResignedState():
            return False
        case FollowerState() as follower:
            return ask.pre_vote and (follower.suspects or not follower.has_fetched)
    if ask.pre_vote:
        return True
    if member.election.voted is not None:
        return member.election.voted.matches(ask.candidate)
    return member.election.leader is None


def on_vote_reply(
    member: RaftMember, now: float, ask: Vote, node: int | None, granted: bool
) -> None:
    """Count a vote, unless it is of an election that is over."""
    role = member.role
    if ask.epoch != member.epoch or node is None:
        return
    if ask.pre_vote != isinstance(role, ProspectiveState):
        return
    if not isinstance(role, ProspectiveState | CandidateState) or node not in member.voters.by_id:
        return
    (role.granted if granted else role.refused).add(node)
    count_votes(member, now)


def on_unreachable(member: RaftMember, now: float, node: int | None) -> None:
    """Nobody listens where a voter should: whoever waits for its vote may wait for long."""
    role = member.role
    if isinstance(role, ProspectiveState | CandidateState) and node is not None:
        role.unreachable.add(node)
        count_votes(member, now)


def count_votes(member: RaftMember, now: float) -> None:
    role = member.role
    assert isinstance(role, ProspectiveState | CandidateState)
    voters = member.voters
    if len(role.granted.intersection(voters.ids)) >= voters.majority:
        if isinstance(role, ProspectiveState):
            member.become_candidate(now, role.retries)
            count_votes(member, now)
        else:
            become_leader(member, now, role.granted)
    elif not role.is_lost:
        against = role.refused | (role.unreachable - role.granted)
        if len(voters) - len(against) < voters.majority:
            give_up(member, now)


def stand(member: RaftMember, now: float, retries: int = 0) -> None:
    """Begin with a pre-vote; a single voter wins both at once."""
    member.become_prospective(now, retries)
    count_votes(member, now)


def give_up(member: RaftMember, now: float) -> None:
    """An election that cannot be won any more: follow whom others follow, or try later."""
    role = member.role
    leader = member.leader
    address = None if leader is None else member.address_of(leader)
    if isinstance(role, ProspectiveState) and leader is not None and address is not None:
        member.become_follower(now, member.epoch, leader, address)
    elif isinstance(role, ProspectiveState | CandidateState):
        backoff = min(
            member.config.election_backoff_max,
            member.config.election_timeout * 2 ** min(role.retries, 10) / 10,
        )
        role.is_lost = True
        role.deadline = min(role.deadline, now + backoff * member.rng.random())


def tick(member: RaftMember, now: float) -> None:
    """Stand when the time has come; ask those who have not answered."""
    match member.role:
        case UnattachedState(deadline=deadline) | ResignedState(deadline=deadline, for_good=False):
            if now >= deadline and member.may_stand:
                stand(member, now)
            elif now >= deadline and isinstance(member.role, ResignedState):
                member.become_unattached(now, member.epoch + 1)
            elif now >= deadline:
                member.become_unattached(now, member.epoch)
        case FollowerState(deadline=deadline) if now >= deadline:
            if member.may_stand:
                stand(member, now)
            else:
                member.become_unattached(now, member.epoch)
        case ProspectiveState() | CandidateState() as role if now >= role.deadline:
            if member.may_stand:
                stand(member, now, role.retries + 1)
            else:
                member.become_unattached(now, member.epoch)
    if isinstance(member.role, ProspectiveState | CandidateState):
        _ask_for_votes(member, now, member.role)


def _ask_for_votes(member: RaftMember, now: float, role: ProspectiveState | CandidateState) -> None:
    for voter in member.voters.others(member.id):
        address = member.config.place(voter.endpoints)
        answered = voter.key.id in role.granted or voter.key.id in role.refused
        if address is None or answered:
            continue
        vote = Vote(
            member.key,
            member.epoch,
            member.log.last_epoch,
            member.log.end_offset,
            isinstance(role, ProspectiveState),
            voter.key,
        )
        if member.may_send(now, address, vote):
            member.send(now, voter.key.id, address, vote)


def on_disconnected(member: RaftMember, now: float, node: int) -> None:
    """The leader's process is probably gone: ask the others soon, instead of waiting it out."""
    role = member.role
    if isinstance(role, FollowerState) and role.leader == node and not role.suspects:
        role.suspects = True
        if member.may_stand:
            spread = SUSPICION_SPREAD * member.rng.random()
            role.deadline = min(role.deadline, now + spread)


def on_begin_epoch(member: RaftMember, now: float, token: Token, begin: BeginEpoch) -> None:
    error = _heed_leader(member, now, begin)
    if error is ErrorCode.NONE and begin.voter is not None and not begin.voter.matches(member.key):
        error = ErrorCode.INVALID_VOTER_KEY
    member.emit(Reply(token, EpochReply(member.known(error))))


def on_end_epoch(member: RaftMember, now: float, token: Token, end: EndEpoch) -> None:
    """The leader goes: the best successor stands at once, the others a little later each."""
    error = _heed_leader(member, now, end)
    role = member.role
    if error is ErrorCode.NONE and isinstance(role, FollowerState) and role.leader == end.leader:
        ranks = [rank for rank, key in enumerate(end.candidates) if key.matches(member.key)]
        rank = ranks[0] if ranks else len(end.candidates)
        role.suspects = True
        role.deadline = min(role.deadline, now + rank * SUSPICION_SPREAD)
    member.emit(Reply(token, EpochReply(member.known(error))))


def _heed_leader(member: RaftMember, now: float, word: BeginEpoch | EndEpoch) -> ErrorCode:
    """Follow a leader that made itself known."""
    if word.epoch < member.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if word.leader == member.id:
        return ErrorCode.INVALID_REQUEST
    address = member.config.place(word.endpoints) or member.address_of(word.leader)
    learn_of_leader(member, now, word.epoch, word.leader, address, first_hand=True)
    return ErrorCode.NONE


def learn_of_leader(
    member: RaftMember,
    now: float,
    epoch: int,
    leader: int | None,
    address: tuple[str, int] | None,
    *,
    first_hand: bool = False,
) -> None:
    """Take over what a message says of epoch and leader, if it is news."""
    if epoch < member.epoch:
        return
    if leader is not None and len(member.config.listeners) > 1 and not first_hand:
        # Others name the listener that they use: ours may be another while a cluster moves.
        address = member.address_of(leader) or address
    if leader is None or leader == member.id or address is None:
        if epoch > member.epoch:
            member.become_unattached(now, epoch)
        return
    if epoch == member.epoch:
        known = member.election.leader
        if isinstance(member.role, LeaderState | FollowerState) or known not in (None, leader):
            return  # there is one leader an epoch, and we know it
        if known is not None and isinstance(member.role, ProspectiveState) and not first_hand:
            return  # we doubt it: it must speak for itself
    member.become_follower(now, epoch, leader, address)

"""Changes of the voters, one at a time: a voter is added, removed, or listens elsewhere now.

The new voters count from the moment their record is in a log, so two sets that differ by one
always share a majority; hence the next change waits until the last is committed.
"""

from ottla.errors import ErrorCode
from ottla.quorum.events import (
    AddVoter,
    AskFeatures,
    EpochReply,
    FeaturesReply,
    RemoveVoter,
    Reply,
    Token,
    UpdateVoter,
)
from ottla.quorum.leading import append_control, refuses_to_lead, resign
from ottla.quorum.member import RaftMember
from ottla.quorum.roles import LeaderState, Progress, VoterChange
from ottla.quorum.voters import ReplicaKey, Voter

CAUGHT_UP_WITHIN = 3600.0


def on_add(member: RaftMember, now: float, token: Token, add: AddVoter) -> None:
    error, detail = _hindrance(member, now)
    if error is ErrorCode.NONE and add.key.id in member.voters.by_id:
        error = ErrorCode.DUPLICATE_VOTER
        detail = f"Node {add.key.id} is a voter already."
    if error is ErrorCode.NONE and not add.endpoints:
        error, detail = ErrorCode.INVALID_REQUEST, "The new voter has no endpoint."
    if error is not ErrorCode.NONE:
        _reply(member, token, error, detail)
        return
    assert isinstance(member.role, LeaderState)
    place = member.config.place(add.endpoints)
    assert place is not None
    deadline = now + min(add.timeout, member.config.request_timeout)
    number = member.send(now, add.key.id, place, AskFeatures())
    member.role.change = VoterChange(token, add, deadline, number)


def on_features(member: RaftMember, now: float, number: int, reply: FeaturesReply | None) -> None:
    """The voter to be said what it supports (None: it did not answer)."""
    leader = member.role
    if (
        not isinstance(leader, LeaderState)
        or leader.change is None
        or leader.change.number != number
    ):
        return
    change = leader.change
    add = change.request
    assert isinstance(add, AddVoter)
    if reply is None:
        _finish(member, ErrorCode.REQUEST_TIMED_OUT, f"Node {add.key.id} does not answer.")
        return
    low, high = reply.kraft_versions
    if not low <= member.history.kraft_version <= high:
        detail = f"Node {add.key.id} supports kraft.version {low} to {high} only."
        _finish(member, ErrorCode.INVALID_REQUEST, detail)
    elif not _is_caught_up(leader, now, add.key):
        detail = f"Node {add.key.id} has not fetched the metadata log yet."
        _finish(member, ErrorCode.REQUEST_TIMED_OUT, detail)
    else:
        voters = member.voters.with_voter(Voter(add.key, add.endpoints, reply.kraft_versions))
        change.offset = append_control(member, [voters.to_record()])
        if not add.ack_when_committed and change.token is not None:
            _reply(member, change.token, ErrorCode.NONE, None)
            change.token = None


def on_remove(member: RaftMember, now: float, token: Token, remove: RemoveVoter) -> None:
    error, detail = _hindrance(member, now)
    listed = member.voters.by_id.get(remove.key.id)
    if error is ErrorCode.NONE and (listed is None or listed.key != remove.key):
        error, detail = ErrorCode.VOTER_NOT_FOUND, f"{remove.key.id} is not a voter."
    if error is ErrorCode.NONE and len(member.voters) == 1:
        error, detail = ErrorCode.INVALID_REQUEST, "The last voter cannot be removed."
    if error is not ErrorCode.NONE:
        _reply(member, token, error, detail)
        return
    assert isinstance(member.role, LeaderState)
    deadline = now + member.config.request_timeout
    offset = append_control(member, [member.voters.without(remove.key.id).to_record()])
    member.role.change = VoterChange(token, remove, deadline, offset=offset)


def on_update(member: RaftMember, now: float, token: Token, update: UpdateVoter) -> None:
    error = refuses_to_lead(member, update.epoch)
    detail = None
    if error is ErrorCode.NONE:
        error, detail = _hindrance(member, now)
    listed = member.voters.by_id.get(update.voter.key.id)
    if error is ErrorCode.NONE and (listed is None or listed.key != update.voter.key):
        error = ErrorCode.VOTER_NOT_FOUND
    if error is ErrorCode.NONE and not update.voter.endpoints:
        error = ErrorCode.INVALID_REQUEST
    if error is ErrorCode.NONE and listed != update.voter:
        append_control(member, [member.voters.with_voter(update.voter).to_record()])
    _reply(member, token, error, detail)


def _hindrance(member: RaftMember, now: float) -> tuple[ErrorCode, str | None]:
    """Why the voters cannot be changed now."""
    error = refuses_to_lead(member, member.epoch)
    if error is not ErrorCode.NONE:
        return error, "This node does not lead the quorum."
    assert isinstance(member.role, LeaderState)
    if member.history.kraft_version < 1:
        return ErrorCode.UNSUPPORTED_VERSION, "The voters of this cluster are static."
    if member.role.change is not None:
        return ErrorCode.REQUEST_TIMED_OUT, "Another change of voters is under way."
    committed = member.role.announced and member.history.last_offset < member.high_watermark
    if not committed:
        return ErrorCode.REQUEST_TIMED_OUT, "The last change of voters is not committed yet."
    return ErrorCode.NONE, None


def _is_caught_up(leader: LeaderState, now: float, key: ReplicaKey) -> bool:
    one: Progress | None = leader.progress.get(key)
    if one is None or one.caught_up_at is None or one.fetched_at is None:
        return False
    return one.fetched_at > now - CAUGHT_UP_WITHIN


def tick(member: RaftMember, now: float) -> None:
    """End a change that is committed, or that took too long to be waited for."""
    leader = member.role
    if not isinstance(leader, LeaderState):
        return
    offset = None if leader.change is None else leader.change.offset
    if offset is not None and member.high_watermark > offset:
        _finish(member, ErrorCode.NONE, None)
    if leader.change is not None and now >= leader.change.deadline:
        _finish(member, ErrorCode.REQUEST_TIMED_OUT, "The change was not committed in time.")
    gone = not member.is_voter and member.history.last_offset < member.high_watermark
    if gone and len(member.voters):
        resign(member, now, for_good=False)


def _finish(member: RaftMember, error: ErrorCode, detail: str | None) -> None:
    assert isinstance(member.role, LeaderState)
    assert member.role.change is not None
    token = member.role.change.token
    member.role.change = None
    if token is not None:
        _reply(member, token, error, detail)


def _reply(member: RaftMember, token: Token, error: ErrorCode, detail: str | None) -> None:
    member.emit(Reply(token, EpochReply(member.known(error, detail))))

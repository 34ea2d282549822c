"""What a leader does: its first records, appends, fetches of others, and the high watermark."""

from ottla.errors import ErrorCode
from ottla.quorum.control_records import leader_change
from ottla.quorum.election_state import ElectionState
from ottla.quorum.events import (
    Append,
    AppendControl,
    BeginEpoch,
    Commit,
    Divergence,
    EndEpoch,
    EpochReply,
    Fetch,
    FetchReply,
    FetchSnapshot,
    LeaderChanged,
    Propose,
    Reply,
    ReplyRecords,
    ReplySnapshot,
    SnapshotReply,
    Token,
)
from ottla.quorum.member import RaftMember
from ottla.quorum.roles import LeaderState, Parked, Progress, ResignedState, Role
from ottla.quorum.snapshots import SnapshotId
from ottla.quorum.voters import ReplicaKey, Voter
from ottla.wire.message import Message
from ottla.wire.records.quorum import KRaftVersionRecord

CHECK_QUORUM_FACTOR = 1.5
OBSERVER_SESSION = 300.0
"""Seconds after which an observer that does not fetch is forgotten."""


def become_leader(member: RaftMember, now: float, granted: set[int]) -> None:
    member.persist(ElectionState(member.epoch, member.id, None))
    check_at = now + member.config.fetch_timeout * CHECK_QUORUM_FACTOR
    member.become(LeaderState(member.log.end_offset, set(granted), check_at, now))
    append_control(member, _first_records(member, granted))


def _first_records(member: RaftMember, granted: set[int]) -> list[Message]:
    """A record of its own epoch, which commits all before it; and voters nobody wrote yet."""
    history = member.history
    records = [leader_change(member.id, member.voters.ids, sorted(granted))]
    if history.kraft_version > 0:
        voters = history.voters.with_voter(Voter(member.key, member.config.endpoints))
        if history.last_offset < 0 or (member.config.endpoints and voters != history.voters):
            version = KRaftVersionRecord(k_raft_version=history.kraft_version)
            records += [version, voters.to_record()]
    return records


def append_control(member: RaftMember, records: list[Message]) -> int:
    """Append records of the quorum's own; the offset of the last."""
    base = member.log.end_offset
    member.emit(AppendControl(base, member.epoch, records))
    for offset, record in enumerate(records, base):
        member.history.note_record(offset, record)
    member.log.append(base, base + len(records), member.epoch)
    member.flush()
    return base + len(records) - 1


def on_propose(member: RaftMember, now: float, propose: Propose) -> None:
    assert isinstance(member.role, LeaderState)
    base = member.log.end_offset
    member.emit(Append(base, member.epoch, propose.values))
    member.log.append(base, base + len(propose.values), member.epoch)
    member.flush()


def refuses_to_lead(member: RaftMember, epoch: int) -> ErrorCode:
    """Why a request for the leader of `epoch` is not for us; NONE if it is."""
    if epoch < member.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > member.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(member.role, LeaderState):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.NONE


def on_fetch(member: RaftMember, now: float, token: Token, fetch: Fetch) -> None:
    error = refuses_to_lead(member, fetch.epoch)
    if fetch.offset < 0 or fetch.last_epoch < 0 or fetch.last_epoch > fetch.epoch:
        error = ErrorCode.INVALID_REQUEST
    if error is not ErrorCode.NONE:
        member.emit(Reply(token, FetchReply(member.known(error))))
        return
    assert isinstance(member.role, LeaderState)
    match member.log.check(fetch.offset, fetch.last_epoch):
        case Divergence() as diverging:
            reply = FetchReply(member.known(), _told(member), diverging=diverging)
            member.emit(Reply(token, reply))
        case SnapshotId() as snapshot_id:
            reply = FetchReply(member.known(), _told(member), snapshot_id=snapshot_id)
            member.emit(Reply(token, reply))
        case None:
            note_progress(member, member.role, now, fetch)
            advance(member, member.role)
            _answer_or_park(member, member.role, now, token, fetch)


def _told(member: RaftMember) -> int | None:
    """The high watermark to tell: none before this epoch has committed something."""
    assert isinstance(member.role, LeaderState)
    return member.high_watermark if member.role.announced else None


def _answer_or_park(
    member: RaftMember, leader: LeaderState, now: float, token: Token, fetch: Fetch
) -> None:
    if fetch.max_wait <= 0 or _has_news(member, fetch):
        _answer(member, token, fetch)
    else:
        leader.parked.append(Parked(token, fetch, now + fetch.max_wait))


def _has_news(member: RaftMember, fetch: Fetch) -> bool:
    if fetch.offset < member.log.end_offset:
        return True
    told = _told(member)
    return told is not None and fetch.high_watermark is not None and fetch.high_watermark < told


def _answer(member: RaftMember, token: Token, fetch: Fetch) -> None:
    reply = FetchReply(member.known(), _told(member))
    member.emit(ReplyRecords(token, reply, fetch.offset))


def note_progress(member: RaftMember, leader: LeaderState, now: float, fetch: Fetch) -> None:
    if fetch.replica.id < 0:
        return  # a tool that reads along
    for key in [key for key in leader.progress if key.id == fetch.replica.id]:
        if key != fetch.replica:
            del leader.progress[key]  # it came back with another disk, and without what it had
    progress = leader.progress.setdefault(fetch.replica, Progress(fetch.replica))
    if fetch.offset >= member.log.end_offset:
        progress.caught_up_at = now
    progress.end_offset = fetch.offset
    _heard_of(member, leader, now, progress)


def _heard_of(member: RaftMember, leader: LeaderState, now: float, progress: Progress) -> None:
    """A leader that a majority does not fetch from must not go on: another may be elected."""
    progress.fetched_at = now
    voters = member.voters
    if not voters.has(progress.key):
        return
    leader.fetched.add(progress.key.id)
    own = 1 if member.is_voter else 0
    if len(leader.fetched.intersection(voters.ids)) + own >= voters.majority:
        leader.fetched.clear()
        leader.check_quorum_at = now + member.config.fetch_timeout * CHECK_QUORUM_FACTOR


def needs_others(member: RaftMember) -> bool:
    """Whether a majority takes more than ourselves."""
    return not member.voters.only(member.key)


def on_fetch_snapshot(member: RaftMember, now: float, token: Token, fetch: FetchSnapshot) -> None:
    error = refuses_to_lead(member, fetch.epoch)
    if error is not ErrorCode.NONE:
        member.emit(Reply(token, SnapshotReply(member.known(error))))
        return
    assert isinstance(member.role, LeaderState)
    progress = member.role.progress.setdefault(fetch.replica, Progress(fetch.replica))
    _heard_of(member, member.role, now, progress)
    reply = SnapshotReply(member.known(), fetch.snapshot_id, 0, fetch.position)
    member.emit(ReplySnapshot(token, reply, fetch.max_bytes))


def advance(member: RaftMember, leader: LeaderState) -> None:
    """Commit what a majority has synced, once that includes a record of this epoch.

    Records of earlier epochs are never committed by counting: another leader could still undo
    them. The first own record carries them along.
    """
    if member.high_watermark >= member.log.end_offset:
        return  # all is committed, as it is at most steps: nobody has to be counted
    reached = majority_offset(member, leader)
    if reached <= leader.epoch_start or reached <= member.high_watermark:
        return
    member.high_watermark = reached
    member.emit(Commit(reached))
    if not leader.announced:
        leader.announced = True
        member.emit(LeaderChanged(member.id, member.epoch))


def majority_offset(member: RaftMember, leader: LeaderState) -> int:
    """The largest offset that a majority of the voters has synced."""
    voters = member.voters
    reached = sorted([synced_by(member, leader, voter.key) for voter in voters], reverse=True)
    return reached[voters.majority - 1] if reached else -1


def synced_by(member: RaftMember, leader: LeaderState, key: ReplicaKey) -> int:
    if key.matches(member.key):
        return member.log.flushed
    reached = -1
    for one in leader.progress.values():
        if one.end_offset > reached and key.matches(one.key):
            reached = one.end_offset
    return reached


def tick(member: RaftMember, now: float) -> None:
    leader = member.role
    assert isinstance(leader, LeaderState)
    if needs_others(member) and now >= leader.check_quorum_at:
        resign(member, now, for_good=False)
        return
    for parked in [parked for parked in leader.parked if _is_due(member, parked, now)]:
        leader.parked.remove(parked)
        _answer(member, parked.token, parked.fetch)
    if now >= leader.begin_at:
        leader.begin_at = now + member.config.fetch_timeout / 2
        _make_known(member, leader, now)
    for key in [key for key, one in leader.progress.items() if _is_forgotten(member, one, now)]:
        del leader.progress[key]


def _is_due(member: RaftMember, parked: Parked, now: float) -> bool:
    return now >= parked.deadline or _has_news(member, parked.fetch)


def _is_forgotten(member: RaftMember, one: Progress, now: float) -> bool:
    if member.voters.has(one.key):
        return False
    return one.fetched_at is None or one.fetched_at < now - OBSERVER_SESSION


def _make_known(member: RaftMember, leader: LeaderState, now: float) -> None:
    """Tell voters that do not fetch who leads."""
    for voter in member.voters.others(member.id):
        address = member.config.place(voter.endpoints)
        heard = (one.fetched_at for one in leader.progress.values() if voter.key.matches(one.key))
        recently = now - member.config.fetch_timeout / 2
        if any(at is not None and at >= recently for at in heard):
            continue
        begin = BeginEpoch(member.id, member.epoch, member.config.endpoints, voter.key)
        if address is not None and member.may_send(now, address, begin):
            member.send(now, voter.key.id, address, begin)


def resign(member: RaftMember, now: float, *, for_good: bool) -> None:
    leader = member.role
    assert isinstance(leader, LeaderState)
    others = member.voters.others(member.id)
    others.sort(key=lambda voter: -synced_by(member, leader, voter.key))
    member.become_resigned(now, tuple(voter.key for voter in others), for_good)


def tick_resigned(member: RaftMember, now: float, resigned: ResignedState) -> None:
    end = EndEpoch(member.id, member.epoch, member.config.endpoints, resigned.candidates)
    for voter in member.voters.others(member.id):
        address = member.config.place(voter.endpoints)
        if voter.key.id not in resigned.unaware or address is None:
            continue
        if member.may_send(now, address, end):
            member.send(now, voter.key.id, address, end)


def refuse_all(member: RaftMember, left: Role) -> None:
    """Answer whoever still waits for the leader that we were."""
    if isinstance(left, LeaderState):
        known = member.known(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        for parked in left.parked:
            member.emit(Reply(parked.token, FetchReply(known)))
        if left.change is not None and left.change.token is not None:
            member.emit(Reply(left.change.token, EpochReply(known)))

"""What a follower does: find the leader, fetch its log or its snapshot, cut what it disowns."""

import logging

from ottla.errors import ErrorCode, KafkaError, OttlaError
from ottla.quorum.events import (
    AddVoter,
    AppendFetched,
    Commit,
    Divergence,
    Fetch,
    FetchReply,
    FetchSnapshot,
    InstallSnapshot,
    SnapshotReply,
    Truncate,
    UpdateVoter,
)
from ottla.quorum.member import RaftMember
from ottla.quorum.roles import Download, FollowerState, UnattachedState
from ottla.quorum.snapshots import SnapshotId, read_snapshot
from ottla.quorum.voters import Voter

logger = logging.getLogger(__name__)

SNAPSHOT_BYTES = 1 << 20


def tick(member: RaftMember, now: float, role: FollowerState | UnattachedState) -> None:
    """Keep one fetch under way: to the leader, or to anybody who may know it."""
    if isinstance(role, UnattachedState):
        _look_for_leader(member, now)
        return
    if member.log.flushed < member.log.end_offset or now < member.retry_at.get(role.address, 0):
        return  # what a fetch acknowledges must be synced first
    if any(place == role.address for place in _asked(member)):
        return
    if role.download is None:
        request: Fetch | FetchSnapshot = _fetch(member, member.config.fetch_wait)
    else:
        position = len(role.download.data)
        wanted = role.download.snapshot_id
        request = FetchSnapshot(member.key, member.epoch, wanted, position, SNAPSHOT_BYTES)
    member.send(now, role.leader, role.address, request)
    _keep_voter_current(member, now, role)


def _look_for_leader(member: RaftMember, now: float) -> None:
    asked = _asked(member)
    address = member.next_bootstrap()
    if address is not None and not asked and now >= member.retry_at.get(address, 0):
        member.send(now, None, address, _fetch(member, max_wait=0))


def _asked(member: RaftMember) -> list[tuple[str, int]]:
    """Where a fetch is under way to; that may be a leader of the past who will never answer."""
    fetches = (Fetch, FetchSnapshot)
    return [out.address for out in member.outgoing.values() if isinstance(out.request, fetches)]


def _fetch(member: RaftMember, max_wait: float) -> Fetch:
    log = member.log
    return Fetch(
        member.key, member.epoch, log.end_offset, log.last_epoch, member.high_watermark, max_wait
    )


def _keep_voter_current(member: RaftMember, now: float, role: FollowerState) -> None:
    """Tell the leader where we listen now, or that we would like to vote."""
    if now < role.update_voter_at or member.history.kraft_version < 1 or not role.has_fetched:
        return
    role.update_voter_at = now + member.config.fetch_timeout
    listed = member.voters.by_id.get(member.id)
    own = Voter(member.key, member.config.endpoints)
    if not member.config.is_controller or not own.endpoints:
        return
    if listed is None and member.config.auto_join:
        ask = AddVoter(member.key, own.endpoints, False, member.config.request_timeout)
        member.send(now, role.leader, role.address, ask)
    elif listed is not None and listed.key == member.key and listed != own:
        member.send(now, role.leader, role.address, UpdateVoter(member.epoch, own))


def on_fetch_reply(member: RaftMember, now: float, fetch: Fetch, reply: FetchReply) -> None:
    role = member.role
    if not isinstance(role, FollowerState) or reply.known.epoch != member.epoch:
        return
    if reply.known.error is not ErrorCode.NONE or fetch.offset != member.log.end_offset:
        return
    if fetch.epoch != member.epoch:
        return  # asked of an earlier leader: the logs may differ below the end
    role.deadline = now + member.config.fetch_timeout
    role.has_fetched, role.suspects = True, False
    match reply:
        case FetchReply(diverging=Divergence() as diverging):
            cut(member, diverging)
        case FetchReply(snapshot_id=SnapshotId() as snapshot_id):
            role.download = Download(snapshot_id)
        case _:
            _append(member, reply)
            commit(member, reply.high_watermark)


def cut(member: RaftMember, diverging: Divergence) -> None:
    offset = member.log.cut_for(diverging)
    if offset < member.high_watermark:
        raise OttlaError(
            f"The leader of epoch {member.epoch} asks node {member.id} to drop committed records: "
            f"from {offset}, committed are those below {member.high_watermark}."
        )
    member.emit(Truncate(offset))
    member.log.truncate(offset)
    member.history.cut_from(offset)


def _append(member: RaftMember, reply: FetchReply) -> None:
    if not reply.batches:
        return
    member.emit(AppendFetched(reply.records))
    for batch in reply.batches:
        member.log.append(batch.base_offset, batch.next_offset, batch.epoch)
        if batch.kraft_version is not None:
            member.history.note_version(batch.base_offset, batch.kraft_version)
        if batch.voters is not None:
            member.history.note_voters(batch.base_offset, batch.voters)
    member.flush()


def commit(member: RaftMember, told: int | None) -> None:
    """Take over the leader's high watermark, as far as our own synced log reaches."""
    if told is not None:
        role = member.role
        reached = min(told, member.log.flushed)
        if isinstance(role, FollowerState):
            role.told = max(role.told, told)
        if reached > member.high_watermark:
            member.high_watermark = reached
            member.emit(Commit(reached))


def on_snapshot_reply(
    member: RaftMember, now: float, fetch: FetchSnapshot, reply: SnapshotReply
) -> None:
    role = member.role
    if not isinstance(role, FollowerState) or reply.known.epoch != member.epoch:
        return
    download = role.download
    if download is None or download.snapshot_id != fetch.snapshot_id:
        return
    if reply.known.error is not ErrorCode.NONE:
        role.download = None  # it was replaced by a newer one: fetching will tell
        return
    role.deadline = now + member.config.fetch_timeout
    role.has_fetched, role.suspects = True, False
    if reply.position != len(download.data) or reply.snapshot_id != download.snapshot_id:
        return
    download.data += reply.data
    if len(download.data) >= reply.size:
        role.download = None
        _install(member, download)


def _install(member: RaftMember, download: Download) -> None:
    data = bytes(download.data)
    try:
        snapshot = read_snapshot(data)
    except KafkaError as error:
        logger.warning("the leader's snapshot %s is not whole: %s", download.snapshot_id, error)
        return
    end = download.snapshot_id.end_offset
    member.emit(InstallSnapshot(download.snapshot_id, data))
    member.log.restart(download.snapshot_id)
    member.history.start_from(end - 1, snapshot.kraft_version, snapshot.voters)
    if end > member.high_watermark:
        member.high_watermark = end
        member.emit(Commit(end))

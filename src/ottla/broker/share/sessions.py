"""Share sessions: which partitions a member takes from, told once and changed bit by bit."""

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid

if TYPE_CHECKING:
    from ottla.broker.transport.context import Peer

OPENING, CLOSING = 0, -1
LAST_EPOCH = 2**31 - 1
MEMBER_ID_SIZE_MAX = 36
Partition = tuple[Uuid, int]


class SessionKey(NamedTuple):
    group_id: str
    member_id: str


class SessionPartition:
    """A partition in a session."""

    __slots__ = ("is_named", "must_be_told")

    def __init__(self, is_named: bool, must_be_told: bool) -> None:
        self.is_named = is_named  # its topic had a name when it came
        self.must_be_told = must_be_told  # even if there is nothing to tell


class ShareSession:
    def __init__(self, owner: "Peer") -> None:
        self.owner = owner  # the connection it lives on
        self.epoch = 1  # what the next request must say
        self.partitions: dict[Partition, SessionPartition] = {}

    def turn(self) -> None:
        self.epoch = next_epoch(self.epoch)

    def add(self, partitions: Iterable[tuple[Partition, bool]], *, must_be_told: bool) -> None:
        for partition, is_named in partitions:
            if partition not in self.partitions:
                self.partitions[partition] = SessionPartition(is_named, must_be_told)

    def forget(self, partitions: Iterable[Partition]) -> None:
        for partition in partitions:
            self.partitions.pop(partition, None)

    def must_tell(self, partition: Partition, *, has_records: bool, is_refused: bool) -> bool:
        """Of a later answer: what did not change is left out, who had records goes last."""
        member = self.partitions.get(partition)
        if member is None:
            return has_records or is_refused
        told = has_records or is_refused or member.must_be_told
        member.must_be_told = is_refused
        if has_records:
            del self.partitions[partition]
            self.partitions[partition] = member
        return told


class ShareSessions:
    def __init__(self, sessions_max: int) -> None:
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._opened: defaultdict[Peer, set[SessionKey]] = defaultdict(set)  # until it is lost
        self._sessions_max = sessions_max

    def open(self, key: SessionKey, asker: "Peer") -> ShareSession:
        """A new one, in place of any other of this member."""
        self._sessions.pop(key, None)
        if len(self._sessions) >= self._sessions_max:
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        session = self._sessions[key] = ShareSession(asker)
        self._opened[asker].add(key)
        return session

    def find(self, key: SessionKey, epoch: int) -> ShareSession:
        """The session a request belongs to; with the next one it is at the next epoch."""
        known = self._sessions.get(key)
        if known is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch != CLOSING:
            if epoch != known.epoch:
                raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
            known.turn()
        return known

    def close(self, key: SessionKey) -> ShareSession | None:
        return self._sessions.pop(key, None)

    def has_group(self, group_id: str) -> bool:
        return any(key.group_id == group_id for key in self._sessions)

    def opened_on(self, lost: "Peer") -> dict[SessionKey, bool]:
        """All that a connection opened before it was lost; and whether they end with it: others
        were opened anew on another one."""
        return {key: self._is_on(lost, key) for key in self._opened.pop(lost, ())}

    def _is_on(self, connection: "Peer", key: SessionKey) -> bool:
        return key in self._sessions and self._sessions[key].owner is connection


def next_epoch(epoch: int) -> int:
    return 1 if epoch == LAST_EPOCH else epoch + 1


def rotated(partitions: list[Partition], epoch: int) -> list[Partition]:
    """Another partition goes first each time."""
    first = epoch % len(partitions) if partitions and epoch > 0 else 0
    return partitions[first:] + partitions[:first]


def session_key(group_id: str | None, member_id: str | None) -> SessionKey:
    if group_id is None or not member_id or len(member_id) > MEMBER_ID_SIZE_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A group and a member have to be named.")
    return SessionKey(group_id, member_id)

"""Share sessions: which partitions a member takes from, told once and changed bit by bit."""

from typing import TYPE_CHECKING, NamedTuple

from ottla.errors import ErrorCode, KafkaError
from ottla.ids import Uuid

if TYPE_CHECKING:
    from ottla.broker.context import Peer

OPENING, CLOSING = 0, -1
LAST_EPOCH = 2**31 - 1
Partition = tuple[Uuid, int]


class SessionKey(NamedTuple):
    group_id: str
    member_id: str


class ShareSession:
    def __init__(self, owner: "Peer") -> None:
        self.owner = owner  # the connection it lives on
        self.epoch = 1  # what the next request must say
        self.partitions: dict[Partition, bool] = {}  # whether its queue was confirmed

    def turn(self) -> None:
        self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1

    def rotated(self) -> list[Partition]:
        """Another partition goes first each time."""
        places = list(self.partitions)
        first = self.epoch % len(places) if places else 0
        return places[first:] + places[:first]


class ShareSessions:
    def __init__(self, sessions_max: int) -> None:
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._sessions_max = sessions_max

    def find(self, key: SessionKey, epoch: int, asker: "Peer") -> ShareSession:
        """The session a request belongs to; a new one for who opens."""
        if epoch == OPENING:
            if key not in self._sessions and len(self._sessions) >= self._sessions_max:
                raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
            session = self._sessions[key] = ShareSession(asker)
            asker.share_sessions.add(key)
            return session
        known = self._sessions.get(key)
        if known is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch not in (CLOSING, known.epoch):
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        if epoch != CLOSING:
            known.turn()
        return known

    def close(self, key: SessionKey) -> ShareSession | None:
        return self._sessions.pop(key, None)

    def lost_with(self, connection: "Peer") -> list[SessionKey]:
        """Sessions that end with a connection; others were opened anew on another one."""
        return [
            key
            for key in connection.share_sessions
            if key in self._sessions and self._sessions[key].owner is connection
        ]


def session_key(group_id: str | None, member_id: str | None) -> SessionKey:
    if not group_id or not member_id or len(member_id) > 36:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A group and a member have to be named.")
    return SessionKey(group_id, member_id)

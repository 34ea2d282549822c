"""When each broker was last heard of, and how far it knows the metadata.

Only the active controller keeps sessions, in memory, on a monotonic clock that is passed in; a
new one starts with everybody just heard of. What follows is decided in `brokers`.
"""

from collections.abc import Iterable

from ottla.metadata.image import BrokerRegistration, Image

NOT_SHUTTING_DOWN = -1


class BrokerSession:
    __slots__ = ("last_contact", "metadata_offset", "shutdown_offset")

    def __init__(self, now: float) -> None:
        self.last_contact = now
        self.metadata_offset = -1
        self.shutdown_offset = NOT_SHUTTING_DOWN
        """Where the log says that the broker is shutting down; others must have read so far."""


class BrokerSessions:
    def __init__(self, brokers: Iterable[BrokerRegistration], now: float, timeout: float) -> None:
        self.timeout = timeout
        self._sessions = {broker.id: BrokerSession(now) for broker in brokers}

    def begin(self, broker_id: int, now: float) -> None:
        self._sessions[broker_id] = BrokerSession(now)

    def end(self, broker_id: int) -> None:
        self._sessions.pop(broker_id, None)

    def touch(self, broker_id: int, now: float, metadata_offset: int) -> None:
        session = self._sessions.setdefault(broker_id, BrokerSession(now))
        session.last_contact = now
        session.metadata_offset = metadata_offset

    def forgive(self, seconds: float) -> None:
        """Time that counts against nobody: the listener was not listening."""
        for session in self._sessions.values():
            session.last_contact += seconds

    def alive(self, broker: BrokerRegistration, now: float) -> bool:
        session = self._sessions.get(broker.id)
        return (
            not broker.fenced and session is not None and now <= session.last_contact + self.timeout
        )

    def stale(self, image: Image, now: float) -> list[int]:
        """Unfenced brokers that have not been heard of for too long."""
        return [
            broker.id
            for broker in image.brokers.values()
            if not broker.fenced and not self.alive(broker, now)
        ]

    def shutting_down(self, broker_id: int, offset: int) -> None:
        session = self._sessions[broker_id]
        if session.shutdown_offset == NOT_SHUTTING_DOWN:
            session.shutdown_offset = offset

    def others_know(self, image: Image, broker_id: int) -> bool:
        """Whether all active brokers have read that this one is shutting down."""
        session = self._sessions.get(broker_id)
        if session is None:
            return True
        return all(
            self._sessions[other.id].metadata_offset >= session.shutdown_offset
            for other in image.active_brokers()
            if other.id in self._sessions
        )

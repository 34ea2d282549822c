"""Share groups on this broker: sessions, queues, and how both end."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from ottla.broker.share.queues import DelayedShareFetch, Opening, Queue, Queues
from ottla.broker.share.sessions import SessionKey, ShareSession, ShareSessions
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.share.states import SharePartitionKey
from ottla.ids import Uuid

if TYPE_CHECKING:
    from ottla.broker.transport.context import Peer
    from ottla.broker.waiting import Waiting


class AcknowledgementBatch(Protocol):
    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


class Shares:
    def __init__(
        self,
        queues: Queues,
        sessions: ShareSessions,
        waiting: "Waiting",
        now: Callable[[], float],
    ) -> None:
        self.now = now
        self._waiting = waiting
        self.queues = queues
        self.sessions = sessions

    def acknowledge(
        self,
        key: SessionKey,
        topic_id: Uuid,
        partition: int,
        batches: Iterable[AcknowledgementBatch],
    ) -> Awaitable[None]:
        """Begin it at once; it is over when it is written. KafkaError where the records are not
        this member's to answer for."""
        queue = self.queues.known(SharePartitionKey(key.group_id, topic_id, partition))
        if queue is None:  # whoever took records opened it
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        terms, now = self.queues.terms_of(key.group_id), self.now()
        answers = [(one.first_offset, one.last_offset, one.acknowledge_types) for one in batches]
        renewed_until = now + terms.lock_s if terms.may_renew else None
        in_flight = self.queues.in_flight(queue)
        change = in_flight.acknowledge(key.member_id, answers, now, renewed_until)
        return self.queues.settle(queue, change)

    def open_session(self, key: SessionKey, asker: "Peer") -> ShareSession:
        """It ends with the connection at the latest."""
        session = self.sessions.open(key, asker)
        asker.when_closed["share sessions"] = partial(self.connection_lost, asker)
        return session

    def close_session(self, key: SessionKey) -> None:
        """Its locks are given back at once: others need not wait for them to run out."""
        session = self.sessions.close(key)
        for topic_id, partition in session.partitions if session is not None else ():
            queue = self.queues.known(SharePartitionKey(key.group_id, topic_id, partition))
            if queue is not None:
                self.queues.release(queue, key.member_id)

    def connection_lost(self, connection: "Peer") -> None:
        opened = self.sessions.opened_on(connection)
        for key, ends in opened.items():
            if ends:
                self.close_session(key)
        for group_id in {key.group_id for key in opened}:
            if not self.sessions.has_group(group_id):
                self.queues.forget_group(group_id)

    async def wait(
        self, queues: Sequence[Queue], opening: Sequence[Opening], seconds: float
    ) -> bool:
        """Until there may be something to take, or the time is up; whether that is early."""
        if any(one.done() for one in opening):
            return False
        moved = DelayedShareFetch()

        def is_open(_: Opening) -> None:
            moved.wake(False)

        def look(last: bool) -> bool:
            moved.wake(last)
            return True

        waiter = self._waiting.wait((queue.leader for queue in queues), seconds, look)
        for queue in queues:
            queue.waiters.add(moved)
        for one in opening:
            one.add_done_callback(is_open)
        try:
            await moved.event.wait()
            return moved.is_early
        finally:
            waiter.finish()
            for queue in queues:
                queue.waiters.discard(moved)
            for one in opening:
                one.remove_done_callback(is_open)

"""Batches of many records, or of many compressed bytes, are checked in a thread, then appended.

A walk costs half a microsecond a record, and a small compressed batch can hold millions: the event
loop would stand still for everybody. The one thread shares the interpreter in short slices.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from ottla.broker.producing.aside import aside
from ottla.broker.transport.pending_reply import Body, PendingReply
from ottla.errors import KafkaError
from ottla.log.validation import (
    UNPACKED_AT_ONCE,
    WALKED_AT_ONCE,
    Accepted,
    AppendOrigin,
    NotOneBatch,
    accept,
    check_alone,
    next_batch,
    takes_long,
)
from ottla.replication.leader import Leader
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.record_batch import COUNT_AT

if TYPE_CHECKING:
    from ottla.broker.background import Background

Place = tuple[str, bytes, int]
Verdicts = Mapping[Place, Accepted | KafkaError]


def is_large(request: ProduceRequest) -> bool:
    """A first look, for every request: whether any batch has many bytes or claims many records."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records = data.records
            if records and (
                len(records) > UNPACKED_AT_ONCE
                or int.from_bytes(records[COUNT_AT], "big", signed=True) > WALKED_AT_ONCE
            ):
                return True
    return False


class LongChecks:
    """The batches of one request that are to be proven; the rest is checked as it is appended."""

    def __init__(
        self, request: ProduceRequest, leader_of: Callable[[Place], Leader], now_ms: int
    ) -> None:
        self._now_ms = now_ms
        self._waiting: dict[Place, tuple[Leader, memoryview]] = {}
        for topic in request.topic_data:
            for data in topic.partition_data:
                place = topic.name, topic.topic_id, data.index
                try:
                    leader, view = leader_of(place), memoryview(data.records or b"")
                    header = next_batch(view, 0)
                except KafkaError:
                    continue  # the append says why it cannot be
                if header is not None and takes_long(header, leader.log.config, now_ms):
                    self._waiting[place] = leader, view

    @property
    def are_needed(self) -> bool:
        return bool(self._waiting)

    def then(
        self, background: "Background", go_on: "Callable[[Verdicts], Body | PendingReply | None]"
    ) -> PendingReply:
        """Prove them; then go on with what was found. Later requests of the client wait."""
        return aside(background, self._prove, go_on, _walker(), "checking a batch")

    def _prove(self) -> Verdicts:
        return {place: self._verdict(*each) for place, each in self._waiting.items()}

    def _verdict(self, leader: Leader, view: memoryview) -> Accepted | KafkaError:
        try:
            header = next_batch(view, 0)
            if header is None:
                raise NotOneBatch("There is no whole batch in the request.")
            check_alone(view, header)
            return accept(view, 0, header, leader.log.config, AppendOrigin.CLIENT, self._now_ms)
        except KafkaError as error:
            return error


@cache
def _walker() -> ThreadPoolExecutor:
    """A thread of its own: cold reads and flushes must not stand behind long walks."""
    return ThreadPoolExecutor(1, "ottla-walk")

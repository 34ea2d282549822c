"""OffsetCommit that repeats an earlier one but for its offset: bytes in, bytes out.

See `groups.offsets.repeated_commits` for what that is, and why. Here are the questions that a
broker asks before it, and the reply.
"""

import asyncio
from typing import TYPE_CHECKING

from ottla.broker.transport.pending_reply import Body, PendingReply
from ottla.groups.offsets.repeated_commits import RepeatedCommit, commit_again
from ottla.wire.codec import encode
from ottla.wire.framing import reply_header
from ottla.wire.messages.offset_commit import OffsetCommitResponse

if TYPE_CHECKING:
    from ottla.broker.services import GroupServices
    from ottla.broker.transport.context import RequestContext
    from ottla.errors import KafkaError


def shortcut(
    frame: memoryview, position: int, context: "RequestContext", services: "GroupServices"
) -> PendingReply | None:
    """None: it has to go the usual way."""
    coordinator = services.coordinator
    found = coordinator.repeated_commits.find(frame, position, context.api_version)
    if found is None:
        return None
    repeated, offset, leader_epoch = found
    name, partition = repeated.place
    topic = services.cluster.image.topics_by_name.get(name)
    if topic is None or partition not in topic.partitions:
        return None
    if repeated.topic_id is not None and repeated.topic_id != topic.id:
        return None
    shard = coordinator.shards.serving(repeated.request.group_id)
    if shard is None or not shard.fits_open_batch(repeated.record_size):
        return None
    record = commit_again(shard.machine, shard.now(), repeated, offset, leader_epoch, topic.id)
    if record is None:
        return None
    reply = CommitReply(repeated, context.correlation_id)
    shard.add_applied(record, repeated.record_size, reply)
    return reply


class CommitReply(PendingReply):
    """A shard answers it as it does futures, and like theirs its answer is told in the loop's next
    turn: nobody is called back while a shard is in the midst of something."""

    __slots__ = ("_correlation_id", "_repeated")

    def __init__(self, repeated: RepeatedCommit, correlation_id: int) -> None:
        super().__init__()
        self._repeated = repeated
        self._correlation_id = correlation_id

    def done(self) -> bool:
        return self.delivered or self.abandoned

    def set_result(self, result: None) -> None:
        self._deliver_soon(self._repeated.answer)

    def set_exception(self, error: "KafkaError") -> None:
        from ottla.broker.handlers.groups.offset_commit import refuse

        repeated = self._repeated
        self._deliver_soon(encode(refuse(repeated.request, error), repeated.api_version))

    def _deliver_soon(self, body: bytes) -> None:
        tagged = self._repeated.api_version >= OffsetCommitResponse.FLEXIBLE_SINCE
        header = reply_header(self._correlation_id, len(body), tagged=tagged)
        reply: Body = [header + body]
        asyncio.get_running_loop().call_soon(self.deliver, reply)

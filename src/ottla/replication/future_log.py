"""A log that is copied into another directory of the same node, batch by batch.

Synchronous and without a clock; `directory_moves` says when. The copy follows the log as a
replica follows its leader: where the log was cut, the copy is cut by leader epoch, too.
"""

from ottla.log.partition_log import PartitionLog
from ottla.log.reading import Read
from ottla.replication.follower import FollowedPartition
from ottla.wire.messages.fetch import EpochEndOffset

ONE_STEP_BYTES = 256 * 1024
HERE = 0


class FutureLog:
    def __init__(self, log: PartitionLog, future: PartitionLog) -> None:
        self.log = log
        self.future = future
        self._follower = FollowedPartition(future, HERE, HERE)
        self._truncations = -1  # of the log, when the two were last compared

    @property
    def lag(self) -> int:
        return self.log.log_end_offset - self.future.log_end_offset

    @property
    def has_all(self) -> bool:
        return self.lag == 0 and self._truncations == self.log.truncations

    def next(self, now_ms: int) -> Read:
        """What comes after the copy's end."""
        if self._truncations != self.log.truncations:
            self._truncations = self.log.truncations
            self._step_back(now_ms)
        log, future = self.log, self.future
        if future.log_end_offset < log.log_start_offset:
            future.truncate_fully_and_start_at(log.log_start_offset, now_ms=now_ms)
        return log.read(future.log_end_offset, ONE_STEP_BYTES, upto=log.log_end_offset)

    def took(self, data: bytes | bytearray | memoryview, read_at: int, now_ms: int) -> None:
        """`read_at` is where the copy ended when it was read: the log may have been cut since."""
        future, log = self.future, self.log
        if self._truncations != log.truncations or read_at != future.log_end_offset:
            return
        if len(data):
            future.append_as_follower(data, now_ms=now_ms)
        elif self.lag > 0:  # the cleaner left nothing up to the log's end
            future.skip_to(log.log_end_offset, now_ms=now_ms)
        future.advance_high_watermark(log.high_watermark)
        if log.log_start_offset > future.log_start_offset:
            future.move_start(min(log.log_start_offset, future.high_watermark))

    def _step_back(self, now_ms: int) -> None:
        """To the last batch that both have."""
        log, future = self.log, self.future
        future.truncate_to(min(future.log_end_offset, log.log_end_offset), now_ms=now_ms)
        while future.log_end_offset > future.log_start_offset:
            epoch = future.epochs.latest
            found = log.epochs.end_offset_for(epoch, log.log_end_offset)
            if found.epoch == epoch and found.start_offset >= future.log_end_offset:
                return
            diverging = EpochEndOffset(epoch=found.epoch, end_offset=found.start_offset)
            if found.epoch < 0:
                future.truncate_fully_and_start_at(log.log_start_offset, now_ms=now_ms)
                return
            future.truncate_to(self._follower.common_end(diverging), now_ms=now_ms)

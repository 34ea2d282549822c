"""What a shard needs of the partition it stands on. `replication` provides it."""

from typing import Protocol


class ShardLog(Protocol):
    """One partition of an internal topic, led by this broker in one leader epoch.

    Offsets are of the log; an end offset is one past the last record. Every method raises
    KafkaError(NOT_LEADER_OR_FOLLOWER) once the partition is no longer led in that epoch.
    """

    @property
    def leader_epoch(self) -> int: ...

    @property
    def log_start_offset(self) -> int: ...

    @property
    def log_end_offset(self) -> int: ...

    @property
    def high_watermark(self) -> int:
        """Everything below is committed, and on the disk where `flush.messages` asks for it."""

    @property
    def max_batch_bytes(self) -> int:
        """`max.message.bytes` of the topic."""

    @property
    def may_append(self) -> bool:
        """False while too few replicas are in sync."""

    @property
    def is_heard(self) -> bool:
        """Whether any of those who would lead in its place has followed until a moment ago."""

    def append(self, batch: bytes, now_ms: int) -> int:
        """Append one batch of the coordinator's; the end offset that commits it."""

    def forget_before(self, offset: int) -> None:
        """What lies before is not needed any more. Nothing happens above the high watermark."""

    async def committed(self, end_offset: int) -> None:
        """Return when the high watermark has reached `end_offset`."""

    async def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from `offset` on (the first may begin below it), at least one.

        Empty at the log's end. Must not block the event loop: cold pages are read in a thread.
        """

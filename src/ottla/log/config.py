"""What a topic's options mean to its logs. Where they come from is `ottla.config`'s affair."""

from typing import Protocol

from msgspec import Struct

from ottla.wire.compression import CODEC_BY_NAME, Codec

NEVER_MS = 2**63 - 1
_KEY_SCHEMAS = "confluent.key.schema.validation", "confluent.key.subject.name.strategy"
_VALUE_SCHEMAS = "confluent.value.schema.validation", "confluent.value.subject.name.strategy"
_LEVELS = {"gzip": "compression.gzip.level", "zstd": "compression.zstd.level"}


class TopicSettings(Protocol):
    """The resolved options of one topic, as `ottla.config.Settings.for_topic` gives them."""

    def int(self, name: str) -> int: ...
    def flag(self, name: str) -> bool: ...
    def text(self, name: str) -> str: ...
    def real(self, name: str) -> float: ...
    def names(self, name: str) -> tuple[str, ...]: ...


class LogConfig(Struct, frozen=True, kw_only=True):
    """Options of one topic; the defaults are Kafka's."""

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_jitter_ms: int = 0
    index_bytes_max: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    message_bytes_max: int = 1048588
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    compact: bool = False
    delete: bool = True
    codec: Codec | None = None  # None: as the producer sent it
    compression_level: int | None = None  # None: the codec's own
    log_append_time: bool = False
    timestamp_before_max_ms: int = NEVER_MS
    timestamp_after_max_ms: int = 3600 * 1000
    flush_messages: int = NEVER_MS
    flush_ms: int = NEVER_MS
    file_delete_delay_ms: int = 60_000
    delete_retention_ms: int = 24 * 3600 * 1000
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NEVER_MS
    key_subjects: str = ""  # how the subject of a key's schema is found; empty: no key is checked
    value_subjects: str = ""
    producer_expiration_ms: int = 24 * 3600 * 1000  # the broker's, the same for every topic

    @classmethod
    def from_settings(cls, settings: TopicSettings) -> "LogConfig":
        policy = settings.names("cleanup.policy")
        segment_ms, lag_ms = settings.int("segment.ms"), settings.int("max.compaction.lag.ms")
        if "compact" in policy and lag_ms > 0:  # only what is not active can be cleaned in time
            segment_ms = min(segment_ms, lag_ms)
        compression = settings.text("compression.type")
        level = _LEVELS.get(compression)
        return cls(
            segment_bytes=settings.int("segment.bytes"),
            segment_ms=segment_ms,
            segment_jitter_ms=settings.int("segment.jitter.ms"),
            index_bytes_max=settings.int("segment.index.bytes"),
            index_interval_bytes=settings.int("index.interval.bytes"),
            message_bytes_max=settings.int("max.message.bytes"),
            retention_ms=settings.int("retention.ms"),
            retention_bytes=settings.int("retention.bytes"),
            compact="compact" in policy,
            delete="delete" in policy,
            codec=None if compression == "producer" else CODEC_BY_NAME[compression],
            compression_level=settings.int(level) if level else None,
            log_append_time=settings.text("message.timestamp.type") == "LogAppendTime",
            timestamp_before_max_ms=settings.int("message.timestamp.before.max.ms"),
            timestamp_after_max_ms=settings.int("message.timestamp.after.max.ms"),
            flush_messages=settings.int("flush.messages"),
            flush_ms=settings.int("flush.ms"),
            file_delete_delay_ms=settings.int("file.delete.delay.ms"),
            delete_retention_ms=settings.int("delete.retention.ms"),
            min_cleanable_dirty_ratio=settings.real("min.cleanable.dirty.ratio"),
            min_compaction_lag_ms=settings.int("min.compaction.lag.ms"),
            max_compaction_lag_ms=lag_ms,
            key_subjects=_subjects(settings, *_KEY_SCHEMAS),
            value_subjects=_subjects(settings, *_VALUE_SCHEMAS),
            producer_expiration_ms=settings.int("producer.id.expiration.ms"),
        )


def _subjects(settings: TopicSettings, validation: str, strategy: str) -> str:
    """The strategy's name without its package, as far as records are checked at all."""
    return settings.text(strategy).rpartition(".")[2] if settings.flag(validation) else ""

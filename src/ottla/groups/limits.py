"""What the broker's configuration says about groups, read once."""

from typing import NamedTuple

from msgspec import Struct, field

from ottla.config import Settings


class Pace(NamedTuple):
    """How often members of a group speak, and how long they may be silent."""

    heartbeat_interval_ms: int = 5_000
    session_timeout_ms: int = 45_000
    share_heartbeat_interval_ms: int = 5_000
    share_session_timeout_ms: int = 45_000
    assignment_interval_ms: int = 0  # between two targets, so that many who join share one
    share_assignment_interval_ms: int = 0
    streams_heartbeat_interval_ms: int = 5_000
    streams_session_timeout_ms: int = 45_000
    streams_initial_delay_ms: int = 3_000
    streams_assignment_interval_ms: int = 1_000
    streams_standbys: int = 0

    @classmethod
    def of(cls, group_settings: Settings) -> "Pace":
        return cls(
            group_settings.int("consumer.heartbeat.interval.ms"),
            group_settings.int("consumer.session.timeout.ms"),
            group_settings.int("share.heartbeat.interval.ms"),
            group_settings.int("share.session.timeout.ms"),
            group_settings.int("consumer.assignment.interval.ms"),
            group_settings.int("share.assignment.interval.ms"),
            group_settings.int("streams.heartbeat.interval.ms"),
            group_settings.int("streams.session.timeout.ms"),
            group_settings.int("streams.initial.rebalance.delay.ms"),
            group_settings.int("streams.assignment.interval.ms"),
            group_settings.int("streams.num.standby.replicas"),
        )


class GroupLimits(Struct, frozen=True, kw_only=True):
    """Kafka's options; the defaults here are those of its classic protocol."""

    classic_max_size: int = 2**31 - 1
    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    new_member_join_timeout_ms: int = 300_000
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000
    retention_check_interval_ms: int = 600_000
    protocols: tuple[str, ...] = ("classic", "consumer", "streams")
    consumer_max_size: int = 2**31 - 1
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration: str = "bidirectional"
    share_max_size: int = 200
    streams_max_size: int = 2**31 - 1
    pace: Pace = field(default_factory=Pace)

    @classmethod
    def of(cls, settings: Settings) -> "GroupLimits":
        return cls(
            classic_max_size=settings.int("group.max.size"),
            min_session_timeout_ms=settings.int("group.min.session.timeout.ms"),
            max_session_timeout_ms=settings.int("group.max.session.timeout.ms"),
            initial_rebalance_delay_ms=settings.int("group.initial.rebalance.delay.ms"),
            offset_metadata_max_bytes=settings.int("offset.metadata.max.bytes"),
            offsets_retention_ms=settings.int("offsets.retention.minutes") * 60_000,
            retention_check_interval_ms=settings.int("offsets.retention.check.interval.ms"),
            protocols=settings.names("group.coordinator.rebalance.protocols"),
            consumer_max_size=settings.int("group.consumer.max.size"),
            consumer_assignors=settings.names("group.consumer.assignors"),
            consumer_migration=settings.text("group.consumer.migration.policy").lower(),
            share_max_size=settings.int("group.share.max.size"),
            streams_max_size=settings.int("group.streams.max.size"),
            pace=Pace.of(settings.for_group({})),
        )

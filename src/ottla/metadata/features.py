"""The feature levels this software knows, and the records that a new cluster begins with.

They are those of Apache Kafka 4.3: `metadata.version` 30 and its companions.
"""

from collections.abc import Mapping, Sequence

from ottla.metadata.image import CLUSTER_DEFAULTS
from ottla.metadata.records import Record, frames
from ottla.wire.records.metadata import (
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"
MIN_IN_SYNC = "min.insync.replicas"

SUPPORTED: Mapping[str, tuple[int, int]] = {
    "group.version": (0, 1),
    "transaction.version": (0, 2),
    ELR_VERSION: (0, 1),
    KRAFT_VERSION: (0, 1),
    METADATA_VERSION: (7, 30),
    "share.version": (0, 1),
    "streams.version": (0, 1),
}
"""What a node says that it can work with, from the least to the highest level."""

NEW_METADATA = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30})
"""The levels of `metadata.version` that brought records or fields which lower ones cannot tell."""

CORDONED_SINCE = 30
"""The `metadata.version` that knows of cordoned directories."""

BOOTSTRAP_LEVELS: Mapping[str, int] = {
    METADATA_VERSION: 30,
    ELR_VERSION: 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}


def level_records(levels: Mapping[str, int] = BOOTSTRAP_LEVELS) -> list[Record]:
    return [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]


def bootstrap_values(
    levels: Mapping[str, int] = BOOTSTRAP_LEVELS, more: Sequence[Record] = ()
) -> list[bytes]:
    """What stands in `bootstrap.checkpoint`, between the snapshot's header and footer: feature
    levels, then the users that the cluster begins with."""
    return frames([*level_records(levels), *more])


def activation_records(levels: list[Record], min_in_sync: int) -> list[Record]:
    """The first records of a new metadata log, given what `bootstrap.checkpoint` holds.

    One transaction, so that no node ever sees half of them. With eligible leader replicas the
    whole cluster goes by one `min.insync.replicas`: that of the controller's own file, which this
    setting outranks from now on.
    """
    defaults = [cluster_min_in_sync(min_in_sync)] if _has_elr(levels) else []
    return [
        BeginTransactionRecord(name="Bootstrap records"),
        *levels,
        *defaults,
        EndTransactionRecord(),
    ]


def cluster_min_in_sync(value: int) -> ConfigRecord:
    kind, name = CLUSTER_DEFAULTS
    return ConfigRecord(resource_type=kind, resource_name=name, name=MIN_IN_SYNC, value=str(value))


def _has_elr(levels: list[Record]) -> bool:
    return any(
        isinstance(one, FeatureLevelRecord) and one.name == ELR_VERSION and one.feature_level > 0
        for one in levels
    )

"""Feature levels move up and down (UpdateFeatures), and blocks of producer ids are handed out."""

from ottla.config.settings import Settings
from ottla.controller.decision import ControllerResult, check_broker_epoch
from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.features import (
    ELR_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    MIN_IN_SYNC,
    NEW_METADATA,
    SUPPORTED,
    cluster_min_in_sync,
)
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType, Image
from ottla.metadata.records import Record
from ottla.wire.messages.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from ottla.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from ottla.wire.records.metadata import ConfigRecord, FeatureLevelRecord, ProducerIdsRecord

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
PRODUCER_IDS_PER_BLOCK = 1_000


def update_features(
    image: Image, settings: Settings, kraft_version: int, ask: UpdateFeaturesRequest
) -> ControllerResult[UpdateFeaturesResponse]:
    """All or nothing: one level that cannot be had refuses the request. `kraft_version` is the
    quorum's own."""
    records: list[Record] = []
    for update in ask.feature_updates:
        try:
            record = _update(image, kraft_version, update)
        except KafkaError as error:
            return ControllerResult(
                [],
                UpdateFeaturesResponse(error_code=error.code, error_message=error.message),
            )
        if record is not None:
            records.append(record)
        if update.feature == ELR_VERSION and update.max_version_level > 0:
            records[:0] = _one_min_in_sync(image, settings)
    results = [UpdatableFeatureResult(feature=update.feature) for update in ask.feature_updates]
    return ControllerResult(
        [] if ask.validate_only else records, UpdateFeaturesResponse(results=results)
    )


def _one_min_in_sync(image: Image, settings: Settings) -> list[Record]:
    """Eligible leaders are reckoned with `min.insync.replicas`, so all brokers go by one value
    before there are any: that of the cluster, or else of this controller's file."""
    records: list[Record] = []
    if MIN_IN_SYNC not in image.config(*CLUSTER_DEFAULTS):
        records.append(cluster_min_in_sync(settings.int(MIN_IN_SYNC)))
    for (kind, name), configs in image.configs.items():
        if kind == ConfigResourceType.BROKER and name and MIN_IN_SYNC in configs:
            records.append(ConfigRecord(resource_type=kind, resource_name=name, name=MIN_IN_SYNC))
    return records


def _update(
    image: Image, kraft_version: int, update: FeatureUpdateKey
) -> FeatureLevelRecord | None:
    name, level = update.feature, update.max_version_level
    downgrade = update.allow_downgrade or update.upgrade_type in (SAFE_DOWNGRADE, UNSAFE_DOWNGRADE)
    if update.upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION, f"There is no upgrade type {update.upgrade_type}."
        )
    if level < 0:
        raise _refuse(name, level, "a level is not negative")
    if name == KRAFT_VERSION:
        if level != kraft_version:
            raise _refuse(name, level, "a quorum keeps the way in which its voters are known")
        return None
    _check_support(image, name, level)
    present = image.features.get(name, 0)
    if level == present:
        return None
    if level < present and not downgrade:
        raise _refuse(name, level, f"it is {present} now, and a downgrade was not asked for")
    if level > present and downgrade:
        raise _refuse(name, level, f"it is {present} now: that is no downgrade")
    if name == METADATA_VERSION and not NEW_METADATA.isdisjoint(range(level + 1, present + 1)):
        raise _refuse(name, level, f"it is {present} now, and metadata would be lost")
    return FeatureLevelRecord(name=name, feature_level=level)


def _check_support(image: Image, name: str, level: int) -> None:
    low, high = SUPPORTED.get(name, (0, 0))
    if name not in SUPPORTED or (level != 0 and not low <= level <= high):
        raise _refuse(name, level, f"this controller supports {low} to {high}")
    if level == 0 and name == METADATA_VERSION:
        raise _refuse(name, level, "a cluster cannot be without it")
    for broker in image.brokers.values():
        least, most = broker.features.get(name, (0, 0))
        if level != 0 and not least <= level <= most:
            raise _refuse(name, level, f"broker {broker.id} supports {least} to {most}")


def _refuse(name: str, level: int, why: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_UPDATE_VERSION, f"The feature {name} cannot be set to {level}: {why}."
    )


def allocate_producer_ids(
    image: Image, ask: AllocateProducerIdsRequest
) -> ControllerResult[AllocateProducerIdsResponse]:
    check_broker_epoch(image, ask.broker_id, ask.broker_epoch)
    first = image.next_producer_id
    if first + PRODUCER_IDS_PER_BLOCK >= 1 << 63:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids are used up.")
    record = ProducerIdsRecord(
        broker_id=ask.broker_id,
        broker_epoch=ask.broker_epoch,
        next_producer_id=first + PRODUCER_IDS_PER_BLOCK,
    )
    response = AllocateProducerIdsResponse(
        producer_id_start=first, producer_id_len=PRODUCER_IDS_PER_BLOCK
    )
    return ControllerResult([record], response)

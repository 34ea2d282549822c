"""Feature levels move up and down, and what has to be true of a cluster before they do."""

import pytest

from ottla.config.settings import Settings
from ottla.controller.features import update_features
from ottla.errors import ErrorCode
from ottla.metadata.apply import apply_all
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType, Image
from ottla.metadata.records import Record
from ottla.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from ottla.wire.records.metadata import ConfigRecord, FeatureLevelRecord
from support.metadata import Cluster

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
ELR = "eligible.leader.replicas.version"
MIN_IN_SYNC = "min.insync.replicas"


def update(name: str, level: int, kind: int = UPGRADE) -> UpdateFeaturesRequest:
    key = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
    return UpdateFeaturesRequest(feature_updates=[key])


@pytest.mark.parametrize(
    ("name", "level", "kind", "code"),
    [
        ("metadata.version", 30, UPGRADE, ErrorCode.NONE),
        ("metadata.version", 29, UPGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        ("metadata.version", 29, SAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        ("metadata.version", 29, UNSAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        ("metadata.version", 7, UNSAFE_DOWNGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        ("metadata.version", 99, UPGRADE, ErrorCode.INVALID_UPDATE_VERSION),
        ("share.version", 0, SAFE_DOWNGRADE, ErrorCode.NONE),
        ("no.such.feature", 1, UPGRADE, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_features_move_within_what_everybody_supports(
    cluster: Cluster, name: str, level: int, kind: int, code: ErrorCode
) -> None:
    before = dict(cluster.image.features)
    response = cluster.wait(cluster.controller.update_features(update(name, level, kind)))
    assert response.error_code == code
    if code == ErrorCode.NONE:
        before[name] = level
    assert cluster.image.features == {key: value for key, value in before.items() if value}


@pytest.mark.parametrize("kind", [SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
@pytest.mark.parametrize(("level", "allowed"), [(28, True), (23, True), (22, False)])
def test_the_metadata_version_goes_down_only_where_no_metadata_is_lost(
    kind: int, level: int, allowed: bool
) -> None:
    image = image_of([FeatureLevelRecord(name="metadata.version", feature_level=29)])
    decision = update_features(image, Settings(), 0, update("metadata.version", level, kind))
    assert bool(decision.records) == allowed
    assert (decision.reply.error_code == ErrorCode.NONE) == allowed


def test_eligible_leaders_come_with_one_least_in_sync_number_for_all() -> None:
    image = image_of(
        [
            FeatureLevelRecord(name="metadata.version", feature_level=30),
            own_min_in_sync("1", "3"),
            ConfigRecord(resource_type=4, resource_name="2", name="num.io.threads", value="4"),
        ]
    )
    decision = update_features(image, Settings({MIN_IN_SYNC: "2"}), 0, update(ELR, 1))
    assert decision.records == [
        own_min_in_sync("", "2"),
        own_min_in_sync("1", None),
        FeatureLevelRecord(name=ELR, feature_level=1),
    ]
    apply_all(image, decision.records)
    assert image.elr_enabled
    assert image.config(*CLUSTER_DEFAULTS) == {MIN_IN_SYNC: "2"}
    assert image.config(ConfigResourceType.BROKER, "1") == {}


def test_the_least_in_sync_number_that_the_cluster_has_stays() -> None:
    level = FeatureLevelRecord(name="metadata.version", feature_level=30)
    image = image_of([level, own_min_in_sync("", "2")])
    decision = update_features(image, Settings(), 0, update(ELR, 1))
    assert decision.records == [FeatureLevelRecord(name=ELR, feature_level=1)]


def image_of(records: list[Record]) -> Image:
    image = Image()
    apply_all(image, records)
    return image


def own_min_in_sync(broker: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=4, resource_name=broker, name=MIN_IN_SYNC, value=value)

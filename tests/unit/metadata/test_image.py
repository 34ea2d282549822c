"""Records add up to an image, and a snapshot of it makes the same image again."""

from typing import Any

import pytest

from ottla.errors import OttlaError
from ottla.ids import ZERO_UUID
from ottla.metadata.apply import apply_all
from ottla.metadata.image import CLUSTER_DEFAULTS, ConfigResourceType, Delta, Image
from ottla.metadata.publisher import Publisher
from ottla.metadata.records import Record, UnknownRecord, frame, frames, unframe
from ottla.metadata.snapshot import refuse_access_rules, snapshot_values
from ottla.wire.records.metadata import (
    AbortTransactionRecord,
    AccessControlEntryRecord,
    BeginTransactionRecord,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EndTransactionRecord,
    EntityData,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from support.ids import new_uuid

A, B, DIRECTORY = new_uuid(), new_uuid(), new_uuid()
FUTURE = b"\x01\xe3\x07\x00whatever"  # type 995


def topic(name: str, topic_id: bytes, partitions: int = 1) -> list[Record]:
    return [
        TopicRecord(name=name, topic_id=topic_id),
        *(
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[DIRECTORY],
            )
            for index in range(partitions)
        ),
    ]


def everything() -> list[Record]:
    return [
        FeatureLevelRecord(name="metadata.version", feature_level=30),
        RegisterBrokerRecord(
            broker_id=1,
            incarnation_id=new_uuid(),
            broker_epoch=7,
            features=[
                BrokerFeature(
                    name="metadata.version", min_supported_version=7, max_supported_version=30
                )
            ],
            log_dirs=[DIRECTORY],
        ),
        BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=7, fenced=-1),
        RegisterControllerRecord(controller_id=1, incarnation_id=new_uuid()),
        *topic("alpha", A, partitions=2),
        PartitionChangeRecord(
            topic_id=A,
            partition_id=1,
            isr=[],
            leader=-1,
            eligible_leader_replicas=[1],
            last_known_elr=[1],
        ),
        ConfigRecord(resource_type=2, resource_name="alpha", name="retention.ms", value="1"),
        ClientQuotaRecord(
            entity=[EntityData(entity_type="user", entity_name="bob")], key="rate", value=1.5
        ),
        ProducerIdsRecord(broker_id=1, broker_epoch=7, next_producer_id=1000),
        AccessControlEntryRecord(id=new_uuid(), principal="User:bob"),
        UserScramCredentialRecord(name="bob", mechanism=1, salt=b"salt"),
        DelegationTokenRecord(token_id="token"),
        UnknownRecord(995, FUTURE),
    ]


def test_every_kind_of_record_survives_a_snapshot() -> None:
    image = Image()
    apply_all(image, everything())
    again = Publisher()
    again.load_snapshot(list(snapshot_values(image)), end_offset=10, epoch=1)
    assert list(snapshot_values(again.image)) == list(snapshot_values(image))
    assert again.image.offset == 9
    assert FUTURE in list(snapshot_values(again.image))
    assert again.image.topics_by_name["alpha"].partitions == image.topics_by_id[A].partitions


def test_a_directory_with_access_rules_is_refused() -> None:
    image = Image()
    apply_all(image, everything())
    with pytest.raises(OttlaError, match=r"1 access control rule"):
        refuse_access_rules(image)
    apply_all(image, [RemoveAccessControlEntryRecord(id=one) for one in list(image.acls)])
    refuse_access_rules(image)


def quota(key: str, value: float = 0.0, *, remove: bool = False) -> ClientQuotaRecord:
    entity = [
        EntityData(entity_type="client-id", entity_name=None),
        EntityData(entity_type="user", entity_name="bob"),
    ]
    return ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove)


def test_an_entity_is_one_however_its_parts_are_ordered() -> None:
    image, turned = Image(), quota("producer_byte_rate", remove=True)
    turned.entity.reverse()
    apply_all(image, [quota("producer_byte_rate", 1.0), turned])
    assert image.client_quotas == {}


SECURITY: list[Record] = [
    quota("producer_byte_rate", 1024.5),
    quota("request_percentage", 200.0),
    AccessControlEntryRecord(
        id=new_uuid(),
        resource_type=2,
        resource_name="orders-",
        pattern_type=4,
        principal="User:bob",
        host="10.0.0.7",
        operation=3,
        permission_type=2,
    ),
    UserScramCredentialRecord(
        name="bob", mechanism=2, salt=b"s", stored_key=b"k", server_key=b"v", iterations=8192
    ),
    DelegationTokenRecord(
        owner="User:bob",
        requester="User:ann",
        renewers=["User:cid"],
        issue_timestamp=1,
        max_timestamp=3,
        expiration_timestamp=2,
        token_id="token",
    ),
    ZkMigrationStateRecord(zk_migration_state=1),
]


def test_rules_credentials_tokens_and_quotas_keep_every_field() -> None:
    image = Image()
    apply_all(image, SECURITY)
    assert list(snapshot_values(image)) == [frame(record) for record in SECURITY]


def test_rules_credentials_tokens_and_quotas_go_when_they_are_removed() -> None:
    image = Image()
    apply_all(image, SECURITY[:-1])
    apply_all(
        image,
        [
            quota("producer_byte_rate", remove=True),
            quota("request_percentage", remove=True),
            quota("never_set", remove=True),
            RemoveAccessControlEntryRecord(id=next(iter(image.acls))),
            RemoveUserScramCredentialRecord(name="bob", mechanism=2),
            RemoveDelegationTokenRecord(token_id="token"),
        ],
    )
    assert list(snapshot_values(image)) == []


def test_a_leader_change_raises_both_epochs_and_an_isr_change_only_one() -> None:
    image = Image()
    apply_all(image, topic("alpha", A))
    apply_all(image, [PartitionChangeRecord(topic_id=A, partition_id=0, isr=[1, 2])])
    partition = image.topics_by_id[A].partitions[0]
    assert (partition.leader_epoch, partition.partition_epoch) == (0, 1)
    apply_all(image, [PartitionChangeRecord(topic_id=A, partition_id=0, leader=1)])
    partition = image.topics_by_id[A].partitions[0]
    assert (partition.leader_epoch, partition.partition_epoch) == (1, 2)


def test_new_replicas_without_directories_have_none_assigned() -> None:
    image = Image()
    apply_all(image, topic("alpha", A))
    apply_all(image, [PartitionChangeRecord(topic_id=A, partition_id=0, replicas=[1, 2])])
    assert image.topics_by_id[A].partitions[0].directories == (ZERO_UUID, ZERO_UUID)


def test_clearing_the_eligible_leaders_of_a_topic_leaves_the_others() -> None:
    image = Image()
    lost: dict[str, Any] = {"isr": [], "leader": -1, "eligible_leader_replicas": [1]}
    apply_all(
        image,
        [
            *topic("alpha", A),
            *topic("beta", B),
            PartitionChangeRecord(topic_id=A, partition_id=0, **lost),
            PartitionChangeRecord(topic_id=B, partition_id=0, **lost),
            ClearElrRecord(topic_name="alpha"),
        ],
    )
    assert image.topics_by_id[A].partitions[0].elr == ()
    assert image.topics_by_id[B].partitions[0].elr == (1,)


def test_clearing_eligible_leaders_raises_the_partition_epoch_where_there_are_any() -> None:
    image = Image()
    apply_all(
        image,
        [
            *topic("alpha", A, partitions=3),
            PartitionChangeRecord(topic_id=A, partition_id=0, eligible_leader_replicas=[2]),
            PartitionChangeRecord(topic_id=A, partition_id=1, last_known_elr=[2]),
            ClearElrRecord(topic_name="alpha"),
        ],
    )
    partitions = image.topics_by_id[A].partitions
    assert [partitions[index].partition_epoch for index in range(3)] == [2, 2, 0]
    assert [partitions[index].leader_epoch for index in range(3)] == [0, 0, 0]


def test_removing_a_topic_removes_its_settings_and_is_told_to_subscribers() -> None:
    seen: list[Delta] = []
    publisher = Publisher()
    publisher.subscribe(lambda _, delta: seen.append(delta))
    setting = ConfigRecord(resource_type=2, resource_name="alpha", name="retention.ms", value="1")
    publisher.committed(0, 1, frames([*topic("alpha", A), setting]), 0)
    publisher.committed(3, 1, frames([RemoveTopicRecord(topic_id=A)]), 0)
    assert list(seen[0].topics_added) == [A]
    assert seen[0].partitions == {(A, 0): None}
    assert list(seen[1].topics_removed) == [A]
    assert seen[1].partitions == {}
    assert publisher.image.config(ConfigResourceType.TOPIC, "alpha") == {}


def test_records_of_a_transaction_are_seen_together_or_not_at_all() -> None:
    publisher = Publisher()
    publisher.committed(0, 1, frames([BeginTransactionRecord(), *topic("alpha", A)]), 0)
    assert publisher.image.topics_by_name == {}
    publisher.committed(3, 1, frames([AbortTransactionRecord()]), 0)
    publisher.committed(4, 1, frames([BeginTransactionRecord(), *topic("beta", B)]), 0)
    publisher.committed(7, 1, frames([EndTransactionRecord()]), 0)
    assert list(publisher.image.topics_by_name) == ["beta"]
    assert publisher.image.offset == 7


def test_a_snapshot_tells_what_it_changed() -> None:
    publisher = Publisher()
    publisher.committed(0, 1, frames([*topic("alpha", A), *topic("beta", B)]), 0)
    other = Image()
    setting = ConfigRecord(
        resource_type=CLUSTER_DEFAULTS[0], resource_name="", name="num.partitions", value="3"
    )
    apply_all(other, [*topic("beta", B, partitions=2), setting])
    seen: list[Delta] = []
    publisher.subscribe(lambda _, delta: seen.append(delta))
    publisher.load_snapshot(snapshot_values(other), end_offset=50, epoch=2)
    assert list(seen[0].topics_removed) == [A]
    assert seen[0].topics_added == {}
    assert seen[0].partitions == {(B, 1): None}
    assert seen[0].configs == {CLUSTER_DEFAULTS}


def test_a_copy_can_be_changed_alone() -> None:
    image = Image()
    apply_all(image, topic("alpha", A))
    copy = image.copy()
    apply_all(copy, [PartitionChangeRecord(topic_id=A, partition_id=0, leader=-1)])
    assert image.topics_by_name["alpha"].partitions[0].leader == 1
    assert copy.topics_by_name["alpha"].partitions[0].leader == -1


def test_a_record_of_an_unknown_type_keeps_its_bytes_and_one_too_new_is_refused() -> None:
    assert frame(unframe(FUTURE)) == FUTURE
    with pytest.raises(OttlaError, match="newer Kafka"):
        unframe(b"\x01\x02\x09\x00")
    with pytest.raises(OttlaError, match="cannot be read"):
        unframe(b"\x01\x02\x00\xff")

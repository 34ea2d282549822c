"""An image as the records of a snapshot, in the order in which Apache Kafka writes them.

The header and footer around them, and the file, are the quorum's.
"""

from collections.abc import Iterator
from typing import Any

from ottla.errors import OttlaError
from ottla.ids import Uuid
from ottla.metadata.image import (
    Acl,
    BrokerRegistration,
    ControllerRegistration,
    DelegationToken,
    Endpoint,
    Image,
    PartitionRegistration,
)
from ottla.metadata.records import Record, frame
from ottla.wire.records import metadata as wire


def snapshot_values(image: Image) -> Iterator[bytes]:
    """The framed records that make this image out of an empty one."""
    return map(frame, snapshot_records(image))


def snapshot_records(image: Image) -> Iterator[Record]:
    yield from _features(image)
    for broker in image.brokers.values():
        yield broker_record(broker)
    for node in image.controllers.values():
        yield controller_record(node)
    for topic in image.topics_by_id.values():
        yield wire.TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in topic.partitions.items():
            yield partition_record(topic.id, index, partition)
    for (kind, resource), settings in image.configs.items():
        for name, value in settings.items():
            yield wire.ConfigRecord(
                resource_type=kind, resource_name=resource, name=name, value=value
            )
    yield from _quotas(image)
    if image.next_producer_id:
        yield wire.ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
    yield from _security(image)
    if image.zk_migration_state is not None:
        yield wire.ZkMigrationStateRecord(zk_migration_state=image.zk_migration_state)
    yield from image.unknown


def _features(image: Image) -> Iterator[Record]:
    """metadata.version comes first: it says how to read the rest."""
    for name in sorted(image.features, key=lambda name: (name != "metadata.version", name)):
        yield wire.FeatureLevelRecord(name=name, feature_level=image.features[name])


def _quotas(image: Image) -> Iterator[Record]:
    for entity, quotas in image.client_quotas.items():
        named = [wire.EntityData(entity_type=kind, entity_name=name) for kind, name in entity]
        for key, value in quotas.items():
            yield wire.ClientQuotaRecord(entity=named, key=key, value=value)


def _security(image: Image) -> Iterator[Record]:
    for acl_id, acl in image.acls.items():
        yield acl_record(acl_id, acl)
    for (name, mechanism), proof in image.scram_credentials.items():
        yield wire.UserScramCredentialRecord(
            name=name,
            mechanism=mechanism,
            salt=proof.salt,
            stored_key=proof.stored_key,
            server_key=proof.server_key,
            iterations=proof.iterations,
        )
    for token_id, token in image.delegation_tokens.items():
        yield token_record(token_id, token)


def acl_record(acl_id: Uuid, acl: Acl) -> wire.AccessControlEntryRecord:
    return wire.AccessControlEntryRecord(
        id=acl_id,
        resource_type=acl.resource_type,
        resource_name=acl.resource_name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )


def token_record(token_id: str, token: DelegationToken) -> wire.DelegationTokenRecord:
    return wire.DelegationTokenRecord(
        token_id=token_id,
        owner=token.owner,
        requester=token.requester,
        renewers=list(token.renewers),
        issue_timestamp=token.issued_ms,
        max_timestamp=token.max_ms,
        expiration_timestamp=token.expires_ms,
    )


def partition_record(
    topic_id: bytes, index: int, partition: PartitionRegistration
) -> wire.PartitionRecord:
    return wire.PartitionRecord(
        partition_id=index,
        topic_id=topic_id,
        replicas=list(partition.replicas),
        isr=list(partition.isr),
        removing_replicas=list(partition.removing),
        adding_replicas=list(partition.adding),
        leader=partition.leader,
        leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        directories=list(partition.directories),
        eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    )


def broker_record(broker: BrokerRegistration) -> wire.RegisterBrokerRecord:
    return wire.RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=broker.incarnation,
        broker_epoch=broker.epoch,
        end_points=[wire.BrokerEndpoint(**_endpoint(one)) for one in broker.listeners],
        features=[
            wire.BrokerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in broker.features.items()
        ],
        rack=broker.rack,
        fenced=broker.fenced,
        in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories),
        cordoned_log_dirs=None if broker.cordoned is None else list(broker.cordoned),
    )


def controller_record(node: ControllerRegistration) -> wire.RegisterControllerRecord:
    return wire.RegisterControllerRecord(
        controller_id=node.id,
        incarnation_id=node.incarnation,
        zk_migration_ready=node.zk_migration_ready,
        end_points=[wire.ControllerEndpoint(**_endpoint(one)) for one in node.listeners],
        features=[
            wire.ControllerFeature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in node.features.items()
        ],
    )


def _endpoint(listener: Endpoint) -> dict[str, Any]:
    return {
        "name": listener.name,
        "host": listener.host,
        "port": listener.port,
        "security_protocol": listener.security_protocol,
    }


def refuse_access_rules(image: Image) -> None:
    """ACLs that nobody enforces would open what its owner has closed: better not to start."""
    rules = len(image.acls)
    if rules:
        raise OttlaError(
            f"The metadata of this directory has {rules} access control rule(s), and Ottla does "
            "not enforce them yet. Remove them with Apache Kafka (kafka-acls --remove) before "
            "starting Ottla here, or keep running Apache Kafka."
        )

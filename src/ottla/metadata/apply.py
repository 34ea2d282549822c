"""How each metadata record changes the image.

`apply` is the only code that changes an image. It trusts records: whoever wrote them decided on
the same image, so a record that does not fit (a partition of an unknown topic) is damage.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from ottla.errors import OttlaError
from ottla.ids import ZERO_UUID
from ottla.metadata.image import (
    Acl,
    BrokerRegistration,
    ConfigKey,
    ConfigResourceType,
    ControllerRegistration,
    DelegationToken,
    Delta,
    Endpoint,
    Image,
    PartitionRegistration,
    QuotaEntity,
    ScramCredential,
    Topic,
)
from ottla.metadata.records import Record, UnknownRecord
from ottla.wire.records import metadata as wire

NO_LEADER_CHANGE = -2
Step = Callable[[Image, Any, Delta], None]


def apply(image: Image, record: Record, delta: Delta) -> None:
    step = _STEPS.get(type(record))
    if step is not None:
        step(image, record, delta)


def apply_all(image: Image, records: list[Record]) -> Delta:
    delta = Delta()
    for record in records:
        apply(image, record, delta)
    return delta


# Topics and partitions ------------------------------------------------------------------------


def _topic(image: Image, record: wire.TopicRecord, delta: Delta) -> None:
    topic = Topic(record.topic_id, record.name)
    image.topics_by_id[record.topic_id] = topic
    image.topics_by_name[record.name] = topic
    delta.topics_added[record.topic_id] = topic


def _remove_topic(image: Image, record: wire.RemoveTopicRecord, delta: Delta) -> None:
    topic = _known(image, record.topic_id)
    del image.topics_by_id[topic.id]
    if image.topics_by_name.get(topic.name) is topic:
        del image.topics_by_name[topic.name]
    if image.configs.pop((ConfigResourceType.TOPIC, topic.name), None) is not None:
        delta.configs.add((ConfigResourceType.TOPIC, topic.name))
    for index in topic.partitions:
        delta.partitions.pop((topic.id, index), None)
    if delta.topics_added.pop(topic.id, None) is None:
        delta.topics_removed[topic.id] = topic


def _partition(image: Image, record: wire.PartitionRecord, delta: Delta) -> None:
    topic = _known(image, record.topic_id)
    key = record.topic_id, record.partition_id
    delta.partitions.setdefault(key, topic.partitions.get(record.partition_id))
    topic.partitions[record.partition_id] = PartitionRegistration(
        replicas=tuple(record.replicas),
        isr=tuple(record.isr),
        leader=record.leader,
        leader_epoch=record.leader_epoch,
        partition_epoch=record.partition_epoch,
        directories=tuple(record.directories) or (ZERO_UUID,) * len(record.replicas),
        elr=tuple(record.eligible_leader_replicas or ()),
        last_known_elr=tuple(record.last_known_elr or ()),
        removing=tuple(record.removing_replicas),
        adding=tuple(record.adding_replicas),
        leader_recovery_state=record.leader_recovery_state,
    )


def _partition_change(image: Image, record: wire.PartitionChangeRecord, delta: Delta) -> None:
    topic = _known(image, record.topic_id)
    before = topic.partitions.get(record.partition_id)
    if before is None:
        raise _misfit(f"a change of the unknown partition {record.partition_id} of {topic.name}")
    delta.partitions.setdefault((record.topic_id, record.partition_id), before)
    topic.partitions[record.partition_id] = change_partition(before, record)


def change_partition(
    before: PartitionRegistration, record: wire.PartitionChangeRecord
) -> PartitionRegistration:
    changes: dict[str, Any] = {"partition_epoch": before.partition_epoch + 1}
    for field, given in (
        ("replicas", record.replicas),
        ("isr", record.isr),
        ("removing", record.removing_replicas),
        ("adding", record.adding_replicas),
        ("elr", record.eligible_leader_replicas),
        ("last_known_elr", record.last_known_elr),
        ("directories", record.directories),
    ):
        if given is not None:
            changes[field] = tuple(given)
    replicas = changes.get("replicas", before.replicas)
    if len(changes.get("directories", before.directories)) != len(replicas):
        changes["directories"] = (ZERO_UUID,) * len(replicas)
    if record.leader != NO_LEADER_CHANGE:
        changes["leader"] = record.leader
        changes["leader_epoch"] = before.leader_epoch + 1
    if record.leader_recovery_state >= 0:
        changes["leader_recovery_state"] = record.leader_recovery_state
    return replace(before, **changes)


def _clear_elr(image: Image, record: wire.ClearElrRecord, delta: Delta) -> None:
    """One topic's eligible leaders are forgotten, or all topics' when no name is given."""
    if record.topic_name:
        named = image.topics_by_name.get(record.topic_name)
        topics = [named] if named else []
    else:
        topics = list(image.topics_by_id.values())
    for topic in topics:
        for index, before in topic.partitions.items():
            if before.elr or before.last_known_elr:
                delta.partitions.setdefault((topic.id, index), before)
                topic.partitions[index] = replace(
                    before, elr=(), last_known_elr=(), partition_epoch=before.partition_epoch + 1
                )


def _known(image: Image, topic_id: bytes) -> Topic:
    try:
        return image.topics_by_id[topic_id]
    except KeyError:
        raise _misfit(f"a record about the unknown topic {topic_id.hex()}") from None


def _misfit(what: str) -> OttlaError:
    return OttlaError(
        f"The metadata log holds {what}. The directory is damaged: restore it from a replica "
        "or a copy."
    )


# Brokers and controllers ----------------------------------------------------------------------


def _register_broker(image: Image, record: wire.RegisterBrokerRecord, delta: Delta) -> None:
    delta.brokers.setdefault(record.broker_id, image.brokers.get(record.broker_id))
    cordoned = record.cordoned_log_dirs
    image.brokers[record.broker_id] = BrokerRegistration(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation=record.incarnation_id,
        listeners=_listeners(record.end_points),
        features=_features(record.features),
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        directories=tuple(record.log_dirs),
        cordoned=None if cordoned is None else tuple(cordoned),
    )


def _register_controller(image: Image, record: wire.RegisterControllerRecord, _: Delta) -> None:
    image.controllers[record.controller_id] = ControllerRegistration(
        id=record.controller_id,
        incarnation=record.incarnation_id,
        listeners=_listeners(record.end_points),
        features=_features(record.features),
        zk_migration_ready=record.zk_migration_ready,
    )


def _listeners(
    endpoints: list[wire.BrokerEndpoint] | list[wire.ControllerEndpoint],
) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(one.name, one.host, one.port, one.security_protocol) for one in endpoints)


def _features(
    features: list[wire.BrokerFeature] | list[wire.ControllerFeature],
) -> dict[str, tuple[int, int]]:
    return {one.name: (one.min_supported_version, one.max_supported_version) for one in features}


def _unregister_broker(image: Image, record: wire.UnregisterBrokerRecord, delta: Delta) -> None:
    delta.brokers.setdefault(record.broker_id, image.brokers.get(record.broker_id))
    image.brokers.pop(record.broker_id, None)


def _fence(image: Image, record: wire.FenceBrokerRecord, delta: Delta) -> None:
    _change_broker(image, record.id, delta, fenced=True)


def _unfence(image: Image, record: wire.UnfenceBrokerRecord, delta: Delta) -> None:
    _change_broker(image, record.id, delta, fenced=False)


def _broker_change(image: Image, record: wire.BrokerRegistrationChangeRecord, delta: Delta) -> None:
    """-1 unfences, 1 fences, 0 leaves it; a shutdown can only begin."""
    changes: dict[str, Any] = {}
    if record.fenced:
        changes["fenced"] = record.fenced > 0
    if record.in_controlled_shutdown:
        changes["in_controlled_shutdown"] = True
    if record.log_dirs:
        changes["directories"] = tuple(record.log_dirs)
    if record.cordoned_log_dirs is not None:
        changes["cordoned"] = tuple(record.cordoned_log_dirs)
    _change_broker(image, record.broker_id, delta, **changes)


def _change_broker(image: Image, broker_id: int, delta: Delta, **changes: Any) -> None:
    before = image.brokers.get(broker_id)
    if before is None:
        raise _misfit(f"a change of broker {broker_id}, which is not registered")
    delta.brokers.setdefault(broker_id, before)
    image.brokers[broker_id] = replace(before, **changes)


# Configurations, features, producer ids -------------------------------------------------------


def _config(image: Image, record: wire.ConfigRecord, delta: Delta) -> None:
    key: ConfigKey = record.resource_type, record.resource_name
    settings = dict(image.configs.get(key, {}))
    if record.value is None:
        settings.pop(record.name, None)
    else:
        settings[record.name] = record.value
    if settings:
        image.configs[key] = settings
    else:
        image.configs.pop(key, None)
    delta.configs.add(key)


def _feature(image: Image, record: wire.FeatureLevelRecord, delta: Delta) -> None:
    delta.features = True
    if record.feature_level:
        image.features[record.name] = record.feature_level
    else:
        image.features.pop(record.name, None)


def _producer_ids(image: Image, record: wire.ProducerIdsRecord, _: Delta) -> None:
    image.next_producer_id = record.next_producer_id


# Security and quotas --------------------------------------------------------------------------


def _quota(image: Image, record: wire.ClientQuotaRecord, delta: Delta) -> None:
    delta.quotas = True
    named = ((one.entity_type, one.entity_name) for one in record.entity)
    entity: QuotaEntity = tuple(sorted(named, key=itemgetter(0)))
    quotas = dict(image.client_quotas.get(entity, {}))
    if record.remove:
        quotas.pop(record.key, None)
    else:
        quotas[record.key] = record.value
    if quotas:
        image.client_quotas[entity] = quotas
    else:
        image.client_quotas.pop(entity, None)


def _acl(image: Image, record: wire.AccessControlEntryRecord, delta: Delta) -> None:
    delta.access = True
    image.acls[record.id] = Acl(
        record.resource_type,
        record.resource_name,
        record.pattern_type,
        record.principal,
        record.host,
        record.operation,
        record.permission_type,
    )


def _remove_acl(image: Image, record: wire.RemoveAccessControlEntryRecord, delta: Delta) -> None:
    delta.access = True
    image.acls.pop(record.id, None)


def _scram(image: Image, record: wire.UserScramCredentialRecord, delta: Delta) -> None:
    delta.access = True
    image.scram_credentials[record.name, record.mechanism] = ScramCredential(
        record.salt, record.stored_key, record.server_key, record.iterations
    )


def _remove_scram(image: Image, record: wire.RemoveUserScramCredentialRecord, delta: Delta) -> None:
    delta.access = True
    image.scram_credentials.pop((record.name, record.mechanism), None)


def _token(image: Image, record: wire.DelegationTokenRecord, delta: Delta) -> None:
    delta.access = True
    image.delegation_tokens[record.token_id] = DelegationToken(
        record.owner,
        record.requester,
        tuple(record.renewers),
        record.issue_timestamp,
        record.max_timestamp,
        record.expiration_timestamp,
    )


def _remove_token(image: Image, record: wire.RemoveDelegationTokenRecord, delta: Delta) -> None:
    delta.access = True
    image.delegation_tokens.pop(record.token_id, None)


def _zk_migration(image: Image, record: wire.ZkMigrationStateRecord, _: Delta) -> None:
    image.zk_migration_state = record.zk_migration_state


def _unknown(image: Image, record: UnknownRecord, _: Delta) -> None:
    image.unknown.append(record)


_STEPS: dict[type, Step] = {
    wire.TopicRecord: _topic,
    wire.RemoveTopicRecord: _remove_topic,
    wire.PartitionRecord: _partition,
    wire.PartitionChangeRecord: _partition_change,
    wire.ClearElrRecord: _clear_elr,
    wire.RegisterBrokerRecord: _register_broker,
    wire.RegisterControllerRecord: _register_controller,
    wire.UnregisterBrokerRecord: _unregister_broker,
    wire.FenceBrokerRecord: _fence,
    wire.UnfenceBrokerRecord: _unfence,
    wire.BrokerRegistrationChangeRecord: _broker_change,
    wire.ConfigRecord: _config,
    wire.FeatureLevelRecord: _feature,
    wire.ProducerIdsRecord: _producer_ids,
    wire.ClientQuotaRecord: _quota,
    wire.AccessControlEntryRecord: _acl,
    wire.RemoveAccessControlEntryRecord: _remove_acl,
    wire.UserScramCredentialRecord: _scram,
    wire.RemoveUserScramCredentialRecord: _remove_scram,
    wire.DelegationTokenRecord: _token,
    wire.RemoveDelegationTokenRecord: _remove_token,
    wire.ZkMigrationStateRecord: _zk_migration,
    UnknownRecord: _unknown,
}

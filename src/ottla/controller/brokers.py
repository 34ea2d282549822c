"""Brokers register, live, stop and vanish; what follows for their partitions.

Who has been heard of when is not metadata: that is kept in `sessions`.
"""

from enum import Enum

from ottla.config.settings import Settings
from ottla.controller.decision import Decision, all_partitions
from ottla.controller.draft import Draft, Election
from ottla.controller.rules import Rules
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID, Uuid
from ottla.metadata.features import METADATA_VERSION
from ottla.metadata.image import NO_LEADER, Broker, Image
from ottla.metadata.records import Record
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from ottla.wire.messages.broker_registration import BrokerRegistrationRequest
from ottla.wire.messages.controller_registration import ControllerRegistrationRequest
from ottla.wire.records.metadata import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)

FENCE, UNFENCE, SHUT_DOWN = 1, -1, 1


class State(Enum):
    FENCED = "registered, but may neither lead nor be in sync"
    UNFENCED = "takes part"
    SHUTTING_DOWN = "hands over its partitions"
    SHUT_DOWN = "may stop now"


# Registration ---------------------------------------------------------------------------------


def register_broker(
    image: Image,
    settings: Settings,
    ask: BrokerRegistrationRequest,
    *,
    epoch: int,
    in_session: bool,
) -> Decision[int]:
    """The reply is the broker's epoch: `epoch` for a new incarnation, its own for a known one.

    The request was checked by `check_registration`. `in_session`: the incarnation that is
    registered was heard of lately.
    """
    existing = image.brokers.get(ask.broker_id)
    same = existing is not None and existing.incarnation == ask.incarnation_id
    if existing is not None and in_session and not same:
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION,
            f"Another broker is registered as {ask.broker_id} and is alive.",
        )
    record = RegisterBrokerRecord(
        broker_id=ask.broker_id,
        incarnation_id=ask.incarnation_id,
        broker_epoch=epoch,
        end_points=[
            BrokerEndpoint(
                name=one.name,
                host=one.host,
                port=one.port,
                security_protocol=one.security_protocol,
            )
            for one in ask.listeners
        ],
        features=[
            BrokerFeature(
                name=one.name,
                min_supported_version=one.min_supported_version,
                max_supported_version=one.max_supported_version,
            )
            for one in ask.features
        ],
        rack=ask.rack,
        log_dirs=list(ask.log_dirs),
    )
    records: list[Record] = []
    if existing is not None and same:
        record.broker_epoch = existing.epoch
        record.fenced = existing.fenced
        record.in_controlled_shutdown = existing.in_controlled_shutdown
    elif existing is not None and ask.previous_broker_epoch != existing.epoch:
        records += _lost_unflushed(image, settings, ask.broker_id)
    records.append(record)
    return Decision(records, record.broker_epoch)


def succeeds(ask: BrokerRegistrationRequest, existing: Broker) -> bool:
    """Whether it is the next life of a broker that still counts as alive.

    A directory is locked by the process that uses it: whoever registers with the same directory
    has outlived the one before. Its session need not be waited out.
    """
    return (
        not existing.fenced
        and existing.incarnation != ask.incarnation_id
        and not set(existing.directories).isdisjoint(ask.log_dirs)
    )


def check_registration(image: Image, ask: BrokerRegistrationRequest, cluster_id: str) -> None:
    if ask.cluster_id != cluster_id:
        raise KafkaError(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f"Broker {ask.broker_id} belongs to the cluster {ask.cluster_id}, "
            f"this one is {cluster_id}.",
        )
    if ask.is_migrating_zk_broker:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, "Brokers that use ZooKeeper cannot register."
        )
    _check_directories(image, ask)
    supported = {
        one.name: (one.min_supported_version, one.max_supported_version) for one in ask.features
    }
    for name, level in image.features.items():
        low, high = supported.get(name, (0, 0))
        if not low <= level <= high:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"Broker {ask.broker_id} supports {name} from {low} to {high}, "
                f"but the cluster runs at {level}.",
            )
    if METADATA_VERSION not in supported:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"Broker {ask.broker_id} names no {METADATA_VERSION}."
        )


def _check_directories(image: Image, ask: BrokerRegistrationRequest) -> None:
    if not ask.log_dirs:
        raise _invalid("A broker registers with at least one directory.")
    if len(set(ask.log_dirs)) != len(ask.log_dirs):
        raise _invalid("A broker registers each directory once.")
    for directory in ask.log_dirs:
        if directory[:15] == ZERO_UUID[:15] and directory[15] < 100:
            raise _invalid("The directory ids 0 to 99 are reserved.")
        for other in image.brokers.values():
            if other.id != ask.broker_id and directory in other.directories:
                raise _invalid(f"A directory of broker {ask.broker_id} is broker {other.id}'s.")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGISTRATION, why)


def register_controller(ask: ControllerRegistrationRequest) -> Decision[None]:
    record = RegisterControllerRecord(
        controller_id=ask.controller_id,
        incarnation_id=ask.incarnation_id,
        zk_migration_ready=ask.zk_migration_ready,
        end_points=[
            ControllerEndpoint(
                name=one.name,
                host=one.host,
                port=one.port,
                security_protocol=one.security_protocol,
            )
            for one in ask.listeners
        ],
        features=[
            ControllerFeature(
                name=one.name,
                min_supported_version=one.min_supported_version,
                max_supported_version=one.max_supported_version,
            )
            for one in ask.features
        ],
    )
    return Decision([record], None)


def unregister_broker(image: Image, settings: Settings, broker_id: int) -> Decision[None]:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered."
        )
    records = _leave_in_sync(image, settings, broker_id)
    records.append(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch))
    return Decision(records, None, atomic=False)


# Heartbeats -----------------------------------------------------------------------------------


def state_of(broker: Broker) -> State:
    if broker.fenced:
        return State.FENCED
    return State.SHUTTING_DOWN if broker.in_controlled_shutdown else State.UNFENCED


def next_state(
    broker: Broker, ask: BrokerHeartbeatRequest, *, leads: bool, others_know: bool
) -> State:
    """`others_know`: every live broker has seen that this one is shutting down.

    A broker has caught up when it knows of its own registration. The epoch is the first offset
    of the registration's batch, and a batch is known as a whole or not at all.
    """
    match state_of(broker):
        case State.FENCED:
            if ask.want_shut_down:
                return State.SHUT_DOWN
            caught_up = ask.current_metadata_offset >= broker.epoch
            return State.UNFENCED if caught_up and not ask.want_fence else State.FENCED
        case State.UNFENCED:
            if ask.want_fence:
                return State.SHUT_DOWN if ask.want_shut_down else State.FENCED
            if ask.want_shut_down:
                return State.SHUTTING_DOWN if leads else State.SHUT_DOWN
            return State.UNFENCED
        case _:
            return State.SHUT_DOWN if others_know and not leads else State.SHUTTING_DOWN


def heartbeat(
    image: Image, settings: Settings, ask: BrokerHeartbeatRequest, after: State
) -> Decision[None]:
    """What a broker's new state, lost and cordoned directories change."""
    broker = image.brokers[ask.broker_id]
    records: list[Record] = []
    if state_of(broker) is not after:
        match after:
            case State.FENCED | State.SHUT_DOWN:
                if not broker.fenced:
                    records += fence(image, settings, broker.id)
            case State.UNFENCED:
                records += _unfence(image, settings, broker)
            case State.SHUTTING_DOWN:
                records.append(_change(broker, in_controlled_shutdown=SHUT_DOWN))
                records += _leave_in_sync(image, settings, broker.id)
    records += _directories_lost(image, settings, broker, ask.offline_log_dirs)
    cordoned = ask.cordoned_log_dirs
    if cordoned is not None and (broker.cordoned is None or set(cordoned) != set(broker.cordoned)):
        records.append(_change(broker, cordoned_log_dirs=list(cordoned)))
    return Decision(records, None, atomic=False)


def fence(image: Image, settings: Settings, broker_id: int) -> list[Record]:
    records = _leave_in_sync(image, settings, broker_id)
    records.append(_change(image.brokers[broker_id], fenced=FENCE))
    return records


def _unfence(image: Image, settings: Settings, broker: Broker) -> list[Record]:
    """The broker is back: it may lead what has no leader."""
    rules = Rules(image, settings, returning=broker.id)
    records: list[Record] = [_change(broker, fenced=UNFENCE)]
    for topic, index, partition in all_partitions(image):
        if partition.leader == NO_LEADER:
            election = Election.UNCLEAN if rules.unclean_allowed(topic) else Election.ONLINE
            record = Draft(rules, topic, index, election=election).record()
            if record is not None:
                records.append(record)
    return records


def _leave_in_sync(image: Image, settings: Settings, broker_id: int) -> list[Record]:
    """The broker goes: out of every in-sync set, others lead instead of it."""
    rules = Rules(image, settings, without=broker_id)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if broker_id in partition.isr or partition.leader == broker_id:
            _append_without(records, rules, topic.id, index, broker_id)
    return records


def _append_without(
    records: list[Record], rules: Rules, topic_id: Uuid, index: int, broker_id: int
) -> None:
    topic = rules.image.topics_by_id[topic_id]
    election = Election.UNCLEAN if rules.unclean_allowed(topic) else Election.ONLINE
    isr = (one for one in topic.partitions[index].isr if one != broker_id)
    record = Draft(rules, topic, index, election=election, isr=isr).record()
    if record is not None:
        records.append(record)


def _lost_unflushed(image: Image, settings: Settings, broker_id: int) -> list[Record]:
    """The broker died without a clean stop: it may lack what it had acknowledged (KIP-966)."""
    if not image.elr_enabled:
        return []
    rules = Rules(image, settings, without=broker_id)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if broker_id in partition.isr or broker_id in partition.elr:
            election = Election.UNCLEAN if rules.unclean_allowed(topic) else Election.ONLINE
            isr = (one for one in partition.isr if one != broker_id)
            record = Draft(
                rules, topic, index, election=election, isr=isr, unclean_shutdown=broker_id
            ).record()
            if record is not None:
                records.append(record)
    return records


def _directories_lost(
    image: Image, settings: Settings, broker: Broker, offline: list[Uuid]
) -> list[Record]:
    """Partitions in a directory that died are led elsewhere; the broker lives on."""
    lost = [one for one in offline if one in broker.directories]
    if not lost:
        return []
    rules = Rules(image, settings, without=broker.id)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if broker.id in partition.replicas and partition.directory(broker.id) in lost:
            _append_without(records, rules, topic.id, index, broker.id)
    left = [one for one in broker.directories if one not in lost]
    records.append(_change(broker, log_dirs=left))
    return records


def _change(
    broker: Broker,
    *,
    fenced: int = 0,
    in_controlled_shutdown: int = 0,
    log_dirs: list[Uuid] | None = None,
    cordoned_log_dirs: list[Uuid] | None = None,
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.id,
        broker_epoch=broker.epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs or [],
        cordoned_log_dirs=cordoned_log_dirs,
    )

"""Brokers and controllers tell that they are there, and what they can do."""

from ottla.config.settings import Settings
from ottla.controller.availability import leave_in_sync, lost_unflushed
from ottla.controller.decision import ControllerResult
from ottla.errors import ErrorCode, KafkaError
from ottla.ids import ZERO_UUID
from ottla.metadata.features import METADATA_VERSION
from ottla.metadata.image import BrokerRegistration, Image
from ottla.metadata.records import Record
from ottla.wire.messages.broker_registration import BrokerRegistrationRequest
from ottla.wire.messages.controller_registration import ControllerRegistrationRequest
from ottla.wire.records.metadata import (
    BrokerEndpoint,
    BrokerFeature,
    ControllerEndpoint,
    ControllerFeature,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnregisterBrokerRecord,
)


def register_broker(
    image: Image,
    settings: Settings,
    ask: BrokerRegistrationRequest,
    *,
    epoch: int,
    in_session: bool,
) -> ControllerResult[int]:
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
    elif existing is not None and existing.epoch == ask.previous_broker_epoch:
        records += leave_in_sync(image, settings, ask.broker_id)
    else:  # also one that was unregistered: nobody can say that it stopped in good order
        records += lost_unflushed(image, settings, ask.broker_id)
    records.append(record)
    return ControllerResult(records, record.broker_epoch)


def succeeds(ask: BrokerRegistrationRequest, existing: BrokerRegistration) -> bool:
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


def register_controller(ask: ControllerRegistrationRequest) -> ControllerResult[None]:
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
    return ControllerResult([record], None)


def unregister_broker(image: Image, settings: Settings, broker_id: int) -> ControllerResult[None]:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(
            ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker {broker_id} is not registered."
        )
    records = leave_in_sync(image, settings, broker_id)
    records.append(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch))
    return ControllerResult(records, None, atomic=False)

"""The life of a registered broker, heartbeat by heartbeat: fenced, taking part, shutting down.

Who has been heard of when is not metadata: that is kept in `sessions`.
"""

from enum import Enum

from ottla.config.settings import Settings
from ottla.controller.availability import changed, directories_lost, fence, leave_in_sync, unfence
from ottla.controller.decision import ControllerResult
from ottla.metadata.image import BrokerRegistration, Image
from ottla.metadata.records import Record
from ottla.wire.messages.broker_heartbeat import BrokerHeartbeatRequest

SHUT_DOWN = 1


class BrokerControlState(Enum):
    FENCED = "registered, but may neither lead nor be in sync"
    UNFENCED = "takes part"
    SHUTTING_DOWN = "hands over its partitions"
    SHUT_DOWN = "may stop now"


def state_of(broker: BrokerRegistration) -> BrokerControlState:
    if broker.fenced:
        return BrokerControlState.FENCED
    return (
        BrokerControlState.SHUTTING_DOWN
        if broker.in_controlled_shutdown
        else BrokerControlState.UNFENCED
    )


def next_state(
    broker: BrokerRegistration, ask: BrokerHeartbeatRequest, *, leads: bool, others_know: bool
) -> BrokerControlState:
    """`others_know`: every live broker has seen that this one is shutting down.

    A broker has caught up when it knows of its own registration. The epoch is the first offset
    of the registration's batch, and a batch is known as a whole or not at all.
    """
    if not ask.want_shut_down and not set(broker.directories).isdisjoint(ask.offline_log_dirs):
        return state_of(broker)  # first it loses what was there; both at once would not fit
    match state_of(broker):
        case BrokerControlState.FENCED:
            if ask.want_shut_down:
                return BrokerControlState.SHUT_DOWN
            caught_up = ask.current_metadata_offset >= broker.epoch
            return (
                BrokerControlState.UNFENCED
                if caught_up and not ask.want_fence
                else BrokerControlState.FENCED
            )
        case BrokerControlState.UNFENCED:
            if ask.want_fence:
                return (
                    BrokerControlState.SHUT_DOWN
                    if ask.want_shut_down
                    else BrokerControlState.FENCED
                )
            if ask.want_shut_down:
                return BrokerControlState.SHUTTING_DOWN if leads else BrokerControlState.SHUT_DOWN
            return BrokerControlState.UNFENCED
        case _:
            return (
                BrokerControlState.SHUT_DOWN
                if others_know and not leads
                else BrokerControlState.SHUTTING_DOWN
            )


def heartbeat(
    image: Image, settings: Settings, ask: BrokerHeartbeatRequest, after: BrokerControlState
) -> ControllerResult[None]:
    """What a broker's new state, lost and cordoned directories change."""
    broker = image.brokers[ask.broker_id]
    records: list[Record] = []
    if state_of(broker) is not after:
        match after:
            case BrokerControlState.FENCED | BrokerControlState.SHUT_DOWN:
                if not broker.fenced:
                    records += fence(image, settings, broker.id)
            case BrokerControlState.UNFENCED:
                records += unfence(image, settings, broker)
            case BrokerControlState.SHUTTING_DOWN:
                records.append(changed(broker, in_controlled_shutdown=SHUT_DOWN))
                records += leave_in_sync(image, settings, broker.id)
    else:
        records += directories_lost(image, settings, broker, ask.offline_log_dirs)
    cordoned = ask.cordoned_log_dirs
    if cordoned is not None and (broker.cordoned is None or set(cordoned) != set(broker.cordoned)):
        records.append(changed(broker, cordoned_log_dirs=list(cordoned)))
    return ControllerResult(records, None, atomic=False)

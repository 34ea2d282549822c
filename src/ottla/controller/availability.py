"""What a broker's coming and going means for its partitions: who is in sync, and who leads."""

from collections.abc import Mapping

from ottla.config.settings import Settings
from ottla.controller.decision import all_partitions
from ottla.controller.partition_change import PartitionChange, election_for
from ottla.controller.rules import PartitionRules
from ottla.ids import Uuid
from ottla.metadata.image import NO_LEADER, BrokerRegistration, Image
from ottla.metadata.records import Record
from ottla.wire.records.metadata import BrokerRegistrationChangeRecord

FENCE, UNFENCE = 1, -1


def fence(
    image: Image,
    settings: Settings,
    broker_id: int,
    came_lately: Mapping[int, float] | None = None,
) -> list[Record]:
    records = leave_in_sync(image, settings, broker_id, came_lately)
    records.append(changed(image.brokers[broker_id], fenced=FENCE))
    return records


def unfence(image: Image, settings: Settings, broker: BrokerRegistration) -> list[Record]:
    """The broker is back: it may lead what has no leader."""
    rules = PartitionRules(image, settings, returning=broker.id)
    records: list[Record] = [changed(broker, fenced=UNFENCE)]
    for topic, index, partition in all_partitions(image):
        if partition.leader == NO_LEADER:
            election = election_for(rules, topic)
            record = PartitionChange(rules, topic, index, election=election).record()
            if record is not None:
                records.append(record)
    return records


def leave_in_sync(
    image: Image,
    settings: Settings,
    broker_id: int,
    came_lately: Mapping[int, float] | None = None,
) -> list[Record]:
    """The broker goes: out of every in-sync set, others lead instead of it."""
    rules = PartitionRules(image, settings, without=broker_id, came_lately=came_lately)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if broker_id in partition.isr or partition.leader == broker_id:
            _append_without(records, rules, topic.id, index, broker_id)
    return records


def _append_without(
    records: list[Record], rules: PartitionRules, topic_id: Uuid, index: int, broker_id: int
) -> None:
    topic = rules.image.topics_by_id[topic_id]
    election = election_for(rules, topic)
    isr = (one for one in topic.partitions[index].isr if one != broker_id)
    record = PartitionChange(rules, topic, index, election=election, isr=isr).record()
    if record is not None:
        records.append(record)


def lost_unflushed(image: Image, settings: Settings, broker_id: int) -> list[Record]:
    """The broker died without a clean stop: it may lack what it had acknowledged (KIP-966)."""
    rules = PartitionRules(image, settings, without=broker_id)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if broker_id in partition.isr or broker_id in partition.elr:
            election = election_for(rules, topic)
            isr = (one for one in partition.isr if one != broker_id)
            record = PartitionChange(
                rules, topic, index, election=election, isr=isr, unclean_shutdown=broker_id
            ).record()
            if record is not None:
                records.append(record)
    return records


def directories_lost(
    image: Image, settings: Settings, broker: BrokerRegistration, offline: list[Uuid]
) -> list[Record]:
    """Partitions in a directory that died are led elsewhere; the broker lives on."""
    lost = [one for one in offline if one in broker.directories]
    if not lost:
        return []
    rules = PartitionRules(image, settings, without=broker.id)
    records: list[Record] = []
    for topic, index, partition in all_partitions(image):
        if broker.id in partition.replicas and partition.directory(broker.id) in lost:
            _append_without(records, rules, topic.id, index, broker.id)
    left = [one for one in broker.directories if one not in lost]
    records.append(changed(broker, log_dirs=left))
    return records


def changed(
    broker: BrokerRegistration,
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

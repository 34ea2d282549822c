"""States of share partitions are made and deleted: with their coordinators, for the group's."""

import asyncio
import logging
from collections.abc import Iterable, Mapping

from ottla.broker.share.states import StateKeeper
from ottla.errors import KafkaError
from ottla.groups.coordinator import GroupCoordinator
from ottla.groups.share.starting import ToInitialize
from ottla.groups.share.states import NOT_STARTED, SharePartitionKey
from ottla.ids import Uuid

log = logging.getLogger(__name__)


async def initialize(states: StateKeeper, groups: GroupCoordinator, wanted: ToInitialize) -> None:
    """Nobody waits for it: if it fails, the next heartbeat asks again."""
    refusals = await initialize_states(states, wanted, {})
    try:
        if refusals:
            for place, refusal in refusals.items():
                log.info("%s: no state yet: %s", place.key(), refusal)
            await groups.share_not_initialized(wanted.group_id, wanted.topics)
        else:
            await groups.share_initialized(wanted.group_id, wanted.topics)
    except KafkaError as refusal:
        log.info("share group %s: not noted: %s", wanted.group_id, refusal)


async def initialize_states(
    states: StateKeeper, wanted: ToInitialize, starts: Mapping[SharePartitionKey, int]
) -> dict[SharePartitionKey, KafkaError]:
    """Let states start at these offsets, others where the group's members begin. What failed."""
    places = [
        SharePartitionKey(wanted.group_id, topic_id, index)
        for topic_id, (_, indexes) in wanted.topics.items()
        for index in sorted(indexes)
    ]

    async def one(place: SharePartitionKey) -> KafkaError | None:
        start_offset = starts.get(place, NOT_STARTED)
        try:
            await states.initialize(place, wanted.state_epoch, start_offset)
        except KafkaError as refusal:
            return refusal
        return None

    results = await asyncio.gather(*map(one, places))
    return {
        place: refusal
        for place, refusal in zip(places, results, strict=True)
        if refusal is not None
    }


async def delete_states(
    states: StateKeeper, group_id: str, topic_id: Uuid, partitions: Iterable[int]
) -> None:
    for partition in sorted(partitions):
        await states.delete(SharePartitionKey(group_id, topic_id, partition))

"""What is deleted of share groups: their states first, then who knows of them."""

import asyncio
from types import SimpleNamespace
from typing import Any

from ottla.broker.features import SHARE_GROUPS
from ottla.broker.handlers import delete_groups, delete_share_group_offsets
from ottla.errors import ErrorCode, KafkaError
from ottla.groups.offsets.removal import delete_group
from ottla.groups.share import starting
from ottla.groups.share.states import Place
from ottla.wire.messages.delete_groups import DeleteGroupsRequest
from ottla.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from support.group_driver import Driver

TOPIC_ID = b"t" * 16
NOBODY: Any = None
REACHED, AWAY = ErrorCode.NONE, ErrorCode.COORDINATOR_NOT_AVAILABLE


class States:
    """The keeper of one of the states cannot be reached at first."""

    def __init__(self) -> None:
        self.kept = {Place("g", TOPIC_ID, index) for index in range(2)}
        self.away = True

    async def delete(self, place: Place) -> None:
        if place.partition == 1 and self.away:
            self.away = False
            raise KafkaError(AWAY)
        self.kept.discard(place)


class Groups:
    """The machine of one shard, asked as the coordinator asks it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        topics = {TOPIC_ID: ("t", frozenset({0, 1}))}
        driver.ask(lambda _: starting.start(driver.groups, driver.now, "g", topics))

    def share_queues_to_delete(self, group_id: str) -> starting.Started:
        return starting.queues_to_delete(self._driver.groups, group_id)

    def share_queues_to_forget(self, group_id: str, names: set[str]) -> starting.Started:
        return starting.queues_to_forget(self._driver.groups, group_id, names)

    async def forget_share(self, group_id: str, names: set[str]) -> None:
        groups = self._driver.groups
        self._driver.ask(lambda _: starting.forget(groups, group_id, names))

    async def delete(self, group_id: str) -> None:
        groups = self._driver.groups
        self._driver.ask(lambda _: delete_group(groups, group_id))


def broker_with(driver: Driver) -> Any:
    image = SimpleNamespace(features={SHARE_GROUPS: 1})
    return SimpleNamespace(groups=Groups(driver), share_states=States(), image=image)


def test_a_group_whose_states_could_not_be_deleted_can_be_deleted_again() -> None:
    driver = Driver()
    broker = broker_with(driver)
    request = DeleteGroupsRequest(groups_names=["g"])

    def delete() -> int:
        return asyncio.run(delete_groups.handle(request, NOBODY, broker)).results[0].error_code

    assert delete() == AWAY
    assert "g" in driver.groups.groups
    assert delete() == REACHED
    assert "g" not in driver.groups.groups
    assert not broker.share_states.kept


def test_offsets_that_could_not_be_deleted_can_be_deleted_again() -> None:
    driver = Driver()
    broker = broker_with(driver)
    topic = DeleteShareGroupOffsetsRequestTopic(topic_name="t")
    request = DeleteShareGroupOffsetsRequest(group_id="g", topics=[topic])

    def delete() -> int:
        reply = asyncio.run(delete_share_group_offsets.handle(request, NOBODY, broker))
        return reply.responses[0].error_code

    assert delete() == AWAY
    assert delete() == REACHED
    assert not broker.share_states.kept
    assert starting.started_by(driver.groups, "g") == {}
    assert delete() == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

"""Nodes inside the test's own process: their settings, and what is asked of them directly."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from ottla.broker.topics_on_demand import create_on_demand
from ottla.config import Settings
from ottla.config.load import single_node
from ottla.errors import ErrorCode
from ottla.metadata.image import ConfigResourceType
from ottla.node.node import Node
from ottla.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from ottla.wire.record_batch import NewRecord, build_batch


def settings(path: Path, **options: str) -> Settings:
    static = single_node(("127.0.0.1", 0), path / "data")
    return Settings(static | {name.replace("_", "."): value for name, value in options.items()})


def append(node: Node, topic: str, value: bytes = b"v") -> int:
    leader = node.partitions.leader(topic, 0)
    record = NewRecord(int(time.time() * 1000), None, value)
    appended = leader.append(build_batch([record]), now=0.0, now_ms=int(time.time() * 1000))
    return appended.first_offset


async def make_topics(node: Node, *names: str) -> dict[str, ErrorCode]:
    """Why not, for those that could not be made."""
    return await create_on_demand(names, node.in_force(), node.metadata.active_controller)


async def alter_own(node: Node, name: str, value: str) -> None:
    config = AlterableConfig(name=name, value=value)
    resource = AlterConfigsResource(
        resource_type=ConfigResourceType.BROKER, resource_name="1", configs=[config]
    )
    ask = IncrementalAlterConfigsRequest(resources=[resource])
    response = await node.controller.incremental_alter_configs(ask)
    assert response.responses[0].error_code == 0


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)

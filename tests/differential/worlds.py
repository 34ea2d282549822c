"""The topics that sequences find: made some worlds at a time, before they are needed; and what to
wait for after those that sequences make and delete themselves.

Most sequences have topics of their own, which are deleted after them. Where nothing in an area
changes a topic (`Area.shares_topics`) all sequences have the same ones.
"""

import itertools
import os
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from differential.link import Answer, Link, any_error
from differential.steps import Topic
from differential.symbols import Bindings
from differential.waiting import sleep
from ottla.errors import ErrorCode
from ottla.wire.message import Message
from ottla.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from ottla.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from ottla.wire.messages.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from ottla.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

AHEAD = 8
"""Worlds that are made, and deleted, by one request."""
WORLD_S = 60.0
LOOK_AGAIN_S = 0.002
_numbers = itertools.count()

Topics = tuple[Topic, ...]


def new_prefix() -> str:
    """Of names that nobody else has, whatever process asks; always as long: bytes may hold it."""
    return f"d{os.getpid() % 10**6:06}-{next(_numbers):06}-"


class Worlds:
    """Of one broker."""

    def __init__(self, bootstrap: str, replicas: list[int] | None = None) -> None:
        self.bootstrap = bootstrap
        self.replicas = replicas
        """Of every partition, where there are several nodes."""
        self.lock = threading.Lock()
        self.ready: dict[Topics, list[Bindings]] = {}
        self.done: list[str] = []
        self.shared: dict[Topics, Bindings] = {}
        self.making: set[Topics] = set()

    @asynccontextmanager
    async def own(self, topics: Topics) -> AsyncIterator[Bindings]:
        """Topics of one sequence's own."""
        if not topics:
            yield Bindings(new_prefix())
            return
        bindings = await self.take(topics)
        try:
            yield bindings
        finally:
            await self.leave([bindings.prefix + topic.name for topic in topics])

    async def of_all(self, topics: Topics) -> Bindings:
        """Names of its own, but everybody's topics."""
        while (shared := self.shared.get(topics)) is None:
            for made in await self.made_by_one(topics, 1):
                self.shared[topics] = made
        told = {key: list(values) for key, values in shared.told.items()}
        names = {topic.name: shared.prefix + topic.name for topic in topics}
        return Bindings(new_prefix(), told, names, shared.prefix)

    async def take(self, topics: Topics) -> Bindings:
        while True:
            with self.lock:
                if ready := self.ready.setdefault(topics, []):
                    return ready.pop()
            made = await self.made_by_one(topics, AHEAD)
            with self.lock:
                ready += made

    async def made_by_one(self, topics: Topics, count: int) -> list[Bindings]:
        """New worlds; none for those who come while another makes them."""
        with self.lock:
            is_first = topics not in self.making
            self.making.add(topics)
        if not is_first:
            await sleep(LOOK_AGAIN_S)
            return []
        try:
            return await self.made(topics, count)
        finally:
            self.making.discard(topics)

    async def leave(self, names: list[str]) -> None:
        with self.lock:
            self.done += names
            if len(self.done) < AHEAD * len(names):
                return
            states = [DeleteTopicState(name=name) for name in self.done]
            self.done = []
        link = Link(self.bootstrap, "world")
        request = DeleteTopicsRequest(topics=states, timeout_ms=5000)
        await link.ask(request, 6, DeleteTopicsResponse, WORLD_S)
        link.close()

    def creatable(self, prefix: str, topic: Topic) -> CreatableTopic:
        places = range(topic.partitions) if self.replicas else ()
        return CreatableTopic(
            name=prefix + topic.name,
            num_partitions=-1 if self.replicas else topic.partitions,
            replication_factor=-1 if self.replicas else 1,
            assignments=[
                CreatableReplicaAssignment(partition_index=n, broker_ids=self.replicas or [])
                for n in places
            ],
            configs=[CreatableTopicConfig(name=n, value=v) for n, v in topic.configs.items()],
        )

    async def made(self, topics: Topics, count: int) -> list[Bindings]:
        worlds = {(one := Bindings(new_prefix())).prefix: one for _ in range(count)}
        link = Link(self.bootstrap, "world")
        wanted = [self.creatable(prefix, topic) for prefix in worlds for topic in topics]
        request = CreateTopicsRequest(topics=wanted, timeout_ms=10_000)
        reply = await link.ask(request, 7, CreateTopicsResponse, WORLD_S)
        assert isinstance(reply, CreateTopicsResponse), reply
        for topic in reply.topics:
            code = topic.error_code
            assert code == ErrorCode.NONE, (topic.name, ErrorCode(code).name)
            for prefix, bindings in worlds.items():
                if topic.name.startswith(prefix):
                    bindings.bind(f"topic.{topic.name.removeprefix(prefix)}", topic.topic_id)
        await wait_until_led(link, topics, list(worlds))
        link.close()
        return list(worlds.values())


async def wait_until_led(link: Link, topics: Topics, prefixes: list[str]) -> None:
    places = [
        ListOffsetsTopic(
            name=prefix + topic.name,
            partitions=[
                ListOffsetsPartition(partition_index=n, timestamp=-1)
                for n in range(topic.partitions)
            ],
        )
        for prefix in prefixes
        for topic in topics
    ]
    request = ListOffsetsRequest(topics=places)
    deadline = time.monotonic() + WORLD_S
    while any_error(await link.ask(request, 5, ListOffsetsResponse, WORLD_S)):
        assert time.monotonic() < deadline, "the world's topics are not led"
        await sleep(LOOK_AGAIN_S)


async def is_led(link: Link, topic: str, index: int) -> bool:
    place = ListOffsetsPartition(partition_index=index, timestamp=-1)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=topic, partitions=[place])])
    return not any_error(await link.ask(request, 5, ListOffsetsResponse, WORLD_S))


def effects(request: Message, answer: Answer) -> Iterator[tuple[str, int, bool]]:
    """Partitions, by topic and index, that are there or gone once everybody knows of the answer."""
    if getattr(request, "validate_only", False):
        return
    if isinstance(answer, CreateTopicsResponse):
        yield from ((topic.name, 0, True) for topic in answer.topics if not topic.error_code)
    elif isinstance(answer, DeleteTopicsResponse):
        yield from ((t.name, 0, False) for t in answer.responses if t.name and not t.error_code)
    elif isinstance(request, CreatePartitionsRequest):
        grown = {topic.name: topic.count for topic in request.topics}
        assert isinstance(answer, CreatePartitionsResponse), answer
        for result in answer.results:
            if not result.error_code:
                yield result.name, grown[result.name] - 1, True

"""One sequence against one broker: what it answered, step by step, as what is compared."""

import contextlib
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any, Protocol

from differential.comparable import Comparable, Comparer
from differential.link import SILENT, Answer, Link, Links, codes
from differential.steps import RETRIABLE, Area, Kill, Pause, Restart, Sequence, Step
from differential.symbols import Bindings
from differential.waiting import sleep
from differential.worlds import Worlds, effects, is_led
from ottla.wire.message import Message
from ottla.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.wire.messages.join_group import JoinGroupRequest
from ottla.wire.messages.sync_group import SyncGroupRequest

ANSWER_S = 15.0
"""An answer that has not come by then is none; every wait a step may ask of a broker is shorter."""
BLOCKED_S = 0.02
"""For a step that others have to release: long enough that the broker has it before they ask."""
LOOKS = 2
"""… besides, for the answers that come without anybody's help."""
LAST_CHANCE_S = 0.3
"""The same before nobody will answer any more."""
RETRY_S, RETRY_S_MAX = 0.01, 0.1
EFFECT_S = 10.0
SETTLED_S = 0.02
SETTLED_TIMES = 3

NOT_ASKED = "not asked"
CUT_OFF = "cut off by a restart or a kill"

Patience = Callable[[int], bool]
"""Whether the step of this number waits out what is retriable."""


def patient(_: int) -> bool:
    return True


def impatient(_: int) -> bool:
    return False


class Restarting(Protocol):
    """Entered by every run; each waits there for the restart that is one of its moves."""

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def wait(self) -> None: ...


class Broker:
    """One broker as runs know it: where it is, and what they leave there for each other."""

    def __init__(
        self,
        bootstrap: str,
        restarting: Restarting | None = None,
        connect: Callable[[str], Link] | None = None,
        replicas: list[int] | None = None,
    ) -> None:
        """`connect` and `replicas` where it is several nodes: a connection to whichever is to be
        asked, and where partitions are."""
        self.bootstrap = bootstrap
        self.restarting = restarting
        """Where runs have it stopped and started."""
        self.links = Links(connect or partial(Link, bootstrap))
        self.worlds = Worlds(bootstrap, replicas)

    @contextlib.asynccontextmanager
    async def world(self, area: Area, sequence: Sequence) -> AsyncIterator[Bindings]:
        if area.shares_topics:
            yield await self.worlds.of_all(sequence.topics)
        else:
            async with self.worlds.own(sequence.needed) as bindings:
                yield bindings


async def run(
    area: Area,
    sequence: Sequence,
    broker: Broker,
    patience: Patience,
) -> list[Comparable]:
    """One comparable answer per move."""
    restarting = broker.restarting or contextlib.nullcontext()
    with restarting:
        async with broker.world(area, sequence) as bindings:
            links: dict[str, Link] = {}
            try:
                return await Run(area, sequence, broker, patience, bindings, links).answers()
            finally:
                for link in links.values():
                    if area.keeps_connections and broker.restarting is None:
                        broker.links.give_back(link)
                    else:
                        link.close()


class Run:
    def __init__(
        self,
        area: Area,
        sequence: Sequence,
        broker: Broker,
        patience: Patience,
        bindings: Bindings,
        links: dict[str, Link],
    ) -> None:
        self.area = area
        self.sequence = sequence
        self.lasting = False
        self.broker = broker
        self.patience = patience
        self.bindings = bindings
        self.links = links
        self.comparer = Comparer(area, *filter(None, (bindings.prefix, bindings.shared_prefix)))
        for key, values in bindings.told.items():  # ids of the world's topics
            for value in values:
                self.comparer.know("topic_id", value, f"<{key}>")
        self.blocked: dict[str, tuple[int, Step, Message]] = {}
        self.said: dict[int, tuple[Message, Answer]] = {}
        """By the step's number: requests as they were asked, and what they were answered."""

    async def answers(self) -> list[Comparable]:
        moves = self.sequence.moves
        acting = [n for n, m in enumerate(moves) if isinstance(m, Step) and not m.observes]
        last = acting[-1] if acting else -1
        for number, move in enumerate(moves):
            if isinstance(move, Pause):
                await sleep(move.milliseconds / 1000)
                self.lasting = True
            elif isinstance(move, Restart | Kill):
                await self.start_anew()
            elif not (move.observes and number < last and not self.patience(number)):
                await self.take(number, move)
        for connection in list(self.blocked):
            await self.release(connection)
        return [
            self.told(number) if isinstance(move, Step) else None
            for number, move in enumerate(moves)
        ]

    def told(self, number: int) -> Comparable:
        """In the order of the steps, so that an id has the name of the first step that told it,
        though others may have been answered before that one."""
        if number not in self.said:
            return NOT_ASKED
        request, answer = self.said[number]
        self.comparer.begin(number, request)
        return self.comparer.compare(answer)

    async def start_anew(self) -> None:
        """What was still waited for is answered by nobody."""
        for connection, (number, step, request) in self.blocked.items():
            answer = await self.link(connection).collect(LAST_CHANCE_S)
            self.note(number, step, request, CUT_OFF if answer is None else answer)
        self.blocked.clear()
        assert self.broker.restarting is not None, "others use these brokers too"
        self.broker.restarting.wait()
        for link in self.links.values():
            link.reopen()
        self.lasting = True

    async def take(self, number: int, step: Step) -> None:
        await self.release(step.connection)
        self.lasting |= step.api in self.area.lasting
        link = self.link(step.connection)
        request = step.filled(self.bindings)
        if step.blocks:
            link.send(request, step.version, step.response)
            self.blocked[step.connection] = (number, step, request)
            answer = await self.soon(link, request)
            if answer is not None:
                del self.blocked[step.connection]
                self.note(number, step, request, answer)
        elif step.observes:
            self.note(number, step, request, await self.settled(number, link, step, request))
        elif self.patience(number):
            answer = await self.persist(link, step, request)
            self.note(number, step, request, answer)
            await self.await_effect(request, answer)
        else:
            answer = await link.ask(request, step.version, step.response, ANSWER_S)
            self.note(number, step, request, answer)

    async def soon(self, link: Link, request: Message) -> Answer | None:
        """What needs nobody else. Where nothing has come by then, the group's coordinator is asked
        what it answers after that: on a busy machine it may only be slow."""
        answer = await link.collect(BLOCKED_S)
        assert isinstance(request, JoinGroupRequest | SyncGroupRequest), "that is no step of groups"
        after = DescribeGroupsRequest(groups=[request.group_id])
        for _ in range(LOOKS):
            if answer is None:
                await self.link("after").ask(after, 5, DescribeGroupsResponse, ANSWER_S)
                answer = await link.collect(0)
        return answer

    async def release(self, connection: str) -> None:
        """The answer that this connection still waits for."""
        if connection not in self.blocked:
            return
        number, step, request = self.blocked.pop(connection)
        link = self.link(connection)
        answer = await link.collect(ANSWER_S)
        if answer is None:
            link.reopen()
        self.note(number, step, request, SILENT if answer is None else answer)

    async def persist(self, link: Link, step: Step, request: Message) -> Answer:
        deadline = time.monotonic() + self.area.patience_s
        wait = RETRY_S
        while True:
            answer = await link.ask(request, step.version, step.response, ANSWER_S)
            if time.monotonic() > deadline or not is_retriable(answer) or is_turn(request):
                return answer
            await sleep(wait)
            wait = min(wait * 2, RETRY_S_MAX)

    async def settled(self, number: int, link: Link, step: Step, request: Message) -> Answer:
        if not self.lasting:
            return await self.persist(link, step, request)
        deadline = time.monotonic() + self.area.patience_s
        same, before = 0, None
        while True:
            answer = await link.ask(request, step.version, step.response, ANSWER_S)
            same = same + 1 if self.is_same(number, request, answer, before) else 1
            if (same >= SETTLED_TIMES and not is_retriable(answer)) or time.monotonic() > deadline:
                self.lasting = False
                return answer
            before = answer
            await sleep(SETTLED_S)

    def is_same(self, number: int, request: Message, one: Answer, other: Answer | None) -> bool:
        """Also where what is not compared differs."""
        if one == other or other is None:
            return other is not None
        comparer = Comparer(self.area, *self.comparer.prefixes)
        comparer.begin(number, request)
        return bool(comparer.compare(one) == comparer.compare(other))

    async def await_effect(self, request: Message, answer: Answer) -> None:
        """A controller answers before the broker that is asked next knows of it."""
        for name, index, exists in effects(request, answer):
            deadline = time.monotonic() + EFFECT_S
            while await is_led(self.link("effect"), name, index) != exists:
                assert time.monotonic() < deadline, f"{name}-{index} is not as it was answered"
                await sleep(RETRY_S)

    def note(self, number: int, step: Step, request: Message, answer: Answer) -> None:
        self.said[number] = (request, answer)
        if not isinstance(answer, str):
            for key, path in step.bind.items():
                value = at(answer, path.removesuffix("!"))
                if value or not path.endswith("!"):
                    self.bindings.bind(key, value)

    def link(self, name: str) -> Link:
        if name not in self.links:
            self.links[name] = self.broker.links.take(name)
        return self.links[name]


def at(answer: Any, path: str) -> Any:
    """The value at a path of names and numbers; None where the answer ends before it."""
    for word in path.split("."):
        if isinstance(answer, list):
            if int(word) >= len(answer):
                return None
            answer = answer[int(word)]
        elif answer is not None:
            answer = getattr(answer, word)
    return answer


def is_turn(request: Message) -> bool:
    """Of a share session: with the answer it is at another epoch, whatever that said."""
    return bool(getattr(request, "share_session_epoch", 0))


def is_retriable(answer: Answer) -> bool:
    return not RETRIABLE.isdisjoint(codes(answer))

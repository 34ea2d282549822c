"""One sequence against one broker: what it answered, step by step, as what is compared."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from differential.comparable import Comparable, Comparer, text
from differential.link import SILENT, Answer, Link
from differential.steps import RETRIABLE, Area, Pause, Restart, Sequence, Step, Topic
from differential.symbols import Bindings, resolve
from ottla.errors import ErrorCode
from ottla.wire.message import Message
from ottla.wire.messages.create_topics import (
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

ANSWER_S = 6.0
"""An answer that has not come by then is none; every wait a step may ask of a broker is shorter."""
BLOCKED_S = 0.02
"""For a step that others have to release: long enough that the broker has it before they ask."""
WORLD_S = 60.0
PATIENCE_S = 3.0
RETRY_S = 0.01
SETTLED_S = 0.02
SETTLED_TIMES = 3

NOT_ASKED = "not asked"
CUT_OFF = "cut off by a restart"
_runs = itertools.count()

Patience = Callable[[int], bool]
"""Whether the step of this number waits out what is retriable."""


def patient(_: int) -> bool:
    return True


def impatient(_: int) -> bool:
    return False


def cannot_restart() -> None:
    raise AssertionError("these brokers are shared: nobody may restart them")


def run(
    area: Area,
    sequence: Sequence,
    bootstrap: str,
    patience: Patience,
    restart: Callable[[], None] = cannot_restart,
) -> list[Comparable]:
    """One comparable answer per move."""
    prefix = f"d{sequence.seed:06}-{next(_runs):06}-"  # always as long: bytes may hold it
    with world(sequence.topics, bootstrap, prefix) as bindings:
        links: dict[str, Link] = {}
        try:
            return Run(area, sequence, bootstrap, patience, bindings, links, restart).answers()
        finally:
            for link in links.values():
                link.close()


class Run:
    def __init__(
        self,
        area: Area,
        sequence: Sequence,
        bootstrap: str,
        patience: Patience,
        bindings: Bindings,
        links: dict[str, Link],
        restart: Callable[[], None],
    ) -> None:
        self.restart = restart
        self.area = area
        self.sequence = sequence
        self.lasting = False
        self.bootstrap = bootstrap
        self.patience = patience
        self.bindings = bindings
        self.links = links
        self.comparer = Comparer(area, bindings.prefix)
        for key, values in bindings.told.items():  # ids of the world's topics
            for value in values:
                self.comparer.know("topic_id", value, f"<{key}>")
        self.blocked: dict[str, tuple[int, Step, Message]] = {}
        self.told: list[Comparable] = [None] * len(sequence.moves)

    def answers(self) -> list[Comparable]:
        moves = self.sequence.moves
        acting = [n for n, m in enumerate(moves) if isinstance(m, Step) and not m.observes]
        last = acting[-1] if acting else -1
        for number, move in enumerate(moves):
            if isinstance(move, Pause):
                time.sleep(move.milliseconds / 1000)
                self.lasting = True
            elif isinstance(move, Restart):
                self.start_anew()
            elif move.observes and number < last and not self.patience(number):
                self.told[number] = NOT_ASKED
            else:
                self.take(number, move)
        for connection in list(self.blocked):
            self.release(connection)
        return self.told

    def start_anew(self) -> None:
        """What was still waited for is answered by nobody."""
        for number, _, _ in self.blocked.values():
            self.told[number] = CUT_OFF
        self.blocked.clear()
        self.restart()
        for link in self.links.values():
            link.reopen()
        self.lasting = True

    def take(self, number: int, step: Step) -> None:
        self.release(step.connection)
        self.lasting |= step.api in self.area.lasting
        link = self.link(step.connection)
        request = resolve(step.request, self.bindings)
        if step.blocks:
            link.send(request, step.version, step.response)
            self.blocked[step.connection] = (number, step, request)
            answer = link.collect(BLOCKED_S)
            if answer is not None:
                del self.blocked[step.connection]
                self.note(number, step, request, answer)
        elif step.observes:
            self.note(number, step, request, self.settled(number, link, step, request))
        elif self.patience(number):
            self.note(number, step, request, self.persist(link, step, request))
        else:
            answer = link.ask(request, step.version, step.response, ANSWER_S)
            self.note(number, step, request, answer)

    def release(self, connection: str) -> None:
        """The answer that this connection still waits for."""
        if connection not in self.blocked:
            return
        number, step, request = self.blocked.pop(connection)
        link = self.link(connection)
        answer = link.collect(ANSWER_S)
        if answer is None:
            link.reopen()
        self.note(number, step, request, SILENT if answer is None else answer)

    def persist(self, link: Link, step: Step, request: Message) -> Answer:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = link.ask(request, step.version, step.response, ANSWER_S)
            if not is_retriable(answer) or time.monotonic() > deadline:
                return answer
            time.sleep(RETRY_S)

    def settled(self, number: int, link: Link, step: Step, request: Message) -> Answer:
        if not self.lasting:
            return self.persist(link, step, request)
        deadline = time.monotonic() + PATIENCE_S
        same, before = 0, ""
        while True:
            answer = link.ask(request, step.version, step.response, ANSWER_S)
            now = self.spelled(number, request, answer)
            same = same + 1 if now == before else 1
            if (same >= SETTLED_TIMES and not is_retriable(answer)) or time.monotonic() > deadline:
                self.lasting = False
                return answer
            before = now
            time.sleep(SETTLED_S)

    def spelled(self, number: int, request: Message, answer: Answer) -> str:
        """A look at an answer that binds nothing."""
        self.comparer.begin(number, request)
        return text(self.comparer.look(answer, ""))

    def note(self, number: int, step: Step, request: Message, answer: Answer) -> None:
        self.comparer.begin(number, request)
        self.told[number] = self.comparer.compare(answer)
        if not isinstance(answer, str):
            for key, path in step.bind.items():
                value = at(answer, path.removesuffix("!"))
                if value or not path.endswith("!"):
                    self.bindings.bind(key, value)

    def link(self, name: str) -> Link:
        if name not in self.links:
            self.links[name] = Link(self.bootstrap, name)
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


def codes(value: Any) -> Iterator[int]:
    """Every error code in an answer."""
    if isinstance(value, Message):
        for name in value.__struct_fields__:
            inside = getattr(value, name)
            if name.endswith("error_code"):
                yield inside
            else:
                yield from codes(inside)
    elif isinstance(value, list):
        for each in value:
            yield from codes(each)


def is_retriable(answer: Answer) -> bool:
    return any(code in RETRIABLE for code in codes(answer))


@contextlib.contextmanager
def world(topics: tuple[Topic, ...], bootstrap: str, prefix: str) -> Iterator[Bindings]:
    """The topics of a sequence, made before and deleted after it."""
    bindings = Bindings(prefix)
    if not topics:
        yield bindings
        return
    link = Link(bootstrap, "world")
    try:
        create(link, topics, bindings)
        yield bindings
    finally:
        link.reopen()  # the broker may have been restarted
        states = [DeleteTopicState(name=prefix + topic.name) for topic in topics]
        request = DeleteTopicsRequest(topics=states, timeout_ms=5000)
        link.ask(request, 6, DeleteTopicsResponse, ANSWER_S)
        link.close()


def create(link: Link, topics: tuple[Topic, ...], bindings: Bindings) -> None:
    wanted = [
        CreatableTopic(
            name=bindings.prefix + topic.name,
            num_partitions=topic.partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=n, value=v) for n, v in topic.configs.items()],
        )
        for topic in topics
    ]
    request = CreateTopicsRequest(topics=wanted, timeout_ms=10_000)
    reply = link.ask(request, 7, CreateTopicsResponse, WORLD_S)
    assert isinstance(reply, CreateTopicsResponse), reply
    for made in reply.topics:
        assert made.error_code == ErrorCode.NONE, (made.name, ErrorCode(made.error_code).name)
        bindings.bind(f"topic.{made.name.removeprefix(bindings.prefix)}", made.topic_id)
    places = [
        ListOffsetsTopic(
            name=bindings.prefix + topic.name,
            partitions=[
                ListOffsetsPartition(partition_index=n, timestamp=-1)
                for n in range(topic.partitions)
            ],
        )
        for topic in topics
    ]
    deadline = time.monotonic() + WORLD_S
    while any(codes(link.ask(ListOffsetsRequest(topics=places), 5, ListOffsetsResponse, ANSWER_S))):
        assert time.monotonic() < deadline, "the world's topics are not led"
        time.sleep(0.002)

"""What a sequence is made of, and what an area has to say to get one drawn."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from random import Random

from differential.symbols import Bindings, Filling, Name, filling, leaves, told
from ottla.errors import ErrorCode
from ottla.wire.message import Message

RETRIABLE = frozenset(
    {
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
"""What a client waits out. Who is told one of these may as well be told what comes after it."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One request. `bind` says what its answer tells: key → path, as `topics.0.topic_id`;
    `session_id!` for a field whose zero says that there is none."""

    request: Message
    version: int
    connection: str = "a"
    bind: Mapping[str, str] = field(default_factory=dict)
    blocks: bool = False
    """Others must ask before this is answered (a join): it is sent, and its answer collected when
    the connection is next used, or at the end."""
    observes: bool = False
    """Changes nothing, and shows what other steps set going: asked until the answer stays the same.
    Impatient runs ask it only after everything else."""

    @cached_property
    def api(self) -> str:
        return type(self.request).__name__.removesuffix("Request")

    def filled(self, bindings: Bindings) -> Message:
        """The request as one side is asked it."""
        request: Message = self.request if self.fill is None else self.fill(bindings)
        return request

    @cached_property
    def fill(self) -> Filling | None:
        return filling(self.request)

    @cached_property
    def response(self) -> type[Message]:
        module = sys.modules[type(self.request).__module__]
        answer: type[Message] = getattr(module, f"{self.api}Response")
        return answer

    def __str__(self) -> str:
        return f"{self.connection}: {self.api} v{self.version} {told(self.request)}"


@dataclass(frozen=True, kw_only=True)
class Pause:
    """Time for a time-out of the broker's."""

    milliseconds: int
    connection: str = ""

    def __str__(self) -> str:
        return f"(wait {self.milliseconds} ms)"


@dataclass(frozen=True, kw_only=True)
class Restart:
    """The broker, and with it every coordinator, stops and starts again."""

    connection: str = ""

    def __str__(self) -> str:
        return "(the broker is started anew)"


@dataclass(frozen=True, kw_only=True)
class Kill:
    """The node that coordinates, one of several, is killed; the others go on."""

    connection: str = ""

    def __str__(self) -> str:
        return "(the coordinator is killed)"


@dataclass(frozen=True, kw_only=True)
class Topic:
    """A topic that is there before the first step; `topic_id(name)` is its id."""

    name: str
    partitions: int = 1
    configs: Mapping[str, str] = field(default_factory=dict, hash=False)
    is_rare: bool = field(default=False, repr=False)
    """Made only for sequences that speak of it."""


Move = Step | Pause | Restart | Kill


@dataclass(frozen=True, kw_only=True)
class Sequence:
    area: str
    seed: int
    moves: tuple[Move, ...]
    topics: tuple[Topic, ...] = ()

    @cached_property
    def needed(self) -> tuple[Topic, ...]:
        """The topics but for the rare ones that it does not speak of."""
        if not any(topic.is_rare for topic in self.topics):
            return self.topics
        steps = [move for move in self.moves if isinstance(move, Step)]
        spoken_of = {each.of for s in steps for each in leaves(s.request) if isinstance(each, Name)}
        return tuple(t for t in self.topics if not t.is_rare or t.name in spoken_of)


@dataclass(frozen=True, kw_only=True)
class Area:
    """One part of the protocol: how its sequences are drawn, and on what brokers they run."""

    name: str
    draw: Callable[[Random], list[Move]]
    topics: tuple[Topic, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    ids: frozenset[str] = frozenset()
    """Fields whose values are each broker's own, besides those of `comparable.IDS`."""
    uncompared: frozenset[str] = frozenset()
    """Fields that tell how much a broker has been through; others are never compared anywhere."""
    ordered: frozenset[str] = frozenset()
    """Lists, as `Response.field`, whose order is part of the answer."""
    lasting: frozenset[str] = frozenset({"EndTxn", "InitProducerId"})
    """APIs whose effects go on after their answer: the next observation waits for their end."""
    patience_s: float = 3.0
    """How long a patient run waits out what is retriable; 0 where nothing of that passes."""
    at_once: int = 18
    """How many sequences a campaign asks at a time."""
    modes: tuple[str, ...] = ("patient", "impatient")
    seeds_in_tests: int = 100
    broker_assigns: bool = False
    """Partitions are given by the broker, to classic members, too: in which order topics stand
    there is its own affair."""
    kafka_varies: bool = False
    """Its answers hang on time, or on ids that it draws: a recording asks it more often, and ends
    where it has varied."""
    also: tuple[int, ...] = ()
    """Seeds beyond those that once found something: they are recorded first."""
    shares_topics: bool = False
    """Nothing it draws changes a topic: all sequences have the same ones."""
    keeps_connections: bool = True
    """What a connection asked for leaves nothing behind that its end would undo."""

    def sequence(self, seed: int, length: int | None = None) -> Sequence:
        """What the seed draws, or only the beginning of it."""
        moves = self.draw(Random(f"{self.name} {seed}"))[:length]
        return Sequence(area=self.name, seed=seed, moves=tuple(moves), topics=self.topics)


def any_version(random: Random, request: type[Message], *, least: int = 0, most: int = 99) -> int:
    """A version both brokers serve; the newest is drawn more often, clients mostly speak it."""
    versions = [v for v in request.VERSIONS if least <= v <= most]
    return versions[-1] if random.random() < 0.35 else random.choice(versions)

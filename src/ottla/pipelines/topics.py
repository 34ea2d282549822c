"""The application's topics: what must be there, what is made. A client of the broker, no more."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.definitions import Aggregate, Application, DefinitionError, walk
from ottla.pipelines.plan import Plan, Stage, renamed

TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    partitions: int
    config: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """What the brokers say about themselves: the cluster's id, and partitions by topic."""

    id: str
    partitions: Mapping[str, int]


def connect(application: Application) -> Any:
    from confluent_kafka.admin import AdminClient

    return AdminClient(
        {
            "bootstrap.servers": application.bootstrap,
            "log_level": 2,
            "socket.timeout.ms": 10_000,
            **application.client,
        }
    )


def describe(application: Application) -> Cluster:
    from confluent_kafka import KafkaException

    try:
        said = connect(application).list_topics(timeout=TIMEOUT_S)
    except KafkaException as error:
        raise OttlaError(
            f"No broker answers at {application.bootstrap}: start one with ottla start, or name "
            "another with --bootstrap."
        ) from error
    topics = {name: len(topic.partitions) for name, topic in said.topics.items() if not topic.error}
    return Cluster(said.cluster_id or "unknown", topics)


def topic_names(plan: Plan, generation: int) -> dict[str, str]:
    """What each topic the plan writes is really called in this generation."""
    names = {}
    for stage in plan.stages:
        for source in stage.dead:
            assert source.dead_letters is not None
            names[source.dead_letters] = renamed(source.dead_letters, generation)
        names[stage.sink.topic] = renamed(stage.sink.topic, generation)
    return names


def wanted(
    plan: Plan,
    cluster: Cluster,
    generation: int,
    *,
    history: bool = False,
    names: Mapping[str, str] | None = None,
) -> list[NewTopic]:
    """The topics to make. Pure. A topic that is read and not there is an error with its line.

    `history`: stage after stage takes all there is, each once the one before it has ended.
    `names`: what topics are really called, where it is not their name in this generation.
    """
    for source in plan.read_topics():
        if source.topic not in cluster.partitions:
            raise DefinitionError(source.where, f"the topic {source.topic} does not exist.")
    names = topic_names(plan, generation) | dict(names or {})
    known = dict(cluster.partitions)
    made: dict[str, NewTopic] = {}
    for stage in plan.stages:
        read = [known.get(names.get(source.topic, source.topic), 1) for source in stage.sources]
        widest = max(read, default=plan.application.parallelism)
        for letters in {names[source.dead_letters or ""] for source in stage.dead}:
            if letters not in known:
                made[letters] = NewTopic(letters, 1)
        name = names[stage.sink.topic]
        if stage.only_dead or name in known:
            continue
        config = {"cleanup.policy": _policy(stage)} if stage.sink.compacted else {}
        if generation > 1 or (history and stage.internal):
            # A replay keeps old timestamps, and retention by time would empty the topic at once,
            # an intermediate one before the next stage has read it.
            config["retention.ms"] = "-1"
        made[name] = NewTopic(name, stage.sink.partitions or widest, config)
        known[name] = made[name].partitions
    return list(made.values())


def _policy(stage: Stage) -> str:
    """A table by window never sees its old keys again, so time may remove them."""
    windowed = any(isinstance(n, Aggregate) and n.window is not None for n in walk(stage.node))
    return "compact,delete" if windowed else "compact"


def wait_until_stable(
    application: Application, partitions: Mapping[str, int], timeout_s: float = TIMEOUT_S
) -> bool:
    """Wait until readers of committed records can reach the ends of these topics.

    A commit returns when it is decided; the records become visible a moment later. False when
    somebody's transaction stayed open.
    """
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    client = connect(application)
    asked = {
        TopicPartition(topic, partition): OffsetSpec.latest()
        for topic, count in partitions.items()
        for partition in range(count)
    }

    def ends(level: Any) -> list[int]:
        answers = client.list_offsets(asked, isolation_level=level, request_timeout=10)
        return [answers[place].result(TIMEOUT_S).offset for place in asked]

    until = time.monotonic() + timeout_s
    while asked and ends(IsolationLevel.READ_COMMITTED) < ends(IsolationLevel.READ_UNCOMMITTED):
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def create(application: Application, topics: Iterable[NewTopic]) -> None:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.cimpl import NewTopic as Wanted

    asked = [
        Wanted(t.name, num_partitions=t.partitions, replication_factor=-1, config=dict(t.config))
        for t in topics
    ]
    if not asked:
        return
    client = connect(application)
    for name, done in client.create_topics(asked, operation_timeout=10).items():
        try:
            done.result(TIMEOUT_S)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise OttlaError(f"The topic {name} could not be made: {error}") from error

"""The application's topics: what must be there, what is made. A client of the broker, no more."""

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.definitions import Application, DefinitionError, Sink
from ottla.pipelines.plan import Plan, renamed, written_topics
from ottla.pipelines.windows import in_words

TIMEOUT_S = 30.0
KNOCK_S = 5.0
FOREVER = {"retention.ms": "-1"}


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
    return application.connection.admin({"socket.timeout.ms": 10_000})


def describe(application: Application, say: Callable[[str], None] | None = None) -> Cluster:
    """Asks the brokers; what keeps them from answering is said at once, then tried again."""
    from confluent_kafka import KafkaException

    if (reason := _unreachable(application.bootstrap)) and say is not None:
        say(f"No broker answers at {application.bootstrap} ({reason}): trying for {TIMEOUT_S:g} s.")
    try:
        said = connect(application).list_topics(timeout=TIMEOUT_S)
    except KafkaException as error:
        raise OttlaError(
            f"No broker answers at {application.bootstrap} ({reason or error}): start one with "
            "ottla start, or name another with --bootstrap."
        ) from error
    topics = {name: len(topic.partitions) for name, topic in said.topics.items() if not topic.error}
    return Cluster(said.cluster_id or "unknown", topics)


def _unreachable(bootstrap: str) -> str | None:
    """Why none of the addresses takes a connection, which the client would keep to itself."""
    reasons = []
    for place in bootstrap.split(","):
        host, _, port = place.strip().rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_S).close()
        except (OSError, ValueError) as error:
            reasons.append(f"{place.strip()}: {getattr(error, 'strerror', None) or error}")
        else:
            return None
    return "; ".join(reasons)


def topic_names(plan: Plan, generation: int) -> dict[str, str]:
    """What each topic the plan writes is really called in this generation."""
    names = {}
    for stage in plan.stages:
        for source in stage.letters:
            assert source.dead_letters is not None
            names[source.dead_letters] = renamed(source.dead_letters, generation)
        names[stage.sink.topic] = renamed(stage.sink.topic, generation)
    return names


def wanted(
    plan: Plan, cluster: Cluster, generation: int, *, names: Mapping[str, str] | None = None
) -> list[NewTopic]:
    """The topics to make. Pure. A topic that is read and not there is an error with its line.

    `names`: what topics are really called, where it is not their name in this generation.
    """
    for source in plan.read_topics():
        if not source.is_pattern and source.topic not in {
            *cluster.partitions,
            *written_topics(plan),
        }:
            raise DefinitionError(source.where, f"the topic {source.topic} does not exist.")
    names = topic_names(plan, generation) | dict(names or {})
    known = dict(cluster.partitions)
    made: dict[str, NewTopic] = {}
    for stage in plan.stages:
        read = [
            width
            for source in stage.sources
            for topic, width in known.items()
            if source.reads(topic) or topic == names.get(source.topic)
        ]
        widest = max(read, default=0) or plan.application.parallelism
        for letters in {names[source.dead_letters or ""] for source in stage.letters}:
            if letters not in known:
                made[letters] = NewTopic(letters, 1, FOREVER)
        name = names[stage.sink.topic]
        if stage.only_dead or stage.sink.route is not None or name in known:
            continue
        made[name] = NewTopic(name, stage.sink.partitions or widest, topic_config(stage.sink))
        known[name] = made[name].partitions
    return list(made.values())


def topic_config(sink: Sink) -> dict[str, str]:
    """Records bear event times, and a broker's retention would delete those of last month."""
    config = dict(FOREVER)
    if sink.retention_ms is not None:
        config["retention.ms"] = str(sink.retention_ms)
    if sink.compacted:
        config["cleanup.policy"] = "compact" if sink.retention_ms is None else "compact,delete"
    return config


def forgetful(plan: Plan, cluster: Cluster, names: Mapping[str, str]) -> list[str]:
    """A sentence for each topic that was there already and will delete what is written to it."""
    from confluent_kafka.admin import ConfigResource, ResourceType

    asked = {
        names[stage.sink.topic]: stage.sink
        for stage in plan.stages
        if names[stage.sink.topic] in cluster.partitions
        and stage.sink.topic in written_topics(plan)
    }
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in asked]
    if not resources:
        return []
    client = connect(plan.application)  # it must outlive its answers
    answers = client.describe_configs(resources, request_timeout=10)
    found = []
    for resource, answer in answers.items():
        config = {name: entry.value for name, entry in answer.result(TIMEOUT_S).items()}
        kept_ms = int(config.get("retention.ms", -1))
        deletes = "delete" in config.get("cleanup.policy", "") and kept_ms >= 0
        if deletes and kept_ms != asked[resource.name].retention_ms:
            found.append(
                f"{resource.name} was there already and deletes records whose time is more than "
                f"{in_words(kept_ms)} ago (retention.ms={kept_ms}); results bear event times. "
                f"To keep them: ottla topic alter {resource.name} --set retention.ms=-1"
            )
    return found


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

"""What an application asks of the brokers: which topics there are, to make some, what is stable.

A client, no more. Which topics are wanted is decided in `topics`.
"""

import socket
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import Application
from ottla.pipelines.api.windows import in_words
from ottla.pipelines.planning.plan import Plan, written_topics
from ottla.pipelines.planning.topics import Cluster, NewTopic

TIMEOUT_S = 30.0
KNOCK_S = 5.0


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

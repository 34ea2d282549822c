"""What a cluster's owner asks of topics and settings beyond what Kafka asks: policies in Python.

`create.topic.policy.class.name` and `alter.config.policy.class.name` name a class of the file's
owner as `module:Class`. It is made once, without arguments, and has one method, `validate`, which
is called by the active controller for each topic and each resource, before anything is written. It
raises ValueError with a sentence, which the client gets with POLICY_VIOLATION. It must answer at
once: the whole controller waits for it.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ottla.errors import ErrorCode, KafkaError
from ottla.metadata.image import ConfigResourceType

log = logging.getLogger(__name__)

CREATE_TOPIC = "create.topic.policy.class.name"
ALTER_CONFIG = "alter.config.policy.class.name"


class NewTopic(NamedTuple):
    """A topic that is about to be made: numbers, or replicas by hand, never both."""

    name: str
    partitions: int | None
    replication_factor: int | None
    assignments: Mapping[int, Sequence[int]] | None
    configs: Mapping[str, str]


class ConfigChange(NamedTuple):
    """Settings that are about to be changed, those that are named; None: back to the default."""

    kind: str  # topic, broker, group, client_metrics
    name: str  # a broker with an empty name stands for all
    configs: Mapping[str, str | None]


class CreateTopicPolicy(Protocol):
    def validate(self, topic: NewTopic) -> None: ...


class AlterConfigPolicy(Protocol):
    def validate(self, change: ConfigChange) -> None: ...


class Policies(NamedTuple):
    create_topic: CreateTopicPolicy | None = None
    alter_config: AlterConfigPolicy | None = None

    def check_topic(self, topic: NewTopic) -> None:
        if self.create_topic is not None:
            try:
                self.create_topic.validate(topic)
            except Exception as error:
                raise _refusal(CREATE_TOPIC, error) from error

    def check_configs(self, kind: int, name: str, configs: Mapping[str, str | None]) -> None:
        if self.alter_config is not None:
            change = ConfigChange(ConfigResourceType(kind).name.lower(), name, configs)
            try:
                self.alter_config.validate(change)
            except Exception as error:
                raise _refusal(ALTER_CONFIG, error) from error


NO_POLICIES = Policies()


def _refusal(option: str, error: Exception) -> KafkaError:
    if isinstance(error, ValueError):
        return KafkaError(ErrorCode.POLICY_VIOLATION, str(error))
    log.error("the policy of %s failed", option, exc_info=error)
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "A policy failed; the broker's log says how.")

"""The records of Connect's three topics: what is written, byte for byte as Connect writes it. Pure.

Values are JSON without an envelope. What the records mean together is `state`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ottla.connect.connector import Place
from ottla.connect.java_map import in_hash_order
from ottla.serving.java_json import text_of

KeyAndValue = tuple[bytes, bytes | None]
Properties = Mapping[str, str | None]

STARTED, PAUSED, STOPPED = "STARTED", "PAUSED", "STOPPED"
TARGETS = (STARTED, PAUSED, STOPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Of a connector or a task."""

    state: str
    worker_id: str
    generation: int
    trace: str | None = None
    version: str | None = None

    @property
    def fields(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "trace": self.trace,
            "worker_id": self.worker_id,
            "generation": self.generation,
            "version": self.version,
        }


# --- configs


def connector(name: str, properties: Properties | None) -> KeyAndValue:
    """None: it is deleted."""
    return _record(
        f"connector-{name}", None if properties is None else {"properties": dict(properties)}
    )


def task(name: str, index: int, properties: Properties) -> KeyAndValue:
    return _record(f"task-{name}-{index}", {"properties": in_hash_order(properties)})


def commit(name: str, tasks: int) -> KeyAndValue:
    """The tasks' configurations before it count from here on."""
    return _record(f"commit-{name}", {"tasks": tasks})


def target_state(name: str, state: str | None) -> KeyAndValue:
    if state is None:
        return _record(f"target-state-{name}", None)
    older = PAUSED if state == STOPPED else state  # workers before 3.5 know no STOPPED
    return _record(f"target-state-{name}", {"state": older, "state.v2": state})


def fencing(name: str, tasks: int) -> KeyAndValue:
    """So many transactional ids of its tasks are in use, until the next of these."""
    return _record(f"tasks-fencing-{name}", {"task-count": tasks})


def restart(name: str, *, include_tasks: bool, only_failed: bool) -> KeyAndValue:
    return _record(
        f"restart-connector-{name}", {"include-tasks": include_tasks, "only-failed": only_failed}
    )


def logger(name: str, level: str) -> KeyAndValue:
    return _record(f"logger-cluster-{name}", {"level": level})


# --- statuses


def connector_status(name: str, status: Status | None) -> KeyAndValue:
    return _record(f"status-connector-{name}", None if status is None else status.fields)


def task_status(name: str, index: int, status: Status | None) -> KeyAndValue:
    return _record(f"status-task-{name}-{index}", None if status is None else status.fields)


def topic_status(name: str, topic: str, *, task: int = 0, at_ms: int = 0) -> KeyAndValue:
    """The connector has used the topic."""
    fields = {"name": topic, "connector": name, "task": task, "discoverTimestamp": at_ms}
    return _record(f"status-topic-{topic}:connector-{name}", {"topic": fields})


def topic_unused(name: str, topic: str) -> KeyAndValue:
    return _record(f"status-topic-{topic}:connector-{name}", None)


# --- offsets


def offset(name: str, partition: Place | None, at: Place | None) -> KeyAndValue:
    """Of a source partition; its fields keep their order, for workers look it up by its bytes."""
    key = text_of([name, None if partition is None else dict(partition)])
    return key.encode(), None if at is None else text_of(dict(at)).encode()


def _record(key: str, value: Mapping[str, Any] | None) -> KeyAndValue:
    return key.encode(), None if value is None else text_of(dict(value)).encode()


def tasks_of(name: str, configs: Sequence[Properties]) -> list[KeyAndValue]:
    return [task(name, index, config) for index, config in enumerate(configs)]

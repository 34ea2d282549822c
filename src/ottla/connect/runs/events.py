"""What is heard of a run. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskState:
    """RUNNING, or FAILED with a trace. task None: the connector itself."""

    task: int | None
    state: str
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class TopicUsed:
    topic: str


RunEvent = TaskState | TopicUsed

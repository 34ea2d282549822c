"""What is heard of a run. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskState:
    """RUNNING, or FAILED with a trace. task None: the connector itself. `fenced`: another run of
    the connector began, here or elsewhere."""

    task: int | None
    state: str
    trace: str | None = None
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class TopicUsed:
    topic: str


RunEvent = TaskState | TopicUsed

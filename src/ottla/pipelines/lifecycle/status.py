"""How a running application is, and who may look at it."""

import time
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ottla.pipelines.engine.queries import Phase
from ottla.pipelines.lifecycle.progress import Offsets, Recorder
from ottla.pipelines.planning.plan import Plan


@dataclass(slots=True)
class Status:
    """What a view may show."""

    plan: Plan
    recorder: Recorder
    phase: Phase | Literal["start", "stop"] = "start"
    ui: str | None = None
    generation: int = 1
    names: dict[str, str] = field(default_factory=dict)
    lags: dict[str, int] = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)
    latencies_ms: dict[str, float] = field(default_factory=dict)  # by topic written
    dead: dict[str, int] = field(default_factory=dict)  # by topic of dead letters
    failures: dict[str, str] = field(default_factory=dict)  # by stage, until it runs again
    started: float = field(default_factory=time.monotonic)


class View(Protocol):
    def say(self, sentence: str) -> None: ...

    def show(self, status: Status) -> None: ...

"""How an application is to be run, how it is, and who may look at it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from ottla.pipelines import spark as sessions
from ottla.pipelines.plan import Plan
from ottla.pipelines.progress import Offsets, Recorder
from ottla.pipelines.queries import Phase
from ottla.pipelines.state import state_folder

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    master: str = sessions.LOCAL_MASTER
    replay: bool = False
    until_done: bool = False
    state: Path = field(default_factory=state_folder)
    checkpoints: str | None = None  # a path or file:, hdfs://, s3a://; unset: below `state`
    conf: Mapping[str, str] = field(default_factory=dict)  # of Spark, over the application's own
    memory: str | None = None  # of the driver
    ui: bool = True
    archive: bool = True  # make the class-data archive in the background
    standby: bool = False  # wait for the end of another copy instead of ending
    upgrade: bool = False  # rebuild from history what the code's change asks for


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

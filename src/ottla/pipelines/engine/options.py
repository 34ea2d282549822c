"""How an application is to be run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ottla.pipelines.runtime.settings import LOCAL_MASTER
from ottla.pipelines.runtime.storage import state_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    master: str = LOCAL_MASTER
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

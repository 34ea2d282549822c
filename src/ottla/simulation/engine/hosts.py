"""The machines of a simulated cluster: what runs on which, whose clock is wrong, who is dead.

A process is a node from its start to its end. Everything that the event loop does, it does in the
context of one; a killed one is simply never called again, as nobody notices its own SIGKILL.
"""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(eq=False)
class Host:
    """One machine, or the one place where all clients are."""

    id: int
    up: bool = True
    """Whether its kernel answers: a host without power neither accepts nor refuses."""
    wall_ahead: float = 0.0
    """Seconds that its clock is ahead of the true time; the monotonic one is never wrong."""
    disk_lies: bool = False
    """With the power it loses the end of its logs, synced or not. Not that of the metadata log: a
    quorum whose disks lie can lose what it committed, whatever its protocol."""


@dataclass(eq=False)
class Process:
    """One process on a host."""

    host: Host
    alive: bool = True
    held: list[object] = field(default_factory=list)
    paused: bool = False
    """As by SIGSTOP: its kernel goes on to accept and acknowledge, nothing of it runs."""
    after_step: Callable[[], None] | None = None
    """Called after each of its steps: no other process can have changed."""


ENVIRONMENT = Process(Host(-1))
"""What is not any node's doing."""

PROCESS: ContextVar[Process] = ContextVar("process", default=ENVIRONMENT)

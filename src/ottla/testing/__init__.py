"""For the tests of those who use Ottla: a real broker in a process, and data to run through it.

Nothing here imports the server; it is started as a user would start it. `drive` is imported when
it is first asked for: it brings the pipelines along.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ottla.testing.connect import Connect
    from ottla.testing.driving import Driver, Record, drive
    from ottla.testing.node import Node
    from ottla.testing.registry import Registry

__all__ = ["Connect", "Driver", "Node", "Record", "Registry", "drive"]


def __getattr__(name: str) -> object:
    if name == "Node":
        from ottla.testing.node import Node

        return Node
    if name == "Connect":
        from ottla.testing.connect import Connect

        return Connect
    if name == "Registry":
        from ottla.testing.registry import Registry

        return Registry
    if name in __all__:
        from ottla.testing import driving

        return getattr(driving, name)
    raise AttributeError(f"module 'ottla.testing' has no attribute {name!r}")

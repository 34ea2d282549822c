"""Ottla: Apache Kafka's system for people who work in Python.

`ottla.Node` is a broker in a process of its own, for tests and notebooks. It is imported when it
is first asked for, because the broker's own start-up passes through here too.
"""

from typing import TYPE_CHECKING

from ottla.version import VERSION as __version__

if TYPE_CHECKING:
    from ottla.testing.node import Node

__all__ = ["Node", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Node":
        from ottla.testing.node import Node

        return Node
    raise AttributeError(f"module 'ottla' has no attribute {name!r}")

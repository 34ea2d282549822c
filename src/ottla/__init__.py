"""Ottla: Apache Kafka's system for people who work in Python.

`ottla.Node` is a broker in a process of its own, for tests and notebooks, `ottla.Registry` a schema
registry, `ottla.Connect` a worker of connectors; `ottla.App` is a data pipeline, and
`ottla.testing.drive` runs one in a test; `ottla.source` and `ottla.sink` make connectors of
functions and classes. They are imported when they are first asked for, because the broker's own
start-up passes through here too.
"""

import importlib
from typing import TYPE_CHECKING

from ottla.version import VERSION as __version__

if TYPE_CHECKING:
    from ottla import testing
    from ottla.connect.own import sink, source
    from ottla.pipelines.api.app import App
    from ottla.pipelines.engine.batch import read
    from ottla.pipelines.runtime.sessions import spark_session
    from ottla.testing.connect import Connect
    from ottla.testing.node import Node
    from ottla.testing.registry import Registry

__all__ = [
    "App",
    "Connect",
    "Node",
    "Registry",
    "__version__",
    "read",
    "sink",
    "source",
    "spark_session",
    "testing",
]


def __getattr__(name: str) -> object:
    if name == "Node":
        from ottla.testing.node import Node

        return Node
    if name == "Registry":
        from ottla.testing.registry import Registry

        return Registry
    if name == "Connect":
        from ottla.testing.connect import Connect

        return Connect
    if name == "App":
        from ottla.pipelines.api.app import App

        return App
    if name == "spark_session":
        from ottla.pipelines.runtime.sessions import spark_session

        return spark_session
    if name == "read":
        from ottla.pipelines.engine.batch import read

        return read
    if name in ("sink", "source"):
        from ottla.connect import own

        return getattr(own, name)
    if name == "testing":
        return importlib.import_module("ottla.testing")
    raise AttributeError(f"module 'ottla' has no attribute {name!r}")

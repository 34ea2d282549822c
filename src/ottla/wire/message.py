"""What every generated message is: a light struct that knows its schema."""

from typing import ClassVar

from msgspec import Struct

Records = bytes | memoryview | None
"""Record batches inside a message: never copied on the way in, so often a view."""

NEVER_FLEXIBLE = 1 << 15


class Message(Struct, kw_only=True, gc=False):
    """Fields are Kafka's in snake case; each has Kafka's default.

    gc=False: messages are trees, never cycles, so the collector need not walk them.
    """

    SCHEMA: ClassVar[str] = ""
    """A line per field: name, type, versions, `null=` versions, `tag=` number and versions."""
    API_KEY: ClassVar[int] = -1
    VERSIONS: ClassVar[range] = range(0)
    FLEXIBLE_SINCE: ClassVar[int] = NEVER_FLEXIBLE

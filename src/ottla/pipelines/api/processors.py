"""Custom processors: the user's own code over the rows of a key, with state and timers.

This is what an application writes. How Spark runs it is in `stateful`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

Row = dict[str, Any]


class Context(Protocol):
    """What a processor may touch besides its row: the state of the row's key, and its timers."""

    @property
    def watermark_ms(self) -> int:
        """Event time that has passed: no record older than this will still be taken."""

    def get(self, name: str) -> Row | None:
        """The state called `name`, None when this key has none."""

    def put(self, name: str, value: Row) -> None: ...

    def delete(self, name: str) -> None: ...

    def set_timer(self, when_ms: int) -> None:
        """Ask for `on_timer` once event time has passed `when_ms`."""

    def cancel_timer(self, when_ms: int) -> None: ...


class Processor(ABC):
    """Subclass it, say what it returns and which state it keeps, and write `process`.

    `returns` and the values of `state` are schemas in Spark's DDL; each state is one row per key.
    Rows come in the order of their timestamps within what has arrived. One instance serves many
    keys in turn, so what belongs to a key lives in its state, never in an attribute.
    """

    returns: ClassVar[str]
    state: ClassVar[Mapping[str, str]] = {}

    @abstractmethod
    def process(self, key: str, row: Row, context: Context) -> Iterable[Row]:
        """Called for each row; what it yields goes on down the stream under the same key."""

    def on_timer(self, key: str, when_ms: int, context: Context) -> Iterable[Row]:
        """Called when a timer that was set for this key has come."""
        return ()


def uses_timers(processor: Processor) -> bool:
    return type(processor).on_timer is not Processor.on_timer

"""What became of a job that failed, and how long to wait before the next try. Pure.

Whoever is fenced must not come back by itself: another worker runs the connector by now. Brokers
that are away are waited for, as Connect's producers do. What was lost (a Python worker, an
executor, a JVM) is begun anew from what Kafka says, a few times in a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ottla.connect.definitions import Definitions

# Debezium's keys. Where a connector has them, they say how long what may pass is tried again.
MAX_RETRIES = "errors.max.retries"
RETRY_WAIT_MS = "retriable.restart.connector.wait.ms"
FIRST_PAUSE_S = 0.3
LOST_IN_A_ROW = 4


class Kind(Enum):
    FAILED = "failed"  # by the connector, a transform or a converter
    RETRIABLE = "retriable"  # as the connector says
    FENCED = "fenced"
    REFUSED = "refused"  # by a broker
    UNREACHABLE = "unreachable"
    LOST = "lost"


class JobFailed(Exception):
    """The text is a trace, as it is shown; `told` is what tasks told that did not fail."""

    def __init__(self, kind: Kind, trace: str, told: Sequence[Any] = ()) -> None:
        super().__init__(trace)
        self.kind = kind
        self.trace = trace
        self.told = told


@dataclass(slots=True)
class Patience:
    """How often and how long a run is begun again. `errors.retry.timeout` -1 is for ever."""

    retry_timeout_s: float
    delay_max_s: float
    retries: int | None = None  # -1: for ever; None: the time counts alone
    _since: float | None = None
    _tries: int = 0
    _losses: int = 0

    @classmethod
    def of(cls, config: Mapping[str, str], own: Definitions | None = None) -> "Patience":
        """`own`: the connector's keys."""
        defaults = {one.name: str(one.default) for one in (own.keys if own is not None else ())}
        if MAX_RETRIES in defaults and "errors.retry.timeout" not in config:
            said = defaults | dict(config)
            retries, wait_ms = (int(said[name]) for name in (MAX_RETRIES, RETRY_WAIT_MS))
            return cls(float("inf"), wait_ms / 1000, retries)
        timeout_ms = int(config.get("errors.retry.timeout", "0"))
        delay_ms = int(config.get("errors.retry.delay.max.ms", "60000"))
        return cls(float("inf") if timeout_ms < 0 else timeout_ms / 1000, delay_ms / 1000)

    def succeeded(self) -> None:
        self._since, self._tries, self._losses = None, 0, 0

    def pause_s(self, now: float, kind: Kind) -> float | None:
        """Before the next try; None: there is none."""
        match kind:
            case Kind.UNREACHABLE:
                return self._longer(now)
            case Kind.RETRIABLE:
                if self.retries is not None and 0 <= self.retries <= self._tries:
                    return None
                pause = self._longer(now)
                spent = now - (self._since or now)
                return pause if spent + pause <= self.retry_timeout_s else None
            case Kind.LOST:
                self._losses += 1
                return self._longer(now) if self._losses < LOST_IN_A_ROW else None
        return None

    def _longer(self, now: float) -> float:
        if self._since is None:
            self._since = now
        pause = min(
            FIRST_PAUSE_S * (1 << min(self._tries, 20)), max(self.delay_max_s, FIRST_PAUSE_S)
        )
        self._tries += 1
        return pause

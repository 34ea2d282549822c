"""When a stage that failed starts again, and what is said about its failure."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass

BACK_OFF_S = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
HEALTHY_AFTER_S = 120.0  # a stage that ran this long starts its back-off anew


@dataclass(slots=True)
class BackOff:
    attempts: int = 0
    due: float | None = None
    started: float = field(default_factory=time.monotonic)

    def failed(self, now: float) -> float:
        wait = BACK_OFF_S[min(self.attempts, len(BACK_OFF_S) - 1)]
        self.attempts += 1
        self.due = now + wait
        return wait

    def healthy(self, now: float) -> bool:
        if now - self.started > HEALTHY_AFTER_S:
            self.attempts = 0
        return True


def cause(error: BaseException) -> str:
    """The last sentence of a failure that names a reason, out of pages of stack."""
    text = str(error).split("=== Streaming Query ===")[0]
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _tells(line)]
    return (telling or lines or [type(error).__name__])[-1][:300]


def _tells(line: str) -> bool:
    head = line.split(":", 1)[0]
    return (
        ("Error" in head or "Exception" in head)
        and " at " not in head
        and not line.startswith(("File ", "at ", "Caused by: java.lang.Thread"))
    )

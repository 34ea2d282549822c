"""When a stage that failed starts again."""

import time
from dataclasses import dataclass, field

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

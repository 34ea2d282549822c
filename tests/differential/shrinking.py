"""The shortest sequence that still differs: steps are dropped, larger pieces first."""

import time
from collections.abc import Callable
from dataclasses import replace

from differential.comparing import Difference
from differential.steps import Sequence

Judge = Callable[[Sequence], Difference | None]


def shrink(found: Difference, judge: Judge, seconds: float = 60) -> Difference:
    """Of the same kind: another one, met on the way, is found by a seed of its own."""
    deadline = time.monotonic() + seconds
    best = cut(found)
    piece = max(len(best.sequence.moves) // 2, 1)
    while piece and time.monotonic() < deadline:
        at, dropped = 0, False
        while at < len(best.sequence.moves) - 1 and time.monotonic() < deadline:
            moves = best.sequence.moves
            tried = replace(best.sequence, moves=moves[:at] + moves[at + piece :])
            smaller = judge(tried) if tried.moves else None
            if smaller is not None and smaller.repeated and smaller.kind == best.kind:
                best, dropped = cut(smaller), True
            else:
                at += piece
        if not dropped or piece > 1:
            piece //= 2
    return best


def cut(found: Difference) -> Difference:
    """What comes after the step that differs explains nothing, unless that step was blocked."""
    step = found.sequence.moves[found.at]
    if getattr(step, "blocks", False):
        return found
    kept = found.at + 1
    sequence = replace(found.sequence, moves=found.sequence.moves[:kept])
    return replace(found, sequence=sequence, kafka=found.kafka[:kept], ottla=found.ottla[:kept])

"""The child in which logs are cleaned: pickled plans on standard input, on output the results.

Each result has its size in front. Damage is a result too: the parent has to know where it begins.
The child ends with its input, or with its parent.
"""

import ctypes
import gc
import os
import pickle
import signal
import sys
from struct import Struct

from ottla.log.cleaning import CleaningPlan, CleaningResult, clean
from ottla.log.reading import Damage

PR_SET_PDEATHSIG = 1
RESULT_SIZE = Struct(">I")


def main() -> None:
    # Without its parent it must not go on writing into a directory that another node may open.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(10)
    gc.disable()  # there are no cycles, and columns of millions of fields would be looked through
    while (plan := _next_plan()) is not None:
        result = pickle.dumps(_cleaned(plan))
        sys.stdout.buffer.write(RESULT_SIZE.pack(len(result)) + result)
        sys.stdout.buffer.flush()


def _next_plan() -> CleaningPlan | None:
    try:
        plan: CleaningPlan = pickle.load(sys.stdin.buffer)
    except EOFError:
        return None
    return plan


def _cleaned(plan: CleaningPlan) -> CleaningResult | Damage:
    try:
        return clean(plan)
    except Damage as damage:
        return damage


if __name__ == "__main__":
    main()

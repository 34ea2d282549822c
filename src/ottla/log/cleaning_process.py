"""The child in which a log is cleaned: a pickled plan on standard input, the result on output.

Damage is a result too: the parent has to know where it begins.
"""

import ctypes
import os
import pickle
import signal
import sys

from ottla.log.cleaning import CleaningPlan, CleaningResult, clean
from ottla.log.reading import Damage

PR_SET_PDEATHSIG = 1


def main() -> None:
    # Without its parent it must not go on writing into a directory that another node may open.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(10)
    plan: CleaningPlan = pickle.load(sys.stdin.buffer)
    result: CleaningResult | Damage
    try:
        result = clean(plan)
    except Damage as damage:
        result = damage
    sys.stdout.buffer.write(pickle.dumps(result))


if __name__ == "__main__":
    main()

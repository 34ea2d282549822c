"""Run as a program: PySpark's daemon with the worker's libraries loaded before it forks.

Spark forks a Python worker for every concurrent task, and each would spend seconds on the same
imports. Loading them here is safe as long as no library has started a thread, which is checked.
"""

import importlib
import os

LIBRARIES = ("pyarrow", "pandas", "pyspark.worker", "ottla.pipelines.engine.keyed")


def preload() -> None:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    for name in LIBRARIES:
        importlib.import_module(name)
        if _threads() > 1:
            return  # fork copies only the forking thread: whatever is left loads in the workers


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 2  # a system that cannot tell: load nothing more


if __name__ == "__main__":
    from pyspark.daemon import manager

    preload()
    manager()

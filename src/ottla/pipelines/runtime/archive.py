"""The class-data archive that halves Spark's start.

A process of its own (`ottla.cli.rehearsal`) runs applications as users do, so that the usual
classes are loaded, and lets the JVM write them down as it exits. Of each Java and each
place where Spark is installed the newest is kept: an archive has some 200 MB, and no other release
of Ottla than its maker's can use it.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ottla.pipelines.runtime.settings import archive_path, outdated_archives

TAKES_AT_MOST_S = 600
REHEARSAL = "ottla.cli.rehearsal"  # stands above: it needs a broker of its own


def make_in_background() -> "subprocess.Popen[bytes] | None":
    """Start making the class-data archive, once, at the lowest priority; None when it is there."""
    target = archive_path()
    lock = target.with_suffix(".making")
    if target.exists() or not hasattr(os, "nice"):
        return None
    with contextlib.suppress(FileNotFoundError):
        if time.time() - lock.stat().st_mtime > TAKES_AT_MOST_S:
            lock.unlink()  # whoever was making it has died
    try:
        lock.touch(exist_ok=False)
    except FileExistsError:
        return None
    return subprocess.Popen(
        [sys.executable, "-m", REHEARSAL, str(target), str(lock)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def stand_back(pid: int) -> None:
    """Let all others go first: Linux weighs whole sessions, and nice counts only within one."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text("19")


def make(target: Path, lock: Path, rehearse: Callable[[], None]) -> None:
    """`rehearse` starts a session, has it do the usual things, and ends it."""
    os.nice(19)
    stand_back(os.getpid())
    partial = target.with_suffix(f".{os.getpid()}")
    os.environ["OTTLA_MAKE_ARCHIVE"] = str(partial)
    try:
        rehearse()
        if partial.exists():
            partial.replace(target)
            for outdated in outdated_archives():  # a JVM that has it open keeps it until its end
                outdated.unlink(missing_ok=True)
    finally:
        lock.unlink(missing_ok=True)
        partial.unlink(missing_ok=True)

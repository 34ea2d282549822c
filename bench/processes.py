"""Memory and processor time of a broker with all its child processes, from /proc."""

import os
from pathlib import Path

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def tree(pid: int) -> list[int]:
    """The process and all below it."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def memory_mb(pid: int) -> float:
    """Proportional set size: pages that processes share are counted once."""
    return sum(map(pss_kb, tree(pid))) / 1024


def pss_kb(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))


def cpu_seconds(pid: int) -> float:
    return sum(map(ticks, tree(pid))) / CLOCK_TICKS


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    user, system, of_children, system_of_children = map(int, fields[11:15])
    return user + system + of_children + system_of_children

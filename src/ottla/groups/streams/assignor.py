"""Who gets which task: sticky, then even. Pure.

As Apache Kafka's "sticky" assignor deals: a task stays where it is active, or goes where it is a
standby, as long as that member has less than its share; the rest goes to the process with the
least load for each of its members. A process never has two copies of a task.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import ceil
from typing import NamedTuple

from ottla.groups.streams.group import Task, Tasks


class Worker(NamedTuple):
    """A member, and what it was to have so far."""

    id: str
    process_id: str
    had: Tasks = Tasks()


class Work(NamedTuple):
    """The tasks of a topology."""

    task_counts: Mapping[str, int]  # by subtopology
    stateful: Collection[str] = ()  # subtopologies whose tasks can have standbys
    standbys: int = 0  # copies of each

    def active(self) -> list[Task]:
        return [(name, index) for name, count in self.task_counts.items() for index in range(count)]

    def copied(self) -> list[Task]:
        return [task for task in self.active() if task[0] in self.stateful]


def assign(workers: Iterable[Worker], work: Work) -> dict[str, Tasks]:
    """Every task active once, and its standbys as far as there are processes for them."""
    assignment = _Assignment(sorted(workers), work)
    if assignment.counts:
        assignment.deal_active(work.active())
        assignment.deal_standbys(work.copied() if work.standbys else [], work.standbys)
    return assignment.result()


class _Share:
    """How many tasks a member may keep: the average, anew when a member has reached it."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.size = ceil(tasks / members) if members else 0

    def reached(self, count: int) -> None:
        if count == self.size:
            self._tasks -= count
            self._members -= 1
            self.size = ceil(self._tasks / self._members) if self._members else 0


class _Process:
    __slots__ = ("id", "members", "tasks", "total")

    def __init__(self, id: str) -> None:
        self.id = id
        self.members: list[str] = []
        self.tasks: set[Task] = set()
        self.total = 0

    @property
    def load(self) -> float:
        return self.total / len(self.members)


class _Assignment:
    def __init__(self, workers: Sequence[Worker], work: Work) -> None:
        self.counts = {worker.id: 0 for worker in workers}
        self._active: dict[str, set[Task]] = {worker.id: set() for worker in workers}
        self._standby: dict[str, set[Task]] = {worker.id: set() for worker in workers}
        self._processes: dict[str, _Process] = {}
        self._home: dict[str, _Process] = {}
        self._was_active: dict[Task, str] = {}
        self._was_standby: dict[Task, list[str]] = {}
        for worker in workers:
            process = self._processes.setdefault(worker.process_id, _Process(worker.process_id))
            process.members.append(worker.id)
            self._home[worker.id] = process
            self._was_active.update(dict.fromkeys(worker.had.active, worker.id))
            for task in worker.had.standby | worker.had.warmup:
                self._was_standby.setdefault(task, []).append(worker.id)
        all_active, copied = len(work.active()), len(work.copied())
        self._active_share = _Share(all_active, len(workers))
        self._share = _Share(all_active + copied * work.standbys, len(workers))

    def result(self) -> dict[str, Tasks]:
        return {
            member: Tasks(frozenset(self._active[member]), frozenset(self._standby[member]))
            for member in self.counts
        }

    # -- active tasks -------------------------------------------------------------------------

    def deal_active(self, tasks: Iterable[Task]) -> None:
        rest = self._keep(sorted(tasks, key=_by_partition))
        rest = self._promote(rest)
        queue = self._by_load()
        for task in sorted(rest):
            _, _, process = heappop(queue)
            self._give_active(self._least_loaded(process), task)
            heappush(queue, (process.load, process.id, process))

    def _keep(self, tasks: Iterable[Task]) -> list[Task]:
        rest: list[Task] = []
        for task in tasks:
            member = self._was_active.get(task)
            if member is not None and self.counts[member] < self._active_share.size:
                self._give_active(member, task)
            else:
                rest.append(task)
        return rest

    def _promote(self, tasks: Iterable[Task]) -> list[Task]:
        """Whoever has a copy of the state is quickest to take over."""
        rest: list[Task] = []
        for task in tasks:
            member = self._idlest(self._was_standby.get(task, ()))
            if member is not None and self.counts[member] < self._active_share.size:
                self._give_active(member, task)
            else:
                rest.append(task)
        return rest

    def _give_active(self, member: str, task: Task) -> None:
        self._active[member].add(task)
        self._active_share.reached(self._count(member, task))

    # -- standby tasks ------------------------------------------------------------------------

    def deal_standbys(self, tasks: Iterable[Task], copies: int) -> None:
        rest: list[tuple[Task, int]] = []
        for task in sorted(tasks, key=_by_partition, reverse=True):
            left = copies
            while left and (member := self._former(task)) is not None:
                self._give_standby(member, task)
                left -= 1
            if left:
                rest.append((task, left))
        queue = self._by_load()
        for task, left in sorted(rest, reverse=True):
            for _ in range(left):
                if not self._place_standby(task, queue):
                    break  # there are fewer processes than copies wanted

    def _former(self, task: Task) -> str | None:
        """Who had the task as active or standby and has room for it."""
        member = self._was_active.get(task)
        if member is not None and self._may_copy(member, task):
            return member
        away = [m for m in self._was_standby.get(task, ()) if task not in self._home[m].tasks]
        member = self._idlest(away)
        return member if member is not None and self._may_copy(member, task) else None

    def _may_copy(self, member: str, task: Task) -> bool:
        return task not in self._home[member].tasks and self.counts[member] < self._share.size

    def _place_standby(self, task: Task, queue: "list[tuple[float, str, _Process]]") -> bool:
        passed: list[tuple[float, str, _Process]] = []
        placed = False
        while queue and not placed:
            load, name, process = heappop(queue)
            if task not in process.tasks:
                self._give_standby(self._least_loaded(process), task)
                load, placed = process.load, True
            passed.append((load, name, process))
        for one in passed:
            heappush(queue, one)
        return placed

    def _give_standby(self, member: str, task: Task) -> None:
        self._standby[member].add(task)
        self._count(member, task)

    # -- loads --------------------------------------------------------------------------------

    def _count(self, member: str, task: Task) -> int:
        process = self._home[member]
        process.tasks.add(task)
        process.total += 1
        self.counts[member] += 1
        self._share.reached(self.counts[member])
        return self.counts[member]

    def _by_load(self) -> "list[tuple[float, str, _Process]]":
        queue = [(process.load, process.id, process) for process in self._processes.values()]
        heapify(queue)
        return queue

    def _least_loaded(self, process: _Process) -> str:
        return min(process.members, key=self.counts.__getitem__)

    def _idlest(self, members: Iterable[str]) -> str | None:
        return min(
            members,
            key=lambda member: (self._home[member].load, self.counts[member]),
            default=None,
        )


def _by_partition(task: Task) -> tuple[int, str]:
    """Tasks of one partition are dealt together: they tend to end up together."""
    return task[1], task[0]

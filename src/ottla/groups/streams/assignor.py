"""Who gets which task: sticky, then even. Pure.

As Apache Kafka's "sticky" assignor deals: a task stays where it is active, or goes where it is a
standby, as long as that member has less than its share; the rest goes to the process with the
least load for each of its members. A process never has two copies of a task. Between equals the
order of Kafka's collections decides.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from ottla.groups.java_order import PriorityQueue, hash_map_order
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
    known = {worker.id: worker for worker in workers}
    ordered = [known[worker_id] for worker_id in hash_map_order(sorted(known))]
    assignment = _Assignment(ordered, work)
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
    __slots__ = ("by_load", "members", "tasks", "total")

    def __init__(self) -> None:
        self.members: list[str] = []
        self.tasks: set[Task] = set()
        self.total = 0
        self.by_load: PriorityQueue[str] | None = None  # its members, until one gets a task else

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
            process = self._processes.setdefault(worker.process_id, _Process())
            process.members.append(worker.id)
            self._home[worker.id] = process
            self._was_active.update(dict.fromkeys(worker.had.active, worker.id))
            for task in worker.had.standby | worker.had.warmup:
                self._was_standby.setdefault(task, []).append(worker.id)
        order = hash_map_order(self._processes, capacity=len(workers))
        self._in_order = [self._processes[process_id] for process_id in order]
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
            process = queue.poll()
            self._give_least_loaded(process, task, self._give_active)
            queue.add(process)

    def _keep(self, tasks: Iterable[Task]) -> list[Task]:
        rest: list[Task] = []
        for task in tasks:
            member = self._was_active.get(task)
            if member is not None and self.counts[member] < self._active_share.size:
                self._give_active(member, task)
                self._home[member].by_load = None
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
                self._home[member].by_load = None
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
                self._home[member].by_load = None
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
        member = self._idlest(self._was_standby.get(task, ()), task)
        return member if member is not None and self._may_copy(member, task) else None

    def _may_copy(self, member: str, task: Task) -> bool:
        return task not in self._home[member].tasks and self.counts[member] < self._share.size

    def _place_standby(self, task: Task, queue: PriorityQueue[_Process]) -> bool:
        passed: list[_Process] = []
        placed = False
        while queue and not placed:
            process = queue.poll()
            if task not in process.tasks:
                self._give_least_loaded(process, task, self._give_standby)
                placed = True
            passed.append(process)
        for process in reversed(passed):
            queue.add(process)
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

    def _by_load(self) -> PriorityQueue[_Process]:
        return PriorityQueue(self._in_order, lambda process: process.load)

    def _give_least_loaded(
        self, process: _Process, task: Task, give: Callable[[str, Task], None]
    ) -> None:
        if len(process.members) == 1:
            give(process.members[0], task)
            return
        if process.by_load is None:
            in_order = hash_map_order(process.members)
            process.by_load = PriorityQueue(in_order, self.counts.__getitem__)
        member = process.by_load.poll()
        give(member, task)
        process.by_load.add(member)

    def _idlest(self, members: Sequence[str], task: Task | None = None) -> str | None:
        """The first, unless both another's process and itself have less to do."""
        if not members or (task is not None and task in self._home[members[0]].tasks):
            return None
        best = members[0]
        for member in members[1:]:
            home = self._home[member]
            if (
                home.load < self._home[best].load
                and (task is None or task not in home.tasks)
                and self.counts[member] < self.counts[best]
            ):
                best = member
        return best


def _by_partition(task: Task) -> tuple[int, str]:
    """Tasks of one partition are dealt together: they tend to end up together."""
    return task[1], task[0]

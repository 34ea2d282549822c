"""What must hold of every assignment of tasks, whatever was before."""

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from ottla.groups.streams.assignor import Work, Worker, assign
from ottla.groups.streams.group import Task, Tasks

works = st.builds(
    Work,
    task_counts=st.dictionaries(st.sampled_from("0123"), st.integers(1, 8), max_size=4),
    stateful=st.frozensets(st.sampled_from("0123")),
    standbys=st.integers(0, 3),
)
homes = st.lists(st.sampled_from("pqrs"), min_size=1, max_size=7)
"""The processes of members that have the names a, b, c, …"""


def workers(processes: list[str], had: dict[str, Tasks] | None = None) -> list[Worker]:
    names = [chr(ord("a") + index) for index in range(len(processes))]
    return [
        Worker(name, process, (had or {}).get(name, Tasks()))
        for name, process in zip(names, processes, strict=True)
    ]


def check(assigned: dict[str, Tasks], members: list[Worker], work: Work) -> None:
    active = [task for tasks in assigned.values() for task in tasks.active]
    assert sorted(active) == sorted(work.active()), "every task is active once"
    home = {member.id: member.process_id for member in members}
    processes = set(home.values())
    copies: dict[Task, list[str]] = {}
    for member, tasks in assigned.items():
        for task in (*tasks.active, *tasks.standby):
            copies.setdefault(task, []).append(home[member])
        assert not tasks.warmup
        assert all(task[0] in work.stateful for task in tasks.standby)
    for task, places in copies.items():
        assert len(places) == len(set(places)), "no process has a task twice"
        if task[0] in work.stateful:
            assert len(places) == min(1 + work.standbys, len(processes))


@given(homes, works)
def test_every_task_is_active_once_and_copied_as_often_as_there_are_processes(
    processes: list[str], work: Work
) -> None:
    members = workers(processes)
    check(assign(members, work), members, work)


@given(homes, works, st.data())
def test_it_holds_after_members_came_and_went(
    processes: list[str], work: Work, data: st.DataObject
) -> None:
    members = workers(processes)
    had = assign(members, work)
    left = data.draw(st.sets(st.sampled_from(sorted(had)), max_size=len(had)))
    later = [
        *(Worker(m.id, m.process_id, had[m.id]) for m in members if m.id not in left),
        *(Worker(f"new {n}", data.draw(st.sampled_from("pqrst"))) for n in range(2)),
    ]
    check(assign(later, work), later, work)


@given(homes, works)
def test_nothing_moves_when_nothing_changed(processes: list[str], work: Work) -> None:
    work = work._replace(standbys=0)
    had = assign(workers(processes), work)
    assert assign(workers(processes, had), work) == had


@given(st.integers(1, 7), works)
def test_active_tasks_are_even_over_processes_of_one_member(count: int, work: Work) -> None:
    members = [Worker(f"m{n}", f"p{n}") for n in range(count)]
    sizes = [len(tasks.active) for tasks in assign(members, work).values()]
    assert max(sizes) <= ceil(len(work.active()) / count)
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(2, 7), works)
def test_those_who_stay_keep_what_they_had(count: int, work: Work) -> None:
    work = work._replace(standbys=0)
    members = [Worker(f"m{n}", f"p{n}") for n in range(count)]
    had = assign(members, work)
    stay = [Worker(m.id, m.process_id, had[m.id]) for m in members[1:]]
    for member, tasks in assign(stay, work).items():
        assert tasks.active >= had[member].active


def test_a_task_goes_where_its_state_is() -> None:
    work = Work({"0": 3}, {"0"}, standbys=1)
    members = [Worker("a", "p"), Worker("b", "q"), Worker("c", "r")]
    had = assign(members, work)
    stay = [Worker(m.id, m.process_id, had[m.id]) for m in members[1:]]
    for member, tasks in assign(stay, work).items():
        for task in tasks.active - had[member].active:
            assert task in had[member].standby


def test_nobody_is_there() -> None:
    assert assign([], Work({"0": 3})) == {}

"""Which effects follow from what is asked and heard: the herder without its driver."""

from ottla.connect import records
from ottla.connect.herder import (
    FENCED_RETRY_S,
    Broken,
    Effect,
    Event,
    Forget,
    Halt,
    Herder,
    Launch,
    Led,
    Lost,
    Prepare,
    Prepared,
    Publish,
    Reported,
    Stopping,
    TaskRestart,
    Tell,
    Tick,
    Use,
)
from ottla.connect.records import PAUSED, STARTED, STOPPED, Status
from ottla.connect.runs.run import TaskState, TopicUsed
from ottla.connect.state import ClusterState

ONE = {"file": "a"}


class World:
    """Records that the herder's effects would write are applied at once."""

    def __init__(self) -> None:
        self.state = ClusterState()
        self.herder = Herder(self.state)
        self.now = 0.0

    def step(self, event: Event) -> list[Effect]:
        effects = self.herder.step(self.now, event)
        for effect in effects:
            self._apply(effect)
        return effects

    def write(self, *written: records.KeyAndValue) -> list[Effect]:
        effects: list[Effect] = []
        for key, value in written:
            change = self.state.config_record(key, value)
            if change is not None:
                effects += self.step(change)
        return effects

    def _apply(self, effect: Effect) -> None:
        match effect:
            case Publish(name=name, tasks=tasks):
                for record in (*records.tasks_of(name, tasks), records.commit(name, len(tasks))):
                    self.state.config_record(*record)
            case Tell(name=name, task=task, state=state, trace=trace):
                status = Status(state=state, worker_id="w", generation=1, trace=trace)
                told = (
                    records.connector_status(name, status)
                    if task is None
                    else records.task_status(name, task, status)
                )
                self.state.status_record(*told)
            case Forget(name=name, tasks=tasks):
                for index in tasks:
                    self.state.status_record(*records.task_status(name, index, None))

    def running(self, tasks: int = 1) -> "World":
        """A connector `a` at work, its run number 1."""
        self.step(Led())
        self.write(records.connector("a", {"name": "a"}))
        self.step(Prepared("a", 1, [ONE] * tasks))
        for task in range(tasks):
            self.step(Reported("a", 1, TaskState(task, "RUNNING")))
        return self


def test_a_new_connector_is_prepared_published_and_launched() -> None:
    world = World()
    assert world.step(Led()) == []
    assert world.write(records.connector("a", {"name": "a"})) == [Prepare("a", 1)]
    assert world.step(Prepared("a", 1, [ONE])) == [
        Tell("a", None, "RUNNING"),
        Publish("a", [ONE]),
        Launch("a", 1, 1),
    ]
    assert world.step(Reported("a", 1, TaskState(0, "RUNNING"))) == [Tell("a", 0, "RUNNING")]


def test_who_does_not_lead_does_nothing() -> None:
    world = World()
    assert world.write(records.connector("a", {"name": "a"})) == []
    assert world.step(Led()) == [Prepare("a", 1)]
    assert world.step(Lost()) == []
    assert world.step(Prepared("a", 1, [ONE])) == []


def test_a_paused_connector_keeps_its_tasks_and_has_no_run() -> None:
    world = World().running(tasks=2)
    assert world.write(records.target_state("a", PAUSED)) == [
        Halt("a"),
        Tell("a", None, "PAUSED"),
        Tell("a", 0, "PAUSED"),
        Tell("a", 1, "PAUSED"),
    ]
    (prepare,) = world.write(records.target_state("a", STARTED))
    assert isinstance(prepare, Prepare)
    assert world.step(Prepared("a", prepare.run, [ONE, ONE])) == [
        Tell("a", None, "RUNNING"),
        Launch("a", prepare.run, 2),
    ]


def test_a_stopped_connector_has_no_tasks() -> None:
    world = World().running()
    effects = world.write(records.commit("a", 0), records.target_state("a", STOPPED))
    assert effects == [Halt("a"), Tell("a", None, "STOPPED"), Forget("a", (0,))]


def test_reports_of_a_former_run_are_passed_over() -> None:
    world = World().running()
    world.write(records.target_state("a", PAUSED))
    assert world.step(Reported("a", 1, TaskState(0, "FAILED", "late"))) == []


def test_a_failed_task_stays_failed_through_a_pause_until_it_is_restarted() -> None:
    world = World().running()
    world.step(Reported("a", 1, TaskState(0, "FAILED", "no folder")))
    assert world.state.statuses.connectors["a"].state == "RUNNING"
    world.write(records.target_state("a", PAUSED))
    assert world.state.statuses.tasks["a"][0].state == "FAILED"
    (prepare,) = world.write(records.target_state("a", STARTED))
    assert isinstance(prepare, Prepare)
    assert world.step(Prepared("a", prepare.run, [ONE])) == [Tell("a", None, "RUNNING")]
    tell, prepare = world.step(TaskRestart("a", 0))
    assert tell == Tell("a", 0, "RESTARTING")
    assert isinstance(prepare, Prepare)
    assert Launch("a", prepare.run, 1) in world.step(Prepared("a", prepare.run, [ONE]))


def test_only_what_failed_is_restarted() -> None:
    world = World().running(tasks=2)
    restart = records.restart("a", include_tasks=True, only_failed=True)
    assert world.write(restart) == []
    world.step(Reported("a", 1, TaskState(1, "FAILED", "why")))
    effects = world.write(restart)
    assert effects[:2] == [Halt("a"), Tell("a", 1, "RESTARTING")]


def test_fewer_tasks_leave_no_status_behind() -> None:
    world = World().running(tasks=2)
    effects = world.write(records.connector("a", {"name": "a", "tasks.max": "1"}))
    assert effects[:2] == [Tell("a", None, "UNASSIGNED"), Halt("a")]
    (prepare,) = (one for one in effects if isinstance(one, Prepare))
    assert Forget("a", (1,)) in world.step(Prepared("a", prepare.run, [ONE]))


def test_a_deleted_connector_is_forgotten_before_it_is_halted() -> None:
    world = World().running()
    assert world.write(records.connector("a", None)) == [Forget("a", (0,), whole=True), Halt("a")]


def test_what_cannot_be_made_is_tried_again_where_that_is_asked_for() -> None:
    world = World()
    world.step(Led())
    world.write(records.connector("a", {"name": "a", "ottla.restart": "true"}))
    assert world.step(Broken("a", 1, "no database")) == [Tell("a", None, "FAILED", "no database")]
    assert world.herder.next_retry == 1.0
    world.now = 1.0
    (prepare,) = world.step(Tick())
    assert prepare == Prepare("a", 2)
    world.step(Broken("a", 2, "no database"))
    assert world.herder.next_retry == 3.0


def test_whoever_is_fenced_and_still_leads_begins_anew() -> None:
    """As by a worker that was cut off, and has not heard yet that another leads."""
    world = World().running()
    world.step(Reported("a", 1, TaskState(0, "FAILED", "fenced", fenced=True)))
    assert world.herder.next_retry == FENCED_RETRY_S
    world.now = FENCED_RETRY_S
    halt, prepare = world.step(Tick())
    assert halt == Halt("a")
    assert isinstance(prepare, Prepare)
    assert Launch("a", prepare.run, 1) in world.step(Prepared("a", prepare.run, [ONE]))


def test_whoever_is_fenced_and_leads_no_longer_does_not_come_back() -> None:
    world = World().running()
    world.step(Reported("a", 1, TaskState(0, "FAILED", "fenced", fenced=True)))
    world.step(Lost())
    assert world.herder.next_retry is None


def test_a_topic_is_told_once() -> None:
    world = World().running()
    used = Reported("a", 1, TopicUsed("lines"))
    assert world.step(used) == [Use("a", "lines")]
    assert world.step(used) == []


def test_a_clean_stop_leaves_everything_unassigned() -> None:
    world = World().running()
    assert world.step(Stopping()) == [
        Halt("a"),
        Tell("a", None, "UNASSIGNED"),
        Tell("a", 0, "UNASSIGNED"),
    ]

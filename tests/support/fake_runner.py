"""Runs that run nothing: a connector is RUNNING until its file cannot be, as a sink's folder."""

from collections.abc import Callable
from pathlib import Path

from ottla.connect.runs.run import Run, RunEvent, RunPlan, TaskState, TopicUsed


class FakeRun:
    def __init__(self, runner: "FakeRunner", plan: RunPlan) -> None:
        self._runner = runner
        self.plan = plan

    def stop(self) -> None:
        self._runner.running.pop(self.plan.name, None)


class FakeRunner:
    """`plans` are all that were ever run, in their order."""

    def __init__(self) -> None:
        self.plans: list[RunPlan] = []
        self.running: dict[str, FakeRun] = {}
        self.reports: dict[str, Callable[[RunEvent], None]] = {}
        self.prepared = False
        self.closed = False

    def run(self, plan: RunPlan, report: Callable[[RunEvent], None]) -> Run:
        assert plan.name not in self.running, f"{plan.name} runs twice"
        made = self.running[plan.name] = FakeRun(self, plan)
        self.plans.append(plan)
        self.reports[plan.name] = report
        folder = Path(plan.resolved.get("file") or "/tmp").parent
        for task in range(plan.tasks):
            if folder.is_dir():
                report(TaskState(task, "RUNNING"))
            else:
                report(TaskState(task, "FAILED", f"ConnectException: no folder {folder}"))
        if "topic" in plan.config:
            report(TopicUsed(plan.config["topic"]))
        return made

    def prepare(self) -> None:
        self.prepared = True

    def close(self) -> None:
        self.closed = True

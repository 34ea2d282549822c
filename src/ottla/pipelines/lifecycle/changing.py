"""New code over old state: what a start means for every stage, and the sentences about it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ottla.errors import OttlaError
from ottla.pipelines.api.definitions import Application
from ottla.pipelines.lifecycle.state import State
from ottla.pipelines.planning import manifest as manifests
from ottla.pipelines.planning.manifest import Manifest, StageRecord, Verdict
from ottla.pipelines.planning.plan import Plan, make_plan, renamed

MEANING = {
    "same": "same: goes on where it is",
    "compatible": "compatible: goes on where it is, the change counts from now on",
    "rebuild": "must be rebuilt",
    "new": "new: begins with the history of its topics",
    "removed": "removed: its state stays until ottla pipeline clean",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The plan of the new code, and what each of its stages is to the state that is there."""

    plan: Plan
    manifest: Manifest  # under the names that are to be used
    verdicts: tuple[Verdict, ...]

    @property
    def rebuilds(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.kind == "rebuild"]

    def names(self, generation: int) -> dict[str, str]:
        """What the topic of each stage is really called."""
        return {
            stage.sink.topic: renamed(self.manifest.stages[stage.name].topic, generation)
            for stage in self.plan.stages
            if not stage.only_dead
        }

    def checkpoints(self) -> dict[str, str]:
        return {name: record.checkpoint for name, record in self.manifest.stages.items()}


def plan_change(application: Application, old: Manifest | None) -> Change:
    before = manifests.before(old) if old is not None else None
    plan = make_plan(application, before=before)
    new = manifests.describe(plan)
    if old is None:
        verdicts = [Verdict(stage=name, kind="new", new=r) for name, r in new.stages.items()]
        return Change(plan=plan, manifest=new, verdicts=tuple(verdicts))
    judged = manifests.compare(old, new)
    return Change(plan=plan, manifest=manifests.settled(old, new, judged), verdicts=tuple(judged))


def what_ran(state: State, application: Application) -> Manifest | None:
    """The manifest of what is there, without the stages that never began a batch."""
    found = state.manifest()
    if found is None:
        return _numbered(state, application)
    there = set(state.checkpoints())
    return replace(
        found,
        stages={n: r for n, r in found.stages.items() if r.checkpoint in there},
        retired={n: r for n, r in found.retired.items() if r.checkpoint in there},
    )


def _numbered(state: State, application: Application) -> Manifest | None:
    """Take over checkpoints of a release that wrote no manifest and numbered what lies between.

    What its code was nobody knows; but what each checkpoint has read it tells itself.
    """
    there = set(state.checkpoints())
    if not there:
        return None
    plan = make_plan(application)
    new = manifests.describe(plan)
    stages: dict[str, StageRecord] = {}
    for name, record in new.stages.items():
        old = plan.numbered.get(name, name)
        if old in there:
            topic = old if record.internal else record.topic
            stages[name] = replace(record, topic=topic, checkpoint=old)
    strangers = there - {record.checkpoint for record in stages.values()}
    for name, record in stages.items():
        reads = [[renamed(plan.numbered.get(t, t), state.generation) if t in plan.numbered else t]
                 for t in record.reads]  # fmt: skip
        found = state.topics(record.checkpoint)
        if found and sorted(found) != sorted(reads):
            raise OttlaError(
                f"The checkpoint of {name} comes from a release that wrote no description of it, "
                f"and has read {_topics(found)}, where the code reads {_topics(reads)}. Run it "
                "once with the code that made it, or begin anew with --replay."
            )
    if strangers and set(plan.numbered.values()) - there:
        raise OttlaError(
            f"The checkpoints {', '.join(sorted(strangers))} come from a release that numbered "
            "its stages, and the code has changed since. Run it once with the code that made "
            "them, or begin anew with --replay."
        )
    return Manifest(application=application.name, stages=stages)


def refusal(change: Change) -> str | None:
    """Why this code must not run over this state, with the ways out; None when it may."""
    if not change.rebuilds:
        return None
    wrong = "; ".join(f"{v.stage}: {', '.join(v.changes)}" for v in change.rebuilds)
    one = len(change.rebuilds) == 1
    return (
        f"The state of {'a stage' if one else 'some stages'} does not fit the code any more: "
        f"{wrong}. Ways out: ottla run --upgrade rebuilds {'it' if one else 'them'} from history "
        "beside what runs and then switches; ottla run --replay writes everything anew beside "
        "what is there; or undo the change. ottla pipeline diff shows all stages."
    )


def in_words(change: Change) -> str:
    """`ottla pipeline diff`."""
    width = max((len(v.stage) for v in change.verdicts), default=0)
    lines = []
    for verdict in change.verdicts:
        lines.append(f"{verdict.stage:<{width}}  {MEANING[verdict.kind]}")
        lines += [f"{'':<{width}}    {text}" for text in verdict.changes]
    return "\n".join(lines)


def _topics(found: Iterable[Iterable[str]]) -> str:
    return ", ".join(sorted(topic for each in found for topic in each)) or "nothing"

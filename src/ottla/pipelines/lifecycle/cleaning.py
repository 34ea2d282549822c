"""What earlier versions of an application left behind: checkpoints and intermediate topics."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ottla.pipelines.api.definitions import Application
from ottla.pipelines.lifecycle.brokers import describe
from ottla.pipelines.lifecycle.changing import plan_change, what_ran
from ottla.pipelines.lifecycle.membership import Membership
from ottla.pipelines.lifecycle.state import State
from ottla.pipelines.lifecycle.upgrading import delete, rebuilding_topic
from ottla.pipelines.planning.plan import renamed


@dataclass(frozen=True, slots=True)
class Leftovers:
    checkpoints: tuple[str, ...]
    topics: tuple[str, ...]  # only intermediate ones: what the user named is the user's

    def __bool__(self) -> bool:
        return bool(self.checkpoints or self.topics)

    def sentences(self) -> Iterator[str]:
        for name in self.checkpoints:
            yield f"checkpoint {name}: no stage uses it"
        for name in self.topics:
            yield f"topic {name}: no stage writes it"


def find_leftovers(application: Application, state: State) -> Leftovers:
    """What neither the code nor what was last run needs; with both, an upgrade can go on."""
    old = what_ran(state, application)
    change = plan_change(application, old)
    records = list(change.manifest.stages.values())
    waiting = {verdict.stage for verdict in change.rebuilds}
    removed = {verdict.stage for verdict in change.verdicts if verdict.kind == "removed"}
    kept = [record for record in (old.stages.values() if old else ()) if record.name not in removed]
    checkpoints = {record.checkpoint for record in [*records, *kept]}
    topics = {renamed(r.topic, state.generation) for r in [*records, *kept]}
    topics |= {rebuilding_topic(r, state.generation) for r in records if r.name in waiting}
    own = state.own_topics()
    there = set(describe(application).partitions)
    return Leftovers(
        tuple(name for name in state.checkpoints() if name not in checkpoints),
        tuple(sorted(there & own - topics)),
    )


def remove(application: Application, state: State, found: Leftovers) -> None:
    """Delete it, unless a copy runs: what it needs is known only once it has stopped."""
    group = renamed(application.name, state.generation)
    Membership(application, (), print, group).claim(threading.Event())
    delete(application, list(found.topics))
    for name in found.checkpoints:
        state.remove(name)
    manifest = state.manifest()
    if manifest is not None:
        state.save(replace(manifest, retired={}))

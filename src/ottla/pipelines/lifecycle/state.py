"""Where an application keeps its checkpoints, and which generation of its outputs is current.

A generation is one pass over the history: a replay opens the next, with checkpoints and output
topics of its own. Checkpoints belong to one cluster, so that a new cluster starts afresh. Beside
them stands the manifest: what the application runs.
"""

import json
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ottla.pipelines.planning.manifest import Manifest
from ottla.pipelines.planning.plan import renamed
from ottla.pipelines.runtime.storage import HadoopPath, Storage

MANIFEST = "manifest.json"
TOPICS = "topics.json"
OFFSETS = "offsets"
COMMITS = "commits"


class Generations:
    """The generations of one application on one cluster."""

    def __init__(self, storage: Storage, application: str, cluster: str) -> None:
        self._storage = storage
        self._folder = f"{application}/{cluster}"

    def current(self) -> "State":
        said = self._storage.read(f"{self._folder}/generation")
        return self._state(int(said) if said else 1)

    def open_next(self) -> "State":
        """The generation of a replay: the first one if nothing has run yet."""
        fresh = not any(name.isdigit() for name in self._storage.list(self._folder))
        number = 1 if fresh else self.current().generation + 1
        self._storage.write(f"{self._folder}/generation", str(number))
        return self._state(number)

    def _state(self, number: int) -> "State":
        return State(self._storage, f"{self._folder}/{number}", number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch in a checkpoint: where each source ended, as Spark wrote it."""

    number: int
    ends: tuple[str, ...]
    conf: Mapping[str, str]
    watermark_ms: int
    open: bool  # whether a later one was begun and never ended


class State:
    """The checkpoints of one generation, and its manifest."""

    def __init__(self, storage: Storage, folder: str, generation: int) -> None:
        self.storage = storage
        self.folder = folder
        self.generation = generation

    def manifest(self) -> Manifest | None:
        text = self.storage.read(f"{self.folder}/{MANIFEST}")
        return Manifest.from_json(text) if text is not None else None

    def save(self, manifest: Manifest) -> None:
        """The manifest, whole or not at all; what it writes for itself is never forgotten."""
        records = manifest.known.values()
        self.note_topics(renamed(r.topic, self.generation) for r in records if r.internal)
        self.storage.write(f"{self.folder}/{MANIFEST}", manifest.to_json())

    def note_topics(self, topics: Iterable[str]) -> None:
        """Remember topics of the application's own, for the day when nobody uses them."""
        known = self.own_topics() | set(topics)
        self.storage.write(f"{self.folder}/{TOPICS}", json.dumps(sorted(known)))

    def own_topics(self) -> set[str]:
        return set(json.loads(self.storage.read(f"{self.folder}/{TOPICS}") or "[]"))

    def checkpoint(self, name: str) -> str:
        return self.storage.location(f"{self.folder}/{name}")

    def path(self) -> "Path | HadoopPath":
        return self.storage.path(self.folder)

    def checkpoints(self) -> list[str]:
        """The names of all that are there; no topic's name has a tilde, but a rebuilt stage's."""
        names = self.storage.list(self.folder)
        return [n for n in names if OFFSETS in self.storage.list(f"{self.folder}/{n}")]

    def remove(self, name: str) -> None:
        self.storage.remove(f"{self.folder}/{name}")

    def last_batch(self, checkpoint: str) -> "Batch | None":
        """The last batch that was committed; None before the first. Not while one is half done."""
        at = f"{self.folder}/{checkpoint}"
        begun = _numbers(self.storage.list(f"{at}/{OFFSETS}"))
        done = _numbers(self.storage.list(f"{at}/{COMMITS}"))
        number = max(set(begun) & set(done), default=None)
        if number is None:
            return None
        lines = (self.storage.read(f"{at}/{OFFSETS}/{number}") or "").splitlines()
        committed = (self.storage.read(f"{at}/{COMMITS}/{number}") or "").splitlines()
        said = json.loads(committed[-1]) if committed[-1].startswith("{") else {}
        return Batch(
            number=number,
            ends=tuple(lines[2:]),
            conf=json.loads(lines[1])["conf"],
            watermark_ms=said.get("nextBatchWatermarkMs", 0),
            open=begun[-1] > number,
        )

    def plan_batch(self, checkpoint: str, after: "Batch | None", ends: Iterable[str],
                   conf: Mapping[str, str]) -> None:  # fmt: skip
        """Say where the next batch ends, as Spark does before it runs one: it will end there."""
        number = 0 if after is None else after.number + 1
        head = {
            "batchWatermarkMs": 0 if after is None else after.watermark_ms,
            "batchTimestampMs": int(time.time() * 1000),
            "conf": dict(conf),
        }
        at = f"{self.folder}/{checkpoint}"
        if self.storage.read(f"{at}/metadata") is None:  # the query's id, without which none starts
            self.storage.write(f"{at}/metadata", json.dumps({"id": str(uuid.uuid4())}))
        text = "\n".join(("v1", json.dumps(head), *ends))
        self.storage.write(f"{at}/{OFFSETS}/{number}", text)

    def topics(self, checkpoint: str) -> list[list[str]]:
        """The topics that each source of a checkpoint had read when its last batch was begun."""
        at = f"{self.folder}/{checkpoint}/{OFFSETS}"
        begun = _numbers(self.storage.list(at))
        if not begun:
            return []
        text = self.storage.read(f"{at}/{begun[-1]}") or ""
        found = [json.loads(line) for line in text.splitlines()[2:] if line.startswith("{")]
        return [sorted(source) for source in found]


def _numbers(names: Iterable[str]) -> list[int]:
    return sorted(int(name) for name in names if name.isdigit())

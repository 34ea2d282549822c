"""Where an application keeps its checkpoints, and which generation of its outputs is current.

A generation is one pass over the history: a replay opens the next, with checkpoints and output
topics of its own. Checkpoints belong to one cluster, so that a new cluster starts afresh. Beside
them stands the manifest: what the application runs.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ottla.pipelines.manifest import Manifest
from ottla.pipelines.storage import Storage

MANIFEST = "manifest.json"
TOPICS = "topics.json"
OFFSETS = "offsets"
COMMITS = "commits"


def state_folder() -> Path:
    """`$OTTLA_STATE`, else the user's folder for state."""
    if chosen := os.environ.get("OTTLA_STATE"):
        return Path(chosen)
    home = os.environ.get("XDG_STATE_HOME")
    return (Path(home) if home else Path.home() / ".local" / "state") / "ottla"


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
        self.note_topics(record.topic for record in records if record.internal)
        self.storage.write(f"{self.folder}/{MANIFEST}", manifest.to_json())

    def note_topics(self, topics: Iterable[str]) -> None:
        """Remember topics of the application's own, for the day when nobody uses them."""
        known = self.own_topics() | set(topics)
        self.storage.write(f"{self.folder}/{TOPICS}", json.dumps(sorted(known)))

    def own_topics(self) -> set[str]:
        return set(json.loads(self.storage.read(f"{self.folder}/{TOPICS}") or "[]"))

    def checkpoint(self, name: str) -> str:
        return self.storage.location(f"{self.folder}/{name}")

    def checkpoints(self) -> list[str]:
        """The names of all that are there; no topic's name has a tilde, but a rebuilt stage's."""
        names = self.storage.list(self.folder)
        return [n for n in names if OFFSETS in self.storage.list(f"{self.folder}/{n}")]

    def remove(self, name: str) -> None:
        self.storage.remove(f"{self.folder}/{name}")

    def offsets(self, checkpoint: str) -> "tuple[list[dict[str, Any]], bool]":
        """Where the last committed batch ended, by source; and whether a later one was begun."""
        at = f"{self.folder}/{checkpoint}"
        begun = _numbers(self.storage.list(f"{at}/{OFFSETS}"))
        done = _numbers(self.storage.list(f"{at}/{COMMITS}"))
        both = [number for number in begun if number in set(done)]
        if not both:
            return [], bool(begun)
        text = self.storage.read(f"{at}/{OFFSETS}/{both[-1]}") or ""
        return [json.loads(line) for line in text.splitlines()[2:]], begun[-1] > both[-1]

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

"""What the records of the three topics say together. Pure: told of records in their order.

Keys that are not known here are passed over, and stay in their topics.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ottla.connect.records import STARTED, STOPPED, TARGETS, Properties, Status

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConfigChanged:
    name: str


@dataclass(frozen=True, slots=True)
class Removed:
    name: str


@dataclass(frozen=True, slots=True)
class TargetChanged:
    name: str


@dataclass(frozen=True, slots=True)
class RestartAsked:
    name: str
    include_tasks: bool
    only_failed: bool


@dataclass(frozen=True, slots=True)
class LoggerSet:
    logger: str
    level: str


Change = ConfigChanged | Removed | TargetChanged | RestartAsked | LoggerSet


@dataclass(slots=True)
class Connector:
    config: dict[str, str]
    tasks: list[dict[str, str]] = field(default_factory=list)  # committed
    applied: dict[str, str] | None = None  # the configuration that the tasks were made of


class Configs:
    """The topic of configurations."""

    def __init__(self) -> None:
        self.connectors: dict[str, Connector] = {}
        self._targets: dict[str, str] = {}
        self.fencing: dict[str, int] = {}  # transactional ids that may be in use
        self._deferred: dict[str, dict[int, dict[str, str]]] = {}  # tasks that wait for a commit

    def target(self, name: str) -> str:
        return self._targets.get(name, STARTED)

    def apply(self, key: str, value: Any) -> Change | None:
        for prefix, apply in (
            ("target-state-", self._target_state),
            ("connector-", self._connector),
            ("tasks-fencing-", self._fencing),
            ("task-", self._task),
            ("commit-", self._commit),
            ("restart-connector-", self._restart),
            ("logger-cluster-", self._logger),
        ):
            if key.startswith(prefix):
                return apply(key.removeprefix(prefix), value)
        return None

    def _target_state(self, name: str, value: Any) -> Change | None:
        before = self.target(name)
        if value is None:
            self._targets.pop(name, None)
            return None
        state = value.get("state.v2") or value.get("state")
        if state not in TARGETS:
            raise ValueError(f"{state} is no state of a connector")
        self._targets[name] = state
        if name not in self.connectors or state == before:
            return None
        return TargetChanged(name)

    def _connector(self, name: str, value: Any) -> Change | None:
        if value is None:
            self._deferred.pop(name, None)
            return Removed(name) if self.connectors.pop(name, None) is not None else None
        config = {key: said for key, said in value["properties"].items() if said is not None}
        if name in self.connectors:
            self.connectors[name].config = config
        else:
            self.connectors[name] = Connector(config)
        return ConfigChanged(name)

    def _task(self, name: str, value: Any) -> Change | None:
        connector, _, index = name.rpartition("-")
        if connector and index.isdecimal() and value is not None:
            self._deferred.setdefault(connector, {})[int(index)] = dict(value["properties"])
        return None

    def _commit(self, name: str, value: Any) -> Change | None:
        """Complete sets only: compaction may have taken tasks of an earlier commit."""
        waiting = self._deferred.pop(name, {})
        connector = self.connectors.get(name)
        if connector is None or value is None:
            return None
        known = dict(enumerate(connector.tasks)) | waiting
        wanted = range(int(value["tasks"]))
        if all(index in known for index in wanted):
            connector.tasks = [known[index] for index in wanted]
            connector.applied = dict(connector.config)
        return None

    def _fencing(self, name: str, value: Any) -> Change | None:
        if value is None:
            self.fencing.pop(name, None)
        else:
            self.fencing[name] = int(value["task-count"])
        return None

    def _restart(self, name: str, value: Any) -> Change | None:
        if value is None or name not in self.connectors:
            return None
        return RestartAsked(name, bool(value.get("include-tasks")), bool(value.get("only-failed")))

    def _logger(self, name: str, value: Any) -> Change | None:
        return None if value is None else LoggerSet(name, str(value["level"]))


class Statuses:
    """The topic of statuses."""

    def __init__(self) -> None:
        self.connectors: dict[str, Status] = {}
        self.tasks: dict[str, dict[int, Status]] = {}
        self.topics: dict[str, dict[str, None]] = {}  # used by a connector, in their order

    def apply(self, key: str, value: Any) -> None:
        if key.startswith("status-connector-"):
            _keep(self.connectors, key.removeprefix("status-connector-"), _status(value))
        elif key.startswith("status-task-"):
            name, _, index = key.removeprefix("status-task-").rpartition("-")
            if name and index.isdecimal():
                _keep(self.tasks.setdefault(name, {}), int(index), _status(value))
        elif key.startswith("status-topic-"):
            topic, _, name = key.removeprefix("status-topic-").partition(":connector-")
            _keep(self.topics.setdefault(name, {}), topic, value, None)

    def of_tasks(self, name: str) -> Iterator[tuple[int, Status]]:
        yield from sorted(self.tasks.get(name, {}).items())


def _keep(held: dict[Any, Any], key: Any, value: Any, *kept: Any) -> None:
    """`kept` is held instead of a value that only says that there is one."""
    if value is None:
        held.pop(key, None)
    else:
        held[key] = kept[0] if kept else value


def _status(value: Any) -> Status | None:
    if value is None:
        return None
    return Status(
        state=str(value["state"]),
        worker_id=str(value["worker_id"]),
        generation=int(value["generation"]),
        trace=value.get("trace"),
        version=value.get("version"),
    )


class Offsets:
    """The topic of source offsets, by the bytes of their keys."""

    def __init__(self) -> None:
        self._held: dict[bytes, tuple[str, Mapping[str, Any] | None, Any]] = {}

    def apply(self, key: bytes, value: Any) -> None:
        if value is None:
            self._held.pop(key, None)
            return
        name, partition = msgspec.json.decode(key)
        self._held[key] = (str(name), partition, value)

    def of(self, name: str) -> list[tuple[Mapping[str, Any] | None, Any]]:
        """Source partitions and offsets of a connector."""
        return [(place, at) for of, place, at in self._held.values() if of == name]


class ClusterState:
    """All three; each is made anew when its topic is read anew."""

    def __init__(self) -> None:
        self.configs, self.statuses, self.offsets = Configs(), Statuses(), Offsets()

    def config_record(self, key: bytes | None, value: bytes | None) -> Change | None:
        try:
            return self.configs.apply((key or b"").decode(), _decoded(value))
        except _UNREADABLE as error:
            _passed_over(key, error)
            return None

    def status_record(self, key: bytes | None, value: bytes | None) -> None:
        try:
            self.statuses.apply((key or b"").decode(), _decoded(value))
        except _UNREADABLE as error:
            _passed_over(key, error)

    def offset_record(self, key: bytes | None, value: bytes | None) -> None:
        try:
            self.offsets.apply(key or b"", _decoded(value))
        except _UNREADABLE as error:
            _passed_over(key, error)

    def is_stopped(self, name: str) -> bool:
        return self.configs.target(name) == STOPPED

    def is_started(self, name: str) -> bool:
        return self.configs.target(name) == STARTED

    def config(self, name: str) -> Properties | None:
        found = self.configs.connectors.get(name)
        return None if found is None else found.config


_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)


def _decoded(value: bytes | None) -> Any:
    return None if value is None else msgspec.json.decode(value)


def _passed_over(key: bytes | None, error: Exception) -> None:
    _log.error("the record of %r cannot be read and is passed over: %s", key, error)

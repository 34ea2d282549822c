"""`/admin/loggers`: how much is said, by whom; here, or in every worker of the cluster.

Loggers are Python's. Who knows Connect says Java's names: those that have a counterpart here mean
it, so `org.apache.kafka.connect` sets `ottla.connect` and all below.
"""

import logging
from collections.abc import Iterator
from typing import Any

from ottla.connect import records
from ottla.connect.rest.bodies import bad_request, not_found, read_config, read_object
from ottla.connect.worker import Worker
from ottla.ports.clock import SYSTEM_CLOCK
from ottla.serving.http import Reply
from ottla.serving.routing import Asked, Route

_LEVELS = {
    "OFF": logging.CRITICAL + 10,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": 5,
    "ALL": 1,
}


# Java's packages and classes, the longer ones first: what says the same here
_COUNTERPARTS = (
    ("org.apache.kafka.connect.runtime.rest", "ottla.connect.rest"),
    ("org.apache.kafka.connect.runtime.distributed", "ottla.connect.herder"),
    ("org.apache.kafka.connect.runtime", "ottla.connect.runs"),
    ("org.apache.kafka.connect.storage", "ottla.connect.store"),
    ("org.apache.kafka.connect.transforms", "ottla.connect.transforms"),
    ("org.apache.kafka.connect.json", "ottla.connect.converters"),
    ("org.apache.kafka.connect.converters", "ottla.connect.converters"),
    ("org.apache.kafka.connect.file", "ottla.connect.connectors"),
    ("org.apache.kafka.connect", "ottla.connect"),
    ("org.apache.kafka.clients", "ottla.client"),
    ("io.debezium.connector.postgresql", "ottla.connect.connectors.postgres_cdc"),
    ("io.debezium.connector.mysql", "ottla.connect.connectors.mysql_cdc"),
    ("io.debezium", "ottla.connect.connectors"),
    ("io.aiven.connect.jdbc", "ottla.connect.connectors.jdbc"),
    ("io.confluent.connect.jdbc", "ottla.connect.connectors.jdbc"),
    ("io.confluent.connect.elasticsearch", "ottla.connect.connectors.elasticsearch"),
    ("io.confluent.connect.avro", "ottla.connect.converters"),
    ("io.confluent.connect", "ottla.connect.connectors"),
)


def counterpart(name: str) -> str | None:
    """The logger here that a name of Java's means."""
    for theirs, ours in _COUNTERPARTS:
        if name == theirs or name.startswith(f"{theirs}."):
            return ours
    return None


class Loggers:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._modified: dict[str, int] = {}
        worker.on_logger = self._heard

    def routes(self) -> Iterator[Route]:
        yield Route("GET", "/admin/loggers", self.listed)
        yield Route("GET", "/admin/loggers/{logger}", self.shown)
        yield Route("PUT", "/admin/loggers/{logger}", self.set)

    def is_for_all(self, asked: Asked) -> bool:
        """Whether every worker is meant: then the leader writes it down."""
        is_set = asked.method == "PUT" and "logger" in asked.named
        return is_set and (asked.text("scope") or "").lower() == "cluster"

    async def listed(self, asked: Asked) -> Any:
        known = logging.root.manager.loggerDict
        names = sorted(
            name
            for name, one in known.items()
            if isinstance(one, logging.Logger) and one.level != logging.NOTSET
        )
        return {"root": self._fields("root"), **{name: self._fields(name) for name in names}}

    async def shown(self, asked: Asked) -> Any:
        name = asked.named["logger"]
        meant = counterpart(name)
        if name in ("root", *logging.root.manager.loggerDict):
            meant = name
        if meant is None:
            raise not_found(f"Logger {name} not found.")
        return self._fields(meant)

    async def set(self, asked: Asked) -> Any:
        level = read_config(read_object(asked.body)).get("level")
        if level is None:
            raise bad_request("Desired 'level' parameter was not specified in request.")
        if level.upper() not in _LEVELS:
            raise not_found(f"invalid log level '{level}'.")
        name = asked.named["logger"]
        if self.is_for_all(asked):
            await self._worker.write_configs([records.logger(name, level.upper())])
            return Reply(204)
        return self._set(name, level.upper())

    def _heard(self, name: str, level: str) -> None:
        """Of another worker, or of this one."""
        if level in _LEVELS:
            self._set(name, level)

    def _set(self, name: str, level: str) -> list[str]:
        """The loggers that it meant."""
        meant = {name, counterpart(name) or name}
        prefixes = tuple(f"{one}." for one in meant)
        below = [
            one
            for one in logging.root.manager.loggerDict
            if name == "root" or one in meant or one.startswith(prefixes)
        ]
        affected = sorted(meant.union(below))
        for one in affected:
            logging.getLogger(None if one == "root" else one).setLevel(_LEVELS[level])
            self._modified[one] = SYSTEM_CLOCK.wall_ms()
        return affected

    def _fields(self, name: str) -> dict[str, Any]:
        found = logging.getLogger(None if name == "root" else name).getEffectiveLevel()
        level = next((said for said, number in _LEVELS.items() if found >= number), "ALL")
        return {"level": level, "last_modified": self._modified.get(name)}

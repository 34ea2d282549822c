"""The mysql-cdc connector run directly, with a schema history in memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ottla.connect.connector import Place
from ottla.connect.connectors.mysql_cdc.settings import settings
from ottla.connect.connectors.mysql_cdc.source import MySqlCdc
from support.cdc import DirectRun, Shown, without_bookkeeping
from support.mariadb import MariaDb


@dataclass
class MemoryHistory:
    kept: list[Mapping[str, Any]] = field(default_factory=list)

    def documents(self) -> Iterable[Mapping[str, Any]]:
        return list(self.kept)

    def append(self, documents: Iterable[Mapping[str, Any]]) -> None:
        self.kept += documents


def config(mariadb: MariaDb, **keys: str) -> dict[str, str]:
    """Underscores of names stand for dots."""
    return {
        "name": "cdc",
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(mariadb.port),
        "database.user": mariadb.user,
        "database.password": mariadb.password,
        "database.include.list": mariadb.name,
        "topic.prefix": "shop",
        "schema.history.internal.kafka.topic": "history",
        "schema.history.internal.kafka.bootstrap.servers": "127.0.0.1:1",
        **{name.replace("_", "."): value for name, value in keys.items()},
    }


def direct_run(
    config: Mapping[str, str], history: MemoryHistory, offset: Place | None = None
) -> DirectRun:
    connector = MySqlCdc(settings(config), config, "mariadb", history)
    return DirectRun(config, offset, connector)


def without_positions(record: Shown) -> Shown:
    """Positions, GTIDs and times differ between two runs of the same statements."""
    shown = without_bookkeeping(record)
    if record["topic"].endswith(".transaction"):
        shown["key"] = {**record["key"], "payload": {"id": "-"}}
        shown["value"] = {
            **record["value"],
            "payload": record["value"]["payload"] | {"id": "-", "ts_ms": "-"},
        }
    elif shown["value"] is not None:
        payload = dict(shown["value"]["payload"])
        source = payload["source"] | dict.fromkeys(("file", "pos", "gtid"), "-")
        payload["source"] = source
        if payload.get("transaction"):
            payload["transaction"] = payload["transaction"] | {"id": "-"}
        shown["value"] = {**shown["value"], "payload": payload}
    return shown

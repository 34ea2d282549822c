"""jdbc-source: tables, or a query, read again and again for what is new.

The connector plans in the worker: it asks how far a table can be read, and hands out that range as
a slice. One table's plans are in `planning`, statements in `ranges`.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ottla.connect.connector import Config, ConnectError, Place, Progress, RetriableError, Slice
from ottla.connect.connectors.jdbc import source_keys
from ottla.connect.connectors.jdbc.database import Database, database
from ottla.connect.connectors.jdbc.dialects.dialect import Connection, TableId
from ottla.connect.connectors.jdbc.offsets import Offset, check_offset, partition, read_offset
from ottla.connect.connectors.jdbc.planning import Reader, Settings, settings
from ottla.connect.connectors.jdbc.tables import Selection, grouped, selection
from ottla.connect.data import Schema
from ottla.connect.definitions import InvalidConfig

__all__ = ["DEFINITIONS", "check_offset", "make"]

DEFINITIONS = source_keys.DEFINITIONS
STOP_S = 5.0
LOG = logging.getLogger(__name__)


def make(config: Config, alias: str) -> "JdbcSource":
    values = DEFINITIONS.parse(config)
    return JdbcSource(
        dict(config), values, database(values, "source"), selection(values), settings(values)
    )


@dataclass(slots=True)
class _Read:
    """One table's, or the query's."""

    reader: Reader
    offset: Offset
    task: int
    due: float = 0.0
    planned: Offset | None = None  # the end of the slice that is handed out


class JdbcSource:
    def __init__(
        self,
        config: dict[str, str],
        values: dict[str, Any],
        database: Database,
        selection: Selection,
        settings: Settings,
    ) -> None:
        self._config = config
        self._values = values
        self._database = database
        self._selection = selection
        self._settings = settings
        self._tasks = 1
        self._connection: Connection | None = None
        self._stored: Callable[[Place], Place | None] = lambda place: None
        self._reads: dict[TableId | None, _Read] = {}
        self._look_due = 0.0
        self._stopped = threading.Event()
        self._polling = threading.Lock()

    def task_configs(self, maximum: int) -> Sequence[Config]:
        """A query is one task's; tables are spread, with neighbours together."""
        if self._settings.query:
            self._tasks = 1
            return [{**self._config, "tables": "", "tables.fetched": "true"}]
        groups = grouped(self._tables(), maximum)
        self._tasks = max(len(groups), 1)
        named = [",".join(self._database.name(one) for one in group) for group in groups] or [""]
        return [{**self._config, "tables": one, "tables.fetched": "true"} for one in named]

    def record_schemas(self) -> dict[str, Schema]:
        """What records look like by now, by topic; for who asks before anything is read."""
        tables: list[TableId | None] = [None] if self._settings.query else [*self._tables()]
        with self._connected() as connection:
            found = [Reader(self._database, self._settings, one) for one in tables]
            schemas = dict(one.record_schema(connection) for one in found)
        self._disconnect()
        return schemas

    def start(self, stored: Callable[[Place], Place | None]) -> None:
        self._stored = stored
        self._look()

    def poll(self, timeout_s: float) -> Sequence[Slice]:
        with self._polling:
            return self._poll(timeout_s)

    def _poll(self, timeout_s: float) -> Sequence[Slice]:
        deadline = time.monotonic() + timeout_s
        while not self._stopped.is_set():
            if time.monotonic() >= self._look_due:
                self._look()
            slices = self._due()
            now = time.monotonic()
            if slices or now >= deadline:
                return slices
            next_due = min((one.due for one in self._reads.values()), default=deadline)
            self._stopped.wait(max(0.0, min(deadline, next_due, self._look_due) - now))
        return []

    def committed(self, progress: Sequence[Progress]) -> None:
        for one in self._reads.values():
            if one.planned is not None:
                one.offset, one.planned = one.planned, None

    def stop(self) -> None:
        self._stopped.set()
        if self._polling.acquire(timeout=STOP_S):  # a statement may hang; it ends with its process
            self._disconnect()
            self._polling.release()

    def try_out(self) -> Mapping[str, Sequence[str]]:
        """Tables that might be named, whichever are named now."""
        self._database.try_out()
        try:
            found = self._found()
        except ConnectError as error:
            raise InvalidConfig({"connection.url": [str(error)]}) from None
        finally:
            self._disconnect()
        return {"table.whitelist": [] if self._settings.query else [str(one) for one in found]}

    # Which tables there are

    def _tables(self) -> list[TableId]:
        return self._selection.of(self._found())

    def _found(self) -> list[TableId]:
        values = self._values
        with self._connected() as connection:
            return self._database.dialect.tables(
                connection,
                values["catalog.pattern"],
                values["schema.pattern"],
                {one.upper() for one in values["table.types"]},
            )

    def _look(self) -> None:
        """Tables that are new begin to be read, those that are gone no longer are."""
        self._look_due = time.monotonic() + self._values["table.poll.interval.ms"] / 1000
        if self._settings.query:
            if None not in self._reads:
                self._add(None, 0)
            return
        tables = self._tables()
        for gone in [one for one in self._reads if one is not None and one not in tables]:
            if self._selection.names(gone):
                raise ConnectError(f"Table {gone}, which table.whitelist names, is gone")
            LOG.warning("Table %s is gone: it is no longer read", gone)
            del self._reads[gone]
        for task, group in enumerate(grouped(tables, self._tasks)):
            for one in group:
                if one in self._reads:
                    self._reads[one].task = task
                else:
                    self._add(one, task)

    def _add(self, table: TableId | None, task: int) -> None:
        reader = Reader(self._database, self._settings, table)
        with self._connected() as connection:
            said = self._stored(partition(table)) if self._settings.counts else None
            offset = read_offset(said) if said else reader.beginning(connection)
        self._reads[table] = _Read(reader, offset, task)

    # What is read next

    def _due(self) -> list[Slice]:
        slices: list[Slice] = []
        for table in list(self._reads):
            one = self._reads[table]
            now = time.monotonic()
            if one.due > now:
                continue
            try:
                with self._connected() as connection:
                    plan = one.reader.plan(connection, one.offset, one.task)
            except ConnectError as error:
                lasting = not isinstance(error, RetriableError)
                if not lasting or table is None or table in self._tables():
                    raise
                self._look()  # it is gone, and somebody may have to be told
                continue
            one.due = now + plan.again_in_s
            if plan.slice is not None:
                one.planned = plan.upto
                slices.append(plan.slice)
        return slices

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """The worker's own connection; one that failed is not used again."""
        if self._connection is None:
            self._connection = self._database.connect()
        try:
            with self._database.speaking():
                yield self._connection
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be why we are here
                connection.close()

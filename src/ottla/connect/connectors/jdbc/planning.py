"""How far one table can be read now: what is new, and whether all of it is there yet.

A row's number or time is taken before it is committed. Where the database tells of open
transactions, a range is handed out only when nobody who might still put a row into it is left.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ottla.connect.connector import ConnectError, Progress
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import Column, Connection, TableId, fetched
from ottla.connect.connectors.jdbc.offsets import Offset, partition
from ottla.connect.connectors.jdbc.ranges import Relation
from ottla.connect.connectors.jdbc.reading import TIMESTAMP
from ottla.connect.connectors.jdbc.slices import TableSlice
from ottla.connect.data import Field, Schema, Type
from ottla.connect.definitions import InvalidConfig

LOG = logging.getLogger(__name__)
SLICE_ROWS = 20_000  # of one transaction in Kafka, and of one task's work
WAIT_S = 0.1  # between two looks at the transactions that are waited for
TELL_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What of the source's keys concerns one table."""

    query: str
    by_number: bool
    by_time: bool
    incrementing: str
    timestamps: tuple[str, ...]
    incrementing_initial: int | None
    timestamp_initial: int | None
    non_null: bool
    delay: timedelta
    wait: bool
    numeric_mapping: str
    topic_prefix: str
    suffix: str
    poll_interval_s: float
    fetch_rows: int

    @property
    def counts(self) -> bool:
        return self.by_number or self.by_time


def settings(values: Mapping[str, Any]) -> Settings:
    """InvalidConfig where the mode lacks its columns."""
    mode, query = values["mode"], values["query"].strip().rstrip(";")
    by_time, by_number = "timestamp" in mode, "incrementing" in mode
    errors: dict[str, list[str]] = {}
    if by_time and not values["timestamp.column.name"]:
        errors["timestamp.column.name"] = [f"mode {mode} needs timestamp.column.name"]
    if by_number and not values["incrementing.column.name"] and (query or by_time):
        errors["incrementing.column.name"] = [f"mode {mode} needs incrementing.column.name here"]
    if errors:
        raise InvalidConfig(errors)
    older = "precision_only" if values["numeric.precision.mapping"] else "none"
    return Settings(
        query=query,
        by_number=by_number,
        by_time=by_time,
        incrementing=values["incrementing.column.name"],
        timestamps=tuple(values["timestamp.column.name"]),
        incrementing_initial=values["incrementing.initial"],
        timestamp_initial=values["timestamp.initial"],
        non_null=values["validate.non.null"],
        delay=timedelta(milliseconds=values["timestamp.delay.interval.ms"]),
        wait=values["ottla.wait.for.open.transactions"],
        numeric_mapping=values["numeric.mapping"] or older,
        topic_prefix=values["topic.prefix"],
        suffix=values["query.suffix"],
        poll_interval_s=values["poll.interval.ms"] / 1000,
        fetch_rows=max(values["batch.max.rows"], 1000),
    )


@dataclass(frozen=True, slots=True)
class Plan:
    again_in_s: float
    slice: TableSlice | None = None
    upto: Offset | None = None


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A range whose rows are not all there yet."""

    upto: Offset
    full: bool
    writers: frozenset[str]
    since: float


class Reader:
    def __init__(self, database: Database, settings: Settings, table: TableId | None) -> None:
        self._database = database
        self._settings = settings
        self._table = table
        self._waiting: _Waiting | None = None
        self._told = 0.0
        waits = settings.wait and settings.counts
        self._transactions = database.dialect.open_transactions if waits else None

    def beginning(self, connection: Connection) -> Offset:
        """Where nothing is stored."""
        said, at = self._settings.timestamp_initial, None
        if self._settings.by_time and said is not None:
            at = (
                self._database.dialect.now(connection)
                if said == -1
                else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=said)
            )
        return Offset(at, self._settings.incrementing_initial if self._settings.by_number else None)

    def plan(self, connection: Connection, offset: Offset, task: int) -> Plan:
        relation = self._relation(connection)
        if not relation.counts:
            made = self._slice(relation, offset, None, task)
            return Plan(self._settings.poll_interval_s, made)
        found = self._settled(connection, relation, offset)
        if found is None:
            return Plan(WAIT_S if self._waiting else self._settings.poll_interval_s)
        upto, full = found
        made = self._slice(relation, offset, upto, task)
        return Plan(0.0 if full else self._settings.poll_interval_s, made, upto)

    # How far

    def _settled(
        self, connection: Connection, relation: Relation, offset: Offset
    ) -> tuple[Offset, bool] | None:
        waiting = self._waiting
        if waiting is not None and self._transactions is not None:
            if self._transactions.still_open(connection, waiting.writers):
                self._tell(waiting)
                return None
            self._waiting = None
            return waiting.upto, waiting.full
        before = self._before(connection, relation) if relation.timestamps else None
        sql, parameters = relation.last(offset, before, SLICE_ROWS)
        rows = fetched(self._database.dialect, connection, sql, parameters)
        if not rows:
            return None
        *keys, count = rows[0]
        upto, full = relation.place(keys), count >= SLICE_ROWS
        if self._transactions is not None and before is None:
            # Asked for after the rows: who is gone by now has committed, and the slice sees it.
            writers = self._transactions.writers(connection, self._table)
            if writers:
                self._waiting = _Waiting(upto, full, writers, time.monotonic())
                return None
        return upto, full

    def _before(self, connection: Connection, relation: Relation) -> datetime:
        """Asked for before the rows: nobody who began later has an earlier time."""
        before = self._database.dialect.now(connection) - self._settings.delay
        if self._transactions is not None:
            before = min(before, self._transactions.oldest(connection))
        return relation.settled(before)

    def _tell(self, waiting: _Waiting) -> None:
        now = time.monotonic()
        if now - max(waiting.since, self._told) > TELL_S:
            self._told = now
            LOG.info(
                "%s: new rows are there, but %d open transactions may still commit earlier ones",
                self._table or "The query",
                len(waiting.writers),
            )

    # What is read

    def _relation(self, connection: Connection) -> Relation:
        dialect, table = self._database.dialect, self._table
        if table is None:
            columns = dialect.query_columns(connection, self._settings.query)
        else:
            columns = dialect.columns(connection, table)
            if not columns:
                raise ConnectError(f"Table {table} is gone, or may not be seen any more")
        return Relation(
            database=self._database,
            table=table,
            query=self._settings.query,
            columns=tuple(columns),
            incrementing=self._incrementing(columns) if self._settings.by_number else None,
            timestamps=self._timestamps(columns) if self._settings.by_time else (),
            suffix=self._settings.suffix,
        )

    def _incrementing(self, columns: list[Column]) -> Column:
        if self._settings.incrementing:
            return self._checked(self._column(columns, self._settings.incrementing))
        numbered = [one for one in columns if one.auto_increment]
        if len(numbered) != 1:
            raise ConnectError(
                f"Table {self._table} has {len(numbered)} columns that the database numbers by"
                " itself: incrementing.column.name must say which one counts"
            )
        return self._checked(numbered[0])

    def _timestamps(self, columns: list[Column]) -> tuple[Column, ...]:
        found = tuple(self._column(columns, name) for name in self._settings.timestamps)
        for one in found:
            if self._database.dialect.schema(one, "none").name != TIMESTAMP:
                raise ConnectError(f"Column {one.name} is {one.type}, which is no timestamp")
        if all(one.nullable for one in found):
            self._checked(found[0])
        return found

    def _column(self, columns: list[Column], name: str) -> Column:
        for one in columns:
            if one.name == name:
                return one
        for one in columns:
            if one.name.lower() == name.lower():
                return one
        raise ConnectError(f"{self._table or 'The query'} has no column {name}")

    def _checked(self, column: Column) -> Column:
        if self._settings.non_null and column.nullable and self._table is not None:
            raise ConnectError(
                f"Column {column.name} of {self._table} may be null, and such rows would never be"
                " read: make it NOT NULL, or set validate.non.null=false"
            )
        return column

    def record_schema(self, connection: Connection) -> tuple[str, Schema]:
        """The topic, and what its records look like by now."""
        return self._records(self._relation(connection))

    def _records(self, relation: Relation) -> tuple[str, Schema]:
        dialect, mapping = self._database.dialect, self._settings.numeric_mapping
        name = None if self._table is None else self._table.name
        fields = tuple(Field(one.name, dialect.schema(one, mapping)) for one in relation.columns)
        schema = Schema(type=Type.STRUCT, name=name, fields=fields)
        return self._settings.topic_prefix + (name or ""), schema

    def _slice(
        self, relation: Relation, offset: Offset, upto: Offset | None, task: int
    ) -> TableSlice:
        sql, parameters = relation.rows(offset, upto)
        topic, schema = self._records(relation)
        return TableSlice(
            task=task,
            database=self._database,
            sql=sql,
            parameters=parameters,
            columns=relation.columns,
            schema=schema,
            topic=topic,
            progress=None if upto is None else Progress(partition(self._table), upto.to_map()),
            fetch_rows=self._settings.fetch_rows,
        )

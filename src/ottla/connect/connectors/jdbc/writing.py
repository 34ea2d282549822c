"""A sink's task: a partition's records, and the offset behind them, in one database transaction."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from ottla.connect.connector import ConnectError, Report, RetriableError, TopicPartition, end_of
from ottla.connect.connectors.jdbc.batches import Fit, TableBatch
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import Connection
from ottla.connect.connectors.jdbc.mapping import Change, Mapper, MappingSettings, Row
from ottla.connect.connectors.jdbc.sink_offsets import Offsets
from ottla.connect.connectors.jdbc.sink_tables import Tables
from ottla.connect.data import Record

TRANSACTION_RECORDS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    mode: str
    batch_rows: int
    retries: int
    backoff_ms: int
    create: bool
    evolve: bool


class _Link:
    """A connection, what it knows of tables, and how records are mapped to them."""

    def __init__(self, task: "JdbcSinkTask") -> None:
        self.connection: Connection = task.database.connect()
        self.tables = Tables(task.database, task.writes.create, task.writes.evolve)
        self.mapper = Mapper(task.mapping)
        self.used = False


# Spark's workers are used again: so are their connections, each by one task at a time.
_idle: dict[str, list[_Link]] = {}
_idle_lock = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcSinkTask:
    """Picklable."""

    database: Database
    mapping: MappingSettings
    writes: WriteSettings
    offsets: Offsets | None
    run: int

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        chunk = list(islice(records, TRANSACTION_RECORDS))
        while chunk:
            following = list(islice(records, TRANSACTION_RECORDS))
            after = _offset(chunk[-1]) + 1
            # Behind the last of them there may be some that were filtered.
            self._deliver(
                partition, chunk, after if following else end_of(records, after), _Once(report)
            )
            chunk = following
        return None

    def _deliver(
        self, partition: TopicPartition, records: list[Record], after: int, report: Report
    ) -> None:
        attempt = 0
        while True:
            link: _Link | None = None
            try:
                link = self._taken()
                with self.database.speaking():
                    self._transaction(link, partition, records, after, report)
            except BaseException as error:
                if link is not None:
                    link.connection.close()
                if not isinstance(error, RetriableError):
                    raise
                if link is not None and link.used:
                    continue  # it may have ended while nobody used it
                attempt += 1
                if attempt > self.writes.retries:
                    said = f"After {attempt} tries: {error}" if attempt > 1 else str(error)
                    raise ConnectError(said) from error
                time.sleep(self.writes.backoff_ms / 1000)
            else:
                self._given_back(link)
                return

    def _transaction(
        self,
        link: _Link,
        partition: TopicPartition,
        records: list[Record],
        after: int,
        report: Report,
    ) -> None:
        """What was written already is left out; if the run is over, nothing is written."""
        connection = link.connection
        rows = list(_rows(link.mapper, records, report))
        fits = self._fits(link, rows)  # tables are changed before: some databases commit on that
        self.database.dialect.begin_writing(connection)
        written = 0
        if self.offsets is not None:
            written = self.offsets.lock(connection, partition, self.run)
        batches: dict[str, TableBatch] = {}
        for row in rows:
            if _offset(row.record) < written or row.change is Change.NOTHING:
                continue
            fit = fits[_fit(row)]
            if fit is None:
                continue
            batch = batches.get(row.table)
            if batch is None:
                batch = batches[row.table] = TableBatch(
                    self.database, connection, self.writes.mode, self.writes.batch_rows, report
                )
            batch.add(row, fit)
        for batch in batches.values():
            batch.flush()
        if self.offsets is not None and after > written:
            self.offsets.advance(connection, partition, after)
        connection.commit()

    def _fits(self, link: _Link, rows: list[Row]) -> dict[tuple[str, int], Fit | None]:
        """Writes first: they may make a table. Where there is none, there is nothing to delete."""
        fits: dict[tuple[str, int], Fit | None] = {}
        for change in (Change.WRITE, Change.DELETE, Change.TRUNCATE):
            for row in rows:
                if row.change is not change or _fit(row) in fits:
                    continue
                if change is Change.WRITE or link.tables.exists(link.connection, row.table):
                    wanted = () if row.shape is None else row.shape.wanted
                    fits[_fit(row)] = link.tables.fitting(link.connection, row.table, wanted)
                else:
                    fits[_fit(row)] = None
        return fits

    # Connections

    def _taken(self) -> _Link:
        with _idle_lock:
            waiting = _idle.get(self._pool(), [])
            if waiting:
                link = waiting.pop()
                link.used = True
                return link
        return _Link(self)

    def _given_back(self, link: _Link) -> None:
        with _idle_lock:
            _idle.setdefault(self._pool(), []).append(link)

    def _pool(self) -> str:
        return repr((self.database, self.database.target.password, self.mapping, self.writes))


class _Once:
    """A record that is tried again is told of once."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._told: set[int | None] = set()

    def __call__(self, record: Record, error: Exception) -> None:
        if record.offset not in self._told:
            self._report(record, error)
            self._told.add(record.offset)


def _rows(mapper: Mapper, records: list[Record], report: Report) -> Iterator[Row]:
    for record in records:
        try:
            row = mapper.row(record)
        except ConnectError as error:
            report(record, error)
        else:
            yield row


def _fit(row: Row) -> tuple[str, int]:
    return row.table, 0 if row.shape is None else id(row.shape.wanted)


def _offset(record: Record) -> int:
    """In Kafka, whatever transforms made of the record."""
    if record.original is not None:
        return record.original[2]
    assert record.offset is not None
    return record.offset

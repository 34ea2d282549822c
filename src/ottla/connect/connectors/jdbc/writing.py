"""A sink's task: a partition's records, and the offset behind them, in one database transaction."""

import threading
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

from ottla.connect.connector import ConnectError, Report, RetriableError, TopicPartition, end_of
from ottla.connect.connectors.jdbc.batches import Fit, TableBatch
from ottla.connect.connectors.jdbc.column_batches import NOT_AS_COLUMNS, ColumnBatch
from ottla.connect.connectors.jdbc.database import Database
from ottla.connect.connectors.jdbc.dialects.dialect import ByColumns, Connection, TableId
from ottla.connect.connectors.jdbc.mapping import Change, Mapper, MappingSettings, Row
from ottla.connect.connectors.jdbc.sink_offsets import Offsets
from ottla.connect.connectors.jdbc.sink_tables import Tables
from ottla.connect.data import Record
from ottla.connect.runs.fields import AlikeRecords, GivenFields

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
        self.copies: dict[TableId, bool] = {}
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

    @property
    def at_once(self) -> int:
        return TRANSACTION_RECORDS

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        chunk = list(islice(records, TRANSACTION_RECORDS))
        while chunk:
            following = list(islice(records, TRANSACTION_RECORDS))
            after = _offset(chunk[-1]) + 1
            # Behind the last of them there may be some that were filtered.
            after = after if following else end_of(records, after)
            self._deliver(partition, _Records(chunk, after), after, report)
            chunk = following
        return None

    def put_fields(
        self, partition: TopicPartition, given: Iterator[GivenFields], report: Report, end: int
    ) -> int | None:
        held = next(given, None)
        while held is not None:
            following = next(given, None)
            after = end if following is None else held.end
            self._deliver(partition, held, after, report)
            held = following
        return None

    def _deliver(
        self, partition: TopicPartition, given: GivenFields, after: int, report: Report
    ) -> None:
        report = _Once(report)
        attempt = 0
        while True:
            link: _Link | None = None
            try:
                link = self._taken()
                with self.database.speaking():
                    if not self._by_columns(link, partition, given, after):
                        self._by_rows(link, partition, given.records(), after, report)
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

    @contextmanager
    def _transaction(
        self, connection: Connection, partition: TopicPartition, after: int
    ) -> Iterator[int]:
        """Begins with the offset up to which all was written already; if the run is over, nothing
        is written."""
        self.database.dialect.begin_writing(connection)
        written = 0
        if self.offsets is not None:
            written = self.offsets.lock(connection, partition, self.run)
        yield written
        if self.offsets is not None and after > written:
            self.offsets.advance(connection, partition, after)
        connection.commit()

    def _by_columns(
        self, link: _Link, partition: TopicPartition, given: GivenFields, after: int
    ) -> bool:
        """Whether they could be written so. A row that is refused is found one by one."""
        dialect = self.database.dialect
        alike = given.alike() if isinstance(dialect, ByColumns) else None
        mapped = None if alike is None else link.mapper.columns(alike)
        if alike is None or mapped is None or not isinstance(dialect, ByColumns):
            return False
        row, fields = mapped
        fit = self._fits(link, [row])[_fit(row)]
        assert fit is not None  # of what is written
        assert row.shape is not None
        mode, rows_max = self.writes.mode, self.writes.batch_rows
        batch = ColumnBatch(self.database, dialect, link.connection, mode, rows_max, link.copies)
        try:
            with self._transaction(link.connection, partition, after) as written:
                begin = _at_least(alike, written)
                batch.write(fit, row.shape.keys, [one.behind(begin) for one in fields])
        except Exception as error:
            of_a_row = isinstance(error, dialect.errors) and dialect.of_a_row(error)
            if not of_a_row and not isinstance(error, NOT_AS_COLUMNS):
                raise
            link.connection.rollback()
            return False
        return True

    def _by_rows(
        self,
        link: _Link,
        partition: TopicPartition,
        records: list[Record],
        after: int,
        report: Report,
    ) -> None:
        connection = link.connection
        rows = list(_rows(link.mapper, records, report))
        fits = self._fits(link, rows)  # tables are changed before: some databases commit on that
        with self._transaction(connection, partition, after) as written:
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


class _Records:
    """`GivenFields` of records that are there already."""

    def __init__(self, records: list[Record], end: int) -> None:
        self._records = records
        self.end = end

    def alike(self) -> None:
        return None

    def records(self) -> list[Record]:
        return self._records


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


def _at_least(alike: AlikeRecords, offset: int) -> int:
    """How many come before it."""
    offsets = alike.offsets
    return bisect_left(range(len(offsets)), offset, key=lambda at: offsets[at].as_py())


def _offset(record: Record) -> int:
    """In Kafka, whatever transforms made of the record."""
    if record.original is not None:
        return record.original[2]
    assert record.offset is not None
    return record.offset

"""jdbc-sink: records into tables, exactly once. Tasks are in `writing`."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ottla.connect.connector import Config, ConnectError, SinkTask, TopicPartition, Written
from ottla.connect.connectors.jdbc import sink_keys
from ottla.connect.connectors.jdbc.database import Database, database
from ottla.connect.connectors.jdbc.mapping import (
    Change,
    Mapper,
    MappingSettings,
    mapping_settings,
)
from ottla.connect.connectors.jdbc.sink_offsets import Offsets
from ottla.connect.connectors.jdbc.writing import JdbcSinkTask, WriteSettings
from ottla.connect.data import Record
from ottla.connect.java_text import text

DEFINITIONS = sink_keys.DEFINITIONS


def make(config: Config, alias: str) -> "JdbcSink":
    debezium = alias.startswith("io.debezium.")
    if debezium:  # which quotes names only when it is told to
        config = {"quote.identifiers": "false", **config}
    values = DEFINITIONS.parse(config)
    both = values["schema.evolution"] == "basic"
    writes = WriteSettings(
        mode=values["insert.mode"],
        batch_rows=values["batch.size"],
        retries=values["max.retries"],
        backoff_ms=values["retry.backoff.ms"],
        create=values["auto.create"] or both,
        evolve=values["auto.evolve"] or both,
    )
    target = database(values, "sink")
    table = values["ottla.offsets.table"]
    offsets = Offsets(target, table, config["name"]) if table else None
    return JdbcSink(dict(config), target, mapping_settings(values, debezium), writes, offsets)


class JdbcSink:
    def __init__(
        self,
        config: dict[str, str],
        database: Database,
        mapping: MappingSettings,
        writes: WriteSettings,
        offsets: Offsets | None,
    ) -> None:
        self._config = config
        self._database = database
        self._mapping = mapping
        self._writes = writes
        self._offsets = offsets
        self._run: int | None = None

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self._config] * maximum

    def start(self) -> None:
        """From now on no older run of this connector writes anything."""
        if self._offsets is None:
            self._database.connect().close()
            self._run = 0
        else:
            self._run = self._offsets.begin_run()

    def positions(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {} if self._offsets is None else self._offsets.positions(partitions)

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        """By hand while nobody runs, or by the run itself where Kafka no longer has an offset."""
        if self._offsets is not None:
            if self._run is None:
                self._offsets.begin_run()  # so that nobody writes behind it
            self._offsets.move(positions)

    def try_out(self) -> Mapping[str, Sequence[str]]:
        self._database.try_out()
        return {}

    def preview(self, records: Iterable[Record]) -> Iterator[Written]:
        """Rows by their tables, as they are before the columns' own types."""
        mapper = Mapper(self._mapping)
        for record in records:
            row = mapper.row(record)
            if row.change is Change.NOTHING:
                continue
            names = () if row.shape is None else tuple(one.name for one in row.shape.wanted)
            keys = 0 if row.shape is None else row.shape.keys
            values = dict(zip(names, row.values, strict=False))
            key = _json({name: values[name] for name in names[:keys]}) if keys else None
            deleted = row.change is not Change.WRITE
            yield Written(row.table, key, None if deleted else _json(values))

    def task(self) -> SinkTask:
        if self._run is None:
            raise ConnectError("A sink's task is asked for before its run has begun")
        return JdbcSinkTask(
            database=self._database,
            mapping=self._mapping,
            writes=self._writes,
            offsets=self._offsets,
            run=self._run,
        )

    def stop(self) -> None:
        """Nothing is held here; tasks end by themselves."""


def _json(values: Mapping[str, Any]) -> str:
    return json.dumps(
        values,
        ensure_ascii=False,
        default=lambda one: one.hex() if isinstance(one, bytes) else text(one),
    )

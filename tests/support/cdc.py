"""Connectors of changes run directly, without Spark and Kafka; their records as JSON."""

import json
import pickle
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from ottla.connect.connector import Place, Progress, Slice, SourceConnector
from ottla.connect.converters.headers import SimpleHeaderConverter
from ottla.connect.converters.json import JsonConverter
from ottla.connect.data import Record
from ottla.connect.pipeline import Row, SourceChain
from ottla.connect.plugins import source
from ottla.connect.runs.source_tasks import JsonSlice
from support.postgres import Postgres

Shown = dict[str, Any]  # topic, key, value (each schema and payload), headers

_KEYS = JsonConverter({"converter.type": "key"})
_VALUES = JsonConverter({"converter.type": "value"})
_HEADERS = SimpleHeaderConverter({})


def config(postgres: Postgres, **keys: str) -> dict[str, str]:
    """Underscores of names stand for dots."""
    return {
        "name": "cdc",
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(postgres.port),
        "database.user": postgres.user,
        "database.password": postgres.password,
        "database.dbname": postgres.name,
        "plugin.name": "pgoutput",
        "topic.prefix": "shop",
        **{name.replace("_", "."): value for name, value in keys.items()},
    }


class DirectRun:
    """What a run does with the connector, in this process."""

    def __init__(
        self,
        config: Mapping[str, str],
        offset: Place | None = None,
        connector: SourceConnector | None = None,
    ) -> None:
        self.offset = offset
        self.records: list[Record] = []
        self.connector: Any = source(config) if connector is None else connector
        self.connector.start(lambda _partition: self.offset)

    def step(self, timeout_s: float = 0.2, *, commit: bool = True) -> int:
        """Read what one poll gives; how many records that were."""
        slices = pickle.loads(pickle.dumps(list(self.connector.poll(timeout_s))))
        for slice in slices:
            check_rendering(slice)
        read = [one for slice in slices for one in slice.read()]
        progress = [one for one in read if isinstance(one, Progress)]
        records = [one for one in read if isinstance(one, Record)]
        if commit:
            self.records += records
            if progress:
                self.offset = progress[-1].offset
            if slices:
                self.connector.committed(progress[-1:])
        return len(records)

    def until(self, condition: Callable[[], bool], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"{len(self.records)} records came"
            self.step()

    def until_count(self, count: int, seconds: float = 30) -> None:
        self.until(lambda: len(self.records) >= count, seconds)

    def stop(self) -> None:
        self.connector.stop()

    def __enter__(self) -> "DirectRun":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


CONVERTERS: tuple[dict[str, str], ...] = (
    {},
    {"schemas.enable": "false", "decimal.format": "NUMERIC"},
    {"schemas.enable": "false", "replace.null.with.default": "false"},
)


def check_rendering(slice: Slice) -> None:
    """Rows that are rendered at once are those that the converter makes, byte for byte."""
    json_slice: object = slice
    if not isinstance(json_slice, JsonSlice):
        return
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    for keys in CONVERTERS:
        settings = {
            name: value
            for side in ("key.converter", "value.converter")
            for name, value in {
                side: json_converter,
                **{f"{side}.{key}": said for key, said in keys.items()},
            }.items()
        }
        chain = SourceChain(settings, {})
        with patch("time.time_ns", return_value=1_700_000_000_123_456_789):
            records = list(slice.read())
            found = json_slice.read_json(chain)
            if found is None:  # its records are converted one by one
                continue
            rendered = list(found)
        made = chain.rows(one for one in records if isinstance(one, Record))
        assert [one for one in rendered if isinstance(one, Progress)] == [
            one for one in records if isinstance(one, Progress)
        ]
        rows: list[Row] = []
        for one in rendered:
            if isinstance(one, Row):
                rows.append(one)
            elif isinstance(one, Record):
                rows += chain.rows([one])
        assert rows == list(made)


def shown(record: Record) -> Shown:
    key = _KEYS.from_connect(record.topic, record.key_schema, record.key)
    value = _VALUES.from_connect(record.topic, record.value_schema, record.value)
    headers = {
        one.name: (_HEADERS.from_header(record.topic, one.name, one.schema, one.value) or b"")
        for one in record.headers
    }
    return {
        "topic": record.topic,
        "key": None if key is None else json.loads(key),
        "value": None if value is None else json.loads(value),
        "headers": {name: text.decode() for name, text in headers.items()},
    }


def payloads(records: Iterable[Record]) -> list[Any]:
    """Of the values; None: a tombstone."""
    values = [shown(one)["value"] for one in records]
    return [None if one is None else one["payload"] for one in values]


def without_bookkeeping(record: Shown) -> Shown:
    """Times, LSNs and names of runs differ between two captures of the same change."""
    value = record["value"]
    if value is not None and "source" in value["payload"]:
        payload = value["payload"]
        source = dict.fromkeys(
            ("ts_ms", "ts_us", "ts_ns", "txId", "lsn", "sequence", "db", "name"), "-"
        )
        payload = payload | dict.fromkeys(("ts_ms", "ts_us", "ts_ns"), "-")
        payload["source"] = payload["source"] | source
        value = {"schema": value["schema"], "payload": payload}
    headers = record["headers"] | (
        {"__debezium.context.runId": "-"} if "__debezium.context.runId" in record["headers"] else {}
    )
    return {**record, "value": value, "headers": headers}


def by_topic(records: Iterable[Shown]) -> dict[str, list[Shown]]:
    grouped: dict[str, list[Shown]] = defaultdict(list)
    for one in records:
        grouped[one["topic"]].append(without_bookkeeping(one))
    return dict(grouped)


def statements(file: Path) -> list[str]:
    """Of an SQL file, each to its end of a line; what one line holds is one transaction."""
    text = re.sub(r"^--.*$", "", file.read_text(), flags=re.MULTILINE)
    return [one for one in re.split(r";\n", text) if one.strip()]

"""Strings to bytes and back: what stands between connectors and Kafka until converters do."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ottla.connect.connector import Config
from ottla.connect.data import Record, Schema, Type
from ottla.connect.runs.rows import Row

_TEXT = Schema(type=Type.STRING, optional=True)


class SourceChain:
    def __init__(self, config: Config, worker: Mapping[str, str]) -> None:
        pass

    def rows(
        self, records: Iterable[Record], report: Callable[[Any], None] | None = None
    ) -> Iterator[Row]:
        for one in records:
            yield Row(
                one.topic, _bytes(one.key), _bytes(one.value), None, one.partition, one.timestamp
            )


class SinkChain:
    def __init__(self, config: Config, worker: Mapping[str, str]) -> None:
        pass

    def record(
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> Record:
        return Record(
            topic=topic,
            partition=partition,
            key_schema=_TEXT,
            key=None if key is None else key.decode(),
            value_schema=_TEXT,
            value=None if value is None else value.decode(),
            timestamp=timestamp,
            offset=offset,
            original=(topic, partition, offset),
        )


def _bytes(value: Any) -> bytes | None:
    return None if value is None else str(value).encode()

"""elasticsearch-sink: records of a partition become bulk requests.

Delivered again, a record changes nothing: its id is its place in Kafka, or its key with the offset
as external version, so that an older one is refused. (An upsert merges the same fields again.)
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import ConnectionError as AwayError
from opensearchpy.exceptions import NotFoundError, RequestError, TransportError

from ottla.connect.connector import (
    Config,
    ConnectError,
    Report,
    RetriableError,
    SinkTask,
    TopicPartition,
    Written,
)
from ottla.connect.connectors.elasticsearch.documents import Document, document, mapping
from ottla.connect.connectors.elasticsearch.keys import DEFINITIONS, Options, options
from ottla.connect.data import DataError, Record
from ottla.connect.definitions import InvalidConfig

__all__ = ["DEFINITIONS", "make"]

_log = logging.getLogger(__name__)
_MALFORMED = frozenset(
    {
        "action_request_validation_exception",
        "document_parsing_exception",
        "illegal_argument_exception",
        "json_parse_exception",
        "mapper_parsing_exception",
        "not_x_content_exception",
        "parse_exception",
        "parsing_exception",
        "strict_dynamic_mapping_exception",
        "x_content_parse_exception",
    }
)
_CONFLICT = "version_conflict_engine_exception"
_LATER = (429, 502, 503, 504)
_LONGEST_PAUSE_S = 60.0


def make(config: Config, alias: str) -> "ElasticsearchSink":
    return ElasticsearchSink(config, options(config))


@dataclass(frozen=True, slots=True)
class ElasticsearchSink:
    config: Config
    options: Options

    def task_configs(self, maximum: int) -> Sequence[Config]:
        return [self.config] * maximum

    def start(self) -> None:
        """The cluster is asked, so that a wrong address or password ends the connector at once."""
        client = connect(self.options)
        try:
            _attempt(self.options, client.info)
        finally:
            client.close()

    def positions(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {}

    def move(self, positions: Mapping[TopicPartition, int | None]) -> None:
        pass

    def try_out(self) -> Mapping[str, Sequence[str]]:
        client = connect(self.options)
        try:
            _attempt(replace(self.options, retries=0), client.info)
        except ConnectError as error:
            raise InvalidConfig({"connection.url": [str(error)]}) from None
        finally:
            client.close()
        return {}

    def preview(self, records: Iterable[Record]) -> Iterator[Written]:
        for record in records:
            made = document(record, self.options)
            if made is not None:
                lines = made.lines()
                value = lines[1].decode() if len(lines) > 1 else None
                yield Written(made.index, made.id, value)

    def task(self) -> SinkTask:
        return ElasticsearchTask(self.options)

    def stop(self) -> None:
        pass


def connect(options: Options) -> Any:
    return OpenSearch(
        hosts=list(options.urls),
        http_auth=options.user,
        http_compress=options.compression,
        timeout=options.timeout_s or None,
        ca_certs=options.ca,
        max_retries=0,
    )


@dataclass(frozen=True, slots=True)
class ElasticsearchTask:
    options: Options

    def put(
        self, partition: TopicPartition, records: Iterator[Record], report: Report
    ) -> int | None:
        client = connect(self.options)
        try:
            delivery = _Delivery(self.options, client, report)
            documents = delivery.documents(records)
            while batch := list(islice(documents, self.options.batch)):
                delivery.send(batch)
        finally:
            client.close()
        return None


class _Delivery:
    def __init__(self, options: Options, client: Any, report: Report) -> None:
        self._options = options
        self._client = client
        self._report = report
        self._ready: set[str] = set()

    def documents(self, records: Iterable[Record]) -> Iterator[Document]:
        for record in records:
            try:
                made = document(record, self._options)
            except DataError as error:
                if not self._options.drop_invalid:
                    self._report(record, error)  # raises where errors are not tolerated
                continue
            if made is not None:
                if made.index not in self._ready and made.action != "delete":
                    self._prepare(made)
                yield made

    def _prepare(self, first: Document) -> None:
        """An index of its own mapping; a data stream is made by its template."""
        self._ready.add(first.index)
        if self._options.stream_type is not None:
            return
        if _attempt(self._options, lambda: self._client.indices.exists(index=first.index)):
            return
        settings: dict[str, Any] = {}
        schema = first.record.value_schema
        if schema is not None and not self._options.ignores_schema(first.record.topic):
            settings["mappings"] = mapping(schema, self._options.compact_maps)
        try:
            _attempt(
                self._options,
                lambda: self._client.indices.create(index=first.index, body=settings),
            )
        except RequestError as error:
            if error.error != "resource_already_exists_exception":
                raise ConnectError(f"The index {first.index} cannot be made: {error}") from error

    def send(self, documents: Sequence[Document]) -> None:
        """Items that may succeed later are sent again, alone, and in their order."""
        left, tries = documents, 0
        while True:
            answer = self._bulk(left)
            again = []
            for one, item in zip(left, answer["items"], strict=True):
                ((_, told),) = item.items()
                if told.get("status", 0) in _LATER:
                    again.append((one, told))
                elif "error" in told:
                    self._refused(one, told["error"])
            if not again:
                return
            if tries >= self._options.retries:
                raise RetriableError(f"The cluster is busy: {again[0][1].get('error')}")
            _pause(self._options, tries)
            left, tries = [one for one, _ in again], tries + 1

    def _bulk(self, documents: Sequence[Document]) -> Any:
        lines = [line for one in documents for line in one.lines()]
        body = b"\n".join(lines) + b"\n"
        return _attempt(self._options, lambda: self._client.bulk(body=body))

    def _refused(self, one: Document, error: Any) -> None:
        kind = error.get("type") if isinstance(error, dict) else None
        if kind == _CONFLICT:
            return  # a later version is there already, or this very document of a data stream
        if kind not in _MALFORMED:
            raise ConnectError(f"The document {one.id} of {one.index} was refused: {error}")
        refused = DataError(f"The document {one.id} of {one.index} is malformed: {error}")
        match self._options.on_malformed:
            case "fail":
                self._report(one.record, refused)
            case "warn":
                _log.warning("%s", refused)


def _attempt(options: Options, ask: Callable[[], Any]) -> Any:
    """Again with back-off where the cluster is away or busy."""
    tries = 0
    while True:
        try:
            return ask()
        except (AwayError, TransportError) as error:
            later = isinstance(error, AwayError) or error.status_code in _LATER
            if isinstance(error, (RequestError, NotFoundError)):
                raise
            if not later:
                raise ConnectError(f"The cluster refuses: {error}") from error
            if tries >= options.retries:
                raise RetriableError(f"The cluster does not answer: {error}") from error
        _pause(options, tries)
        tries += 1


def _pause(options: Options, tries: int) -> None:
    time.sleep(min(options.backoff_s * 2**tries, _LONGEST_PAUSE_S))

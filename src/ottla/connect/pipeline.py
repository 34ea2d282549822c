"""Between a connector's records and Kafka's bytes: transforms, converters, and what is tolerated.

Made of a connector's and its worker's settings; picklable, so that Spark's tasks have it. What a
record fails of is a `Failure`; who runs the chain logs it and writes dead letters from it. Absent:
Kafka and Spark.
"""

import random
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from ottla.connect import converters, transforms
from ottla.connect.connector import Config, ConnectError, RetriableError, ServiceError
from ottla.connect.converters.converter import Converter, HeaderConverter
from ottla.connect.data import DataError, Header, Record
from ottla.connect.definitions import InvalidConfig
from ottla.connect.transforms.stage import TransformStage

_FIRST_DELAY_MS = 300
_RESULT = TypeVar("_RESULT")


class Stage(Enum):
    """Where a record failed, as Connect names it."""

    TASK_PUT = "TASK_PUT"
    TRANSFORMATION = "TRANSFORMATION"
    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"


_JAVA_ERRORS = {
    DataError: "org.apache.kafka.connect.errors.DataException",
    RetriableError: "org.apache.kafka.connect.errors.RetriableException",
    ConnectError: "org.apache.kafka.connect.errors.ConnectException",
    InvalidConfig: "org.apache.kafka.common.config.ConfigException",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """What became of a record that could not be dealt with."""

    stage: Stage
    class_name: str  # of the transform, converter or task
    record: Record | None  # a source's, before transforms; a sink's is known by its offset
    exception: Exception

    @property
    def exception_class(self) -> str:
        for kind in type(self.exception).__mro__:
            if kind in _JAVA_ERRORS:
                return _JAVA_ERRORS[kind]
        return f"{type(self.exception).__module__}.{type(self.exception).__qualname__}"

    def headers(
        self, connector: str, task: int, topic: str, partition: int, offset: int
    ) -> list[tuple[str, bytes]]:
        """The ten of a dead letter, after the record's own."""
        told = {
            "topic": topic,
            "partition": partition,
            "offset": offset,
            "connector.name": connector,
            "task.id": task,
            "stage": self.stage.value,
            "class.name": self.class_name,
            "exception.class.name": self.exception_class,
            "exception.message": self.exception,
            "exception.stacktrace": self.trace(),
        }
        return [(f"__connect.errors.{name}", str(one).encode()) for name, one in told.items()]

    def trace(self) -> str:
        frames = "".join(traceback.format_tb(self.exception.__traceback__))
        return f"{self.exception_class}: {self.exception}\n{frames}"

    def sentence(self, connector: str, task: int, details: str | None = None) -> str:
        """For the log, where errors.log.enable is true; details with errors.log.include.messages.

        Those of a sink's record are `consumed`; of a source's, the record itself.
        """
        said = f"Executing stage '{self.stage.value}' with class '{self.class_name}'"
        where = "" if details is None else f", where {details}"
        return f"Error encountered in task {connector}-{task}. {said}{where}."


def consumed(topic: str, partition: int, offset: int, timestamp: int | None) -> str:
    at = "" if timestamp is None else f", timestamp={timestamp}, timestampType=CreateTime"
    place = f"topic='{topic}', partition={partition}, offset={offset}"
    return f"consumed record is {{{place}{at}}}"


class ToleranceExceeded(ConnectError):
    """A record failed and errors.tolerance is none: the task fails."""

    def __init__(self, failure: Failure) -> None:
        super().__init__("Tolerance exceeded in error handler")
        self.failure = failure
        self.__cause__ = failure.exception

    def __reduce__(self) -> tuple[Any, ...]:
        return ToleranceExceeded, (self.failure,)


Headers = list[tuple[str, bytes | None]]


class Row(NamedTuple):
    """A record as it is produced."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers  # not to be changed: rows may share them
    partition: int | None
    timestamp: int | None


Reported = Callable[[Failure], None]


@dataclass(frozen=True)
class ErrorHandling:
    """errors.* of a connector."""

    tolerated: bool = False
    retry_timeout_ms: int = 0  # -1: without end
    retry_delay_max_ms: int = 60_000

    @classmethod
    def of(cls, config: Config) -> "ErrorHandling":
        return cls(
            config.get("errors.tolerance", "none").strip().lower() == "all",
            int(config.get("errors.retry.timeout", "0")),
            int(config.get("errors.retry.delay.max.ms", "60000")),
        )

    def attempt(self, work: Callable[[], _RESULT]) -> _RESULT:
        """Again with back-off while a RetriableError says so and time is left."""
        began, tries = time.monotonic(), 0
        while True:
            try:
                return work()
            except RetriableError:
                left_ms = self.retry_timeout_ms - (time.monotonic() - began) * 1000
                if self.retry_timeout_ms >= 0 and left_ms <= 0:
                    raise
                delay = _FIRST_DELAY_MS << min(tries, 30)
                if delay > self.retry_delay_max_ms:
                    delay = random.randrange(max(1, self.retry_delay_max_ms))
                if self.retry_timeout_ms >= 0:
                    delay = min(delay, int(left_ms))
                time.sleep(delay / 1000)
                tries += 1


class _Chain:
    def __init__(self, config: Config, worker: Mapping[str, str]) -> None:
        self._settings = (dict(config), dict(worker))
        self.errors = ErrorHandling.of(config)
        self.key = _converter("key", config, worker)
        self.value = _converter("value", config, worker)
        self.header = _header_converter(config, worker)
        self.stages: Sequence[TransformStage] = transforms.stages(config)
        self._at: tuple[Stage, object] = (Stage.KEY_CONVERTER, self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._settings

    def _transformed(self, record: Record) -> Record | None:
        current: Record | None = record
        for stage in self.stages:
            self._at = (Stage.TRANSFORMATION, stage)
            current = stage.apply(current)  # type: ignore[arg-type]
            if current is None:
                return None
        return current

    def _failure(self, record: Record | None, error: Exception) -> Failure:
        stage, worked = self._at
        name = worked.class_name if isinstance(worked, TransformStage) else _java_name(worked)
        return Failure(stage, name, record, error)


class SourceChain(_Chain):
    """From a source's records to what is produced."""

    _last_headers: tuple[tuple[Header, ...], str, Headers] = ((), "", [])

    def rows(self, records: Iterable[Record], report: Reported | None = None) -> Iterator[Row]:
        """Filtered records are absent. A failure is reported; tolerated or not, then raised."""
        for record in records:
            try:
                row = self._row(record)
            except ServiceError:
                raise
            except Exception as error:
                row = self._failed(record, error, report)
            if row is not None:
                yield row

    def _row(self, record: Record) -> Row | None:
        changed = self._transformed(record) if self.stages else record
        if changed is None:
            return None
        topic = changed.topic
        headers = self.headers(topic, changed.headers) if changed.headers else []
        self._at = (Stage.KEY_CONVERTER, self.key)
        key = self.key.from_connect(topic, changed.key_schema, changed.key)
        self._at = (Stage.VALUE_CONVERTER, self.value)
        value = self.value.from_connect(topic, changed.value_schema, changed.value)
        return Row(topic, key, value, headers, changed.partition, _time(changed.timestamp))

    def headers(self, topic: str, headers: tuple[Header, ...]) -> Headers:
        """Sources that give record after record the same headers have them converted once."""
        last, of, converted = self._last_headers
        if last is headers and of == topic:
            return converted
        self._at = (Stage.HEADER_CONVERTER, self.header)
        from_header = self.header.from_header
        converted = [
            (one.name, from_header(topic, one.name, one.schema, one.value)) for one in headers
        ]
        self._last_headers = (headers, topic, converted)
        return converted

    def _failed(self, record: Record, error: Exception, report: Reported | None) -> Row | None:
        if isinstance(error, RetriableError):
            try:
                return self.errors.attempt(lambda: self._row(record))
            except ServiceError:
                raise
            except Exception as last:
                error = last
        failure = self._failure(record, error)
        if report is not None:
            report(failure)
        if not self.errors.tolerated:
            raise ToleranceExceeded(failure)
        return None


class SinkChain(_Chain):
    """From what was consumed to what a sink is given."""

    def record(
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> Record | Failure | None:
        """None: filtered. A failure is for the caller to report and to `tolerate`."""
        try:
            return self._record(topic, partition, offset, timestamp, key, value, headers)
        except ServiceError:
            raise
        except RetriableError:
            asked = (topic, partition, offset, timestamp, key, value, headers)
            try:
                return self.errors.attempt(lambda: self._record(*asked))
            except ServiceError:
                raise
            except Exception as error:
                return self._failure(None, error)
        except Exception as error:
            return self._failure(None, error)

    def tolerate(self, failure: Failure) -> None:
        """ToleranceExceeded, unless errors are tolerated."""
        if not self.errors.tolerated:
            raise ToleranceExceeded(failure)

    def _record(
        self,
        topic: str,
        partition: int,
        offset: int,
        timestamp: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes | None]],
    ) -> Record | None:
        self._at = (Stage.KEY_CONVERTER, self.key)
        key_schema, read_key = self.key.to_connect(topic, key)
        self._at = (Stage.VALUE_CONVERTER, self.value)
        value_schema, read_value = self.value.to_connect(topic, value)
        read_headers: tuple[Header, ...] = ()
        if headers:
            self._at = (Stage.HEADER_CONVERTER, self.header)
            to_header = self.header.to_header
            read_headers = tuple(
                [Header(name, *to_header(topic, name, data)) for name, data in headers]
            )
        record = Record(
            topic=topic,
            partition=partition,
            key_schema=key_schema,
            key=read_key,
            value_schema=value_schema,
            value=read_value,
            timestamp=_time(timestamp),
            headers=read_headers,
            offset=offset,
            original=(topic, partition, offset),
        )
        return self._transformed(record) if self.stages else record


def _time(timestamp: int | None) -> int | None:
    if timestamp is None or timestamp == -1:
        return None
    if timestamp < 0:
        raise ValueError(f"Invalid record timestamp {timestamp}")
    return timestamp


def _settings(side: str, config: Config, worker: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The class, and its settings from where the class is named: connector, else worker."""
    prefix = f"{side}.converter"
    named = config if prefix in config else worker
    cut = len(prefix) + 1
    inner = {name[cut:]: said for name, said in named.items() if name.startswith(f"{prefix}.")}
    return named.get(prefix, converters.DEFAULTS[side]).strip(), inner


def _converter(side: str, config: Config, worker: Mapping[str, str]) -> Converter:
    name, settings = _settings(side, config, worker)
    return converters.converter(name, settings, is_key=side == "key")


def _header_converter(config: Config, worker: Mapping[str, str]) -> HeaderConverter:
    name, settings = _settings("header", config, worker)
    return converters.header_converter(name, settings)


def _java_name(converter: object) -> str:
    return converters.java_name(type(converter))

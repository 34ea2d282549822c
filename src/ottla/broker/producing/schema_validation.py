"""Topics that take only records whose schemas a registry holds, as Confluent's brokers check them.

A record's key or value begins with a frame that names a schema by its id (or a header names it by
its GUID). The schema must be there, and under the subject that the topic's strategy makes of topic
and schema. Null passes. What was found stays true, so it is remembered; what was not found is asked
for again, since it may have been registered meanwhile. A registry that is away makes a request wait
within its time-out, and then fail so that the client tries again.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from threading import Event
from typing import TYPE_CHECKING, Any

from ottla.broker.producing.aside import aside
from ottla.broker.producing.long_checks import Place, is_large
from ottla.errors import ErrorCode, KafkaError
from ottla.log.config import LogConfig
from ottla.log.validation import InvalidRecords, next_batch
from ottla.wire.record_batch import Record, iterate_records

if TYPE_CHECKING:
    from ottla.broker.background import Background
    from ottla.broker.transport.pending_reply import Body, PendingReply
    from ottla.client.schema_registry import SchemaRegistry
    from ottla.ports.clock import Clock
    from ottla.replication.leader import Leader
    from ottla.wire.messages.produce import ProduceRequest

Refusals = Mapping[Place, KafkaError]
ASK_TIMEOUT_S = 5.0
PAUSE_S = 0.1
_REMEMBERED_MAX = 100_000
_NOT_THERE = (400, 404, 422)  # no schema has such an id, and none can have
_TOPIC, _RECORD = "TopicNameStrategy", "RecordNameStrategy"
_HEADERS = {"key": b"__key_schema_id", "value": b"__value_schema_id"}


class RegistryTooLate(Exception):
    """It did not answer within the request's time."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A record says that its key or value has a schema: `at` is ids/7 or guids/…, "" without."""

    index: int
    what: str
    at: str


# --- frames (pure)


def claims(records: Iterator[Record], config: LogConfig) -> Iterator[Claim]:
    """What the records of a batch claim, where the topic cares; null claims nothing."""
    for index, record in enumerate(records):
        for what, data, asked in (
            ("key", record.key, config.key_subjects),
            ("value", record.value, config.value_subjects),
        ):
            if asked and data is not None:
                yield Claim(index, what, _named(data, _header(record, what)))


def _header(record: Record, what: str) -> bytes | None:
    for name, value in record.headers:
        if (name if isinstance(name, bytes) else name.encode()) == _HEADERS[what]:
            return value
    return None


def _named(data: bytes, header: bytes | None) -> str:
    frame = data if header is None else header
    if len(frame) >= 5 and frame[0] == 0:
        return f"ids/{int.from_bytes(frame[1:5], 'big', signed=True)}"
    if len(frame) >= 17 and frame[0] == 1:
        return _guid(frame)
    return ""


def _guid(frame: bytes) -> str:
    digits = frame[1:17].hex()
    cuts = (0, 8, 12, 16, 20, 32)
    return "guids/" + "-".join(digits[cuts[at] : cuts[at + 1]] for at in range(5))


def record_name(schema: Mapping[str, Any]) -> str:
    """A schema's own name, which two strategies make subjects of; empty where it has none."""
    text, kind = str(schema.get("schema", "")), schema.get("schemaType", "AVRO")
    if kind == "PROTOBUF":
        bare = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
        package = re.search(r"^\s*package\s+([\w.]+)\s*;", bare, re.MULTILINE)
        message = re.search(r"^\s*message\s+(\w+)", bare, re.MULTILINE)
        parts = [one[1] for one in (package, message) if one is not None]
        return ".".join(parts) if message is not None else ""
    try:
        parsed = json.loads(text)
    except ValueError:
        return ""
    if not isinstance(parsed, dict):
        return str(parsed) if kind == "AVRO" and isinstance(parsed, str) else ""
    if kind == "JSON":
        return str(parsed.get("title", ""))
    name, space = str(parsed.get("name", parsed.get("type", ""))), parsed.get("namespace")
    return f"{space}.{name}" if space and "." not in name else name


def subject_of(strategy: str, topic: str, what: str, name: str) -> str:
    if strategy == _TOPIC:
        return f"{topic}-{what}"
    return name if strategy == _RECORD else f"{topic}-{name}"


# --- what is known of a registry


class KnownSchemas:
    """Which schemas stand under which subjects. Asked from threads, looked up from anywhere."""

    def __init__(self, registry: "SchemaRegistry", clock: "Clock") -> None:
        self._registry = registry
        self.clock = clock
        self._held: set[tuple[str, str, str, str]] = set()

    def holds(self, at: str, strategy: str, topic: str, what: str) -> bool:
        """Whether it was found before."""
        return (at, strategy, topic, what) in self._held

    def ask(self, at: str, strategy: str, topic: str, what: str, until: float) -> str | None:
        """None where it holds, else why not; RegistryTooLate when time is over."""
        schema = self._answer(f"/schemas/{at}", until)
        if schema is None:
            return f"The schema registry has no schema {_in_words(at)}."
        name = "" if strategy == _TOPIC else record_name(schema)
        wanted = subject_of(strategy, topic, what, name)
        if wanted not in self._subjects(at, until):
            return f"The schema {_in_words(at)} does not stand under the subject {wanted}."
        if len(self._held) >= _REMEMBERED_MAX:
            self._held.clear()
        self._held.add((at, strategy, topic, what))
        return None

    def _subjects(self, at: str, until: float) -> list[str]:
        if at.startswith("ids/"):
            return self._answer(f"/schemas/{at}/subjects", until) or []
        found = self._answer(f"/schemas/{at}/ids", until) or []
        return [
            subject
            for one in found
            for subject in self._answer(f"/schemas/ids/{one['id']}/subjects", until) or []
        ]

    def _answer(self, path: str, until: float) -> Any:
        """What it answers, None for what is not there; asks until somebody answers or time is
        over. One that does not let us in is as good as away: whoever runs it can mend that."""
        from ottla.client.schema_registry import RegistryAway, RegistryRefusal

        while True:
            try:
                return self._registry.ask("GET", path)
            except RegistryRefusal as refusal:
                if refusal.status in _NOT_THERE:
                    return None
            except RegistryAway:
                pass
            if self.clock.monotonic() + PAUSE_S > until:
                raise RegistryTooLate
            Event().wait(PAUSE_S)  # a thread's own time, which stands for nothing else


def _in_words(at: str) -> str:
    kind, _, name = at.partition("/")
    return f"with the {'id' if kind == 'ids' else 'GUID'} {name}"


# --- one request


class SchemaValidation:
    """The batches of one request whose topics ask for it."""

    def __init__(
        self,
        request: "ProduceRequest",
        leader_of: "Callable[[Place], Leader]",
        known: KnownSchemas,
    ) -> None:
        self._known = known
        self._timeout_s = request.timeout_ms / 1000
        self._waiting: dict[Place, tuple[Leader, memoryview]] = {}
        self.is_large = False
        for topic in request.topic_data:
            for data in topic.partition_data:
                place = topic.name, topic.topic_id, data.index
                try:
                    leader = leader_of(place)
                except KafkaError:
                    continue  # the append says why it cannot be
                config = leader.log.config
                if data.records and (config.key_subjects or config.value_subjects):
                    self._waiting[place] = leader, memoryview(data.records)
        if self._waiting:
            self.is_large = is_large(request)

    @property
    def is_needed(self) -> bool:
        """Whether a thread must look: there is much to read, or something nobody asked for yet."""
        return bool(self._waiting) and (self.is_large or not self._is_known())

    def _is_known(self) -> bool:
        return all(
            claim.at and self._known.holds(claim.at, strategy, topic, claim.what)
            for leader, view in self._waiting.values()
            for claim, strategy, topic in _claims_of(leader, view)
        )

    def then(
        self, background: "Background", go_on: "Callable[[Refusals], Body | PendingReply | None]"
    ) -> "PendingReply":
        return aside(background, self._refusals, go_on, _asking(), "checking schemas")

    def _refusals(self) -> Refusals:
        until = self._known.clock.monotonic() + self._timeout_s
        found: dict[Place, KafkaError] = {}
        for place, (leader, view) in self._waiting.items():
            try:
                wrong = list(self._wrong(leader, view, until))
            except RegistryTooLate:
                found[place] = KafkaError(
                    ErrorCode.REQUEST_TIMED_OUT, "The schema registry did not answer in time."
                )
                continue
            if wrong:
                found[place] = InvalidRecords(
                    ErrorCode.INVALID_RECORD, "Some records have no schema of the topic's.", wrong
                )
        return found

    def _wrong(self, leader: "Leader", view: memoryview, until: float) -> Iterator[tuple[int, str]]:
        asked: dict[tuple[str, str], str | None] = {}
        for claim, strategy, topic in _claims_of(leader, view):
            if not claim.at:
                yield claim.index, f"The {claim.what} bears no id of a schema."
                continue
            key = claim.at, claim.what
            if key not in asked:
                held = self._known.holds(claim.at, strategy, topic, claim.what)
                asked[key] = (
                    None if held else self._known.ask(claim.at, strategy, topic, claim.what, until)
                )
            reason = asked[key]
            if reason is not None:
                yield claim.index, reason


def _claims_of(leader: "Leader", view: memoryview) -> Iterator[tuple[Claim, str, str]]:
    """Of a batch that cannot be read, those before the flaw: the append says what is wrong."""
    config, topic = leader.log.config, leader.topic_partition.topic
    try:
        header = next_batch(view, 0)
        if header is None:
            return
        for claim in claims(iterate_records(view, 0, header), config):
            yield (
                claim,
                config.key_subjects if claim.what == "key" else config.value_subjects,
                topic,
            )
    except KafkaError:
        return


@cache
def _asking() -> ThreadPoolExecutor:
    """Threads of their own: a registry that is away must not hold up cold reads and flushes."""
    return ThreadPoolExecutor(8, "ottla-schemas")

"""An answer as what is compared: plain values, no times and texts, ids by where they came from.

Fields at their defaults are left out. An id is written as the step that first told it, so that
*which* id an answer names is compared, though its value is not.
"""

from functools import cache
from typing import Any, NamedTuple

from msgspec.json import Encoder

from differential.steps import Area
from differential.symbols import INVENTED_ID, NOT_TOLD, leaves
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.codec import MalformedMessage, decode, encode
from ottla.wire.message import Message
from ottla.wire.record_batch import iterate_batches, iterate_records
from ottla.wire.records.consumer_protocol import ConsumerProtocolAssignment

_ENCODER = Encoder(order="sorted")
NEW = "<new>"
NOW = "<now>"
WALL_CLOCK_MS = 1_750_000_000_000
"""What is later was told by the broker's clock: sequences draw earlier ones."""

Comparable = Any
"""What json can say."""

TEXTS = frozenset(
    {
        "error_message",
        "acknowledge_error_message",
        "message",
        "batch_index_error_message",
        "host",
        "documentation",
        "status_detail",
    }
)
TIMES = frozenset(
    {
        "throttle_time_ms",
        "log_append_time_ms",
        "transaction_start_time_ms",
        "last_timestamp",
        "issue_timestamp",
        "last_fetch_timestamp",
        "last_caught_up_timestamp",
    }
)
ELSEWHERE = frozenset({"port", "cluster_id", "log_dir"})
"""Different by where a broker was started."""

PLACES = frozenset(
    {
        "listeners",
        "advertised.listeners",
        "log.dirs",
        "controller.quorum.voters",
        "controller.quorum.bootstrap.servers",
    }
)
"""Settings whose values are such."""

UNCOMPARED = TEXTS | TIMES | ELSEWHERE

IDS = frozenset(
    {
        "producer_id",
        "ongoing_txn_producer_id",
        "topic_id",
        "member_id",
        "leader",  # of a classic group
        "session_id",
        "replica_directory_id",
        "directory_id",
    }
)

KINDS = {"ongoing_txn_producer_id": "producer_id", "leader": "member_id"}
"""Fields that tell an id of another field's kind."""

OWNED = {
    "ListTransactionsResponse.transaction_states": "transactional_id",
    "ListGroupsResponse.groups": "group_id",
    "MetadataResponse.topics": "name",
    "ListConfigResourcesResponse.config_resources": "resource_name",
    "DescribeTopicPartitionsResponse.topics": "name",
    "ElectLeadersResponse.replica_election_results": "topic",
}
"""Lists that show the whole broker, and the name by which a sequence knows its own."""

ABOUT = (
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "group_id",
    "transactional_id",
    "resource_type",
    "resource_name",
    "partition_index",
    "partition",
    "index",
    "api_key",
)

ASSIGNMENTS = frozenset({"assignment", "member_assignment"})
"""What a consumer is given, as bytes: Kafka names topics in the order of their ids' hashes."""

ORDERED = frozenset({"FetchResponse.responses", "FetchableTopicResponse.partitions"})


BYTES = (bytes, bytearray, memoryview)


class Compared(NamedTuple):
    """A field of a message that counts."""

    name: str
    default: Any
    path: str


@cache
def compared_fields(kind: type[Message]) -> tuple[Compared, ...]:
    default = kind()
    return tuple(
        Compared(name, getattr(default, name), f"{kind.__name__}.{name}")
        for name in kind.__struct_fields__
        if name not in UNCOMPARED
    )


class Comparer:
    """Of one run: it remembers which step told an id first."""

    def __init__(self, area: Area, *prefixes: str) -> None:
        """The prefixes of the sequence's names, and of those it shares with others."""
        self.prefixes = prefixes
        self.ids = IDS | area.ids
        self.ordered = ORDERED | area.ordered
        self.uncompared = area.uncompared
        self.assignments = ASSIGNMENTS if area.broker_assigns else frozenset[str]()
        self.first_told: dict[tuple[str, Any], str] = {}
        self.step = 0
        self.request: Message | None = None
        self.looking = False
        self.met_new = 0
        """How often a look met an id that nobody has told yet."""

    def begin(self, step: int, request: Message) -> None:
        self.step = step
        self.request = request

    def know(self, field: str, value: Any, label: str) -> None:
        self.first_told[KINDS.get(field, field), value] = label

    def label(self, field: str, value: Any) -> Comparable:
        """Ids the sequence invented itself stay as they are: both sides were given the same."""
        kind = KINDS.get(field, field)
        if (kind, value) not in self.first_told:
            if value in NOT_TOLD or self.is_invented(value):
                return self.plain(value)
            if self.looking:
                self.met_new += 1
                return NEW
            here = f"<{kind} of {self.step}"
            others = sum(told.startswith(here) for told in self.first_told.values())
            self.first_told[kind, value] = f"{here}{f'.{others + 1}' if others else ''}>"
        return self.first_told[kind, value]

    def is_invented(self, value: Any) -> bool:
        is_possible = not isinstance(value, int) or value >= INVENTED_ID
        return is_possible and value in leaves(self.request)

    def plain(self, value: Any) -> Comparable:
        if isinstance(value, str):
            for prefix in self.prefixes:
                value = value.replace(prefix, "~")
            return value
        if isinstance(value, BYTES):
            said = bytes(value)
            for prefix in self.prefixes:
                said = said.replace(prefix.encode(), b"~")
            return said.hex()
        return value

    def compare(self, value: Any, field: str = "", path: str = "") -> Comparable:
        if isinstance(value, Message):
            return self.message(value)
        if isinstance(value, list):
            return self.many(value, field, path)
        if field == "records":
            return self.records(value)
        if field in self.assignments and isinstance(value, bytes | memoryview):
            return self.plain(in_order_of_topics(bytes(value)))
        if field in self.ids and not isinstance(value, bool):
            return self.label(field, value)
        if field.endswith("error_code"):
            return name_of(value)
        if field == "timestamp" and value > WALL_CLOCK_MS:
            return NOW
        return self.plain(value)

    def message(self, message: Message) -> Comparable:
        told = {}
        for name, default, path in compared_fields(type(message)):
            value = getattr(message, name)
            if value == default or name in self.uncompared:
                continue
            if name == "value" and getattr(message, "name", "") in PLACES:
                continue
            said = self.compare(value, name, path)
            if said != [] or path not in OWNED:  # nothing of its own is as good as nothing
                told[name] = said
        return told

    def many(self, values: list[Any], field: str, path: str) -> Comparable:
        if path in OWNED:
            named = OWNED[path]
            values = [v for v in values if str(getattr(v, named) or "").startswith(self.prefixes)]
        if path in self.ordered or len(values) < 2:
            return [self.compare(value, field) for value in values]
        met_new = self.met_new
        told = [self.look(value, field) for value in values]
        if not self.looking and self.met_new > met_new:
            pairs = sorted(zip(map(text, told), range(len(told)), values, strict=True))
            told = [self.compare(value, field) for _, _, value in pairs]
        return sorted(told, key=place)

    def look(self, value: Any, field: str) -> Comparable:
        """Without remembering, so that new ids are told in an order of their places."""
        self.looking, kept = True, self.looking
        said = self.compare(value, field)
        self.looking = kept
        return said

    def records(self, value: bytes | memoryview | None) -> Comparable:
        if value is None:
            return None
        told = []
        try:
            for at, header in iterate_batches(value):
                batch: dict[str, Any] = {
                    "base_offset": header.base_offset,
                    "leader_epoch": header.leader_epoch,
                    "attributes": header.attributes,
                    "producer": self.label("producer_id", header.producer_id),
                    "epoch": header.producer_epoch,
                    "sequence": header.base_sequence,
                    "count": header.count,
                    "last_offset_delta": header.last_offset_delta,
                }
                if not header.is_control and not header.log_append_time:
                    batch["timestamps"] = [header.base_timestamp, header.max_timestamp]
                records = iterate_records(value, at, header, 1 << 20)
                batch["records"] = [
                    [each.key and each.key.hex(), each.value and each.value.hex()[:64]]
                    for each in records
                ]
                told.append(batch)
        except KafkaError as error:
            told.append({"unreadable": name_of(error.code)})
        return told


def in_order_of_topics(assignment: bytes) -> bytes:
    """As it is, where it is not a consumer's."""
    try:
        given, _ = decode(ConsumerProtocolAssignment, 0, assignment, 2)
    except MalformedMessage:
        return assignment
    given.assigned_partitions.sort(key=lambda one: one.topic)
    return assignment[:2] + encode(given, 0)


def name_of(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return f"error {code}"


def text(value: Comparable) -> str:
    """The one spelling of a comparable value."""
    return _ENCODER.encode(value).decode()


def place(value: Comparable) -> tuple[str, ...]:
    """By what an element is about first, so that the same ones of two answers are side by side."""
    if not isinstance(value, dict):
        return (text(value),)
    named = (text(value[name]) if name in value else "0" for name in ABOUT)
    return (*named, text(value))


def about(value: Comparable) -> str:
    """What an element is about, for people."""
    if not isinstance(value, dict):
        return text(value)
    return " ".join(str(value[name]) for name in ABOUT if name in value)


Leaf = tuple[str, Comparable, Comparable]


def differences(kafka: Comparable, ottla: Comparable, path: str = "") -> list[Leaf]:
    """Where two answers differ: path, one value, the other."""
    if kafka == ottla:
        return []
    if isinstance(kafka, dict) and isinstance(ottla, dict):
        names = sorted(kafka.keys() | ottla.keys())
        return [
            leaf
            for name in names
            for leaf in differences(kafka.get(name), ottla.get(name), f"{path}.{name}".lstrip("."))
        ]
    if isinstance(kafka, list) and isinstance(ottla, list) and len(kafka) == len(ottla):
        pairs = enumerate(zip(kafka, ottla, strict=True))
        return [leaf for n, (k, o) in pairs for leaf in differences(k, o, f"{path}.{n}")]
    if isinstance(kafka, list) and isinstance(ottla, list):
        ours, theirs = {about(each): each for each in ottla}, {about(each): each for each in kafka}
        if len(ours) == len(ottla) and len(theirs) == len(kafka):
            return [
                leaf
                for name in sorted(ours.keys() | theirs.keys())
                for leaf in differences(theirs.get(name), ours.get(name), f"{path}[{name}]")
            ]
    return [(path, kafka, ottla)]

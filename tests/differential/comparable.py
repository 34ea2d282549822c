"""An answer as what is compared: plain values, no times and texts, ids by where they came from.

Fields at their defaults are left out. An id is written as the step that first told it, so that
*which* id an answer names is compared, though its value is not.
"""

from typing import Any

from msgspec.json import Encoder

from differential.steps import Area
from differential.symbols import INVENTED_ID, NOT_TOLD
from ottla.errors import ErrorCode, KafkaError
from ottla.wire.message import Message
from ottla.wire.record_batch import iterate_batches, iterate_records

_ENCODER = Encoder(order="sorted")
NEW = "<new>"

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

ORDERED = frozenset({"FetchResponse.responses", "FetchableTopicResponse.partitions"})


class Comparer:
    """Of one run: it remembers which step told an id first."""

    def __init__(self, area: Area, prefix: str) -> None:
        self.prefix = prefix
        self.ids = IDS | area.ids
        self.ordered = ORDERED | area.ordered
        self.first_told: dict[tuple[str, Any], str] = {}
        self.step = 0
        self.asked: set[Any] = set()
        self.looking = False

    def begin(self, step: int, request: Message) -> None:
        self.step = step
        self.asked = set(leaves(request))

    def know(self, field: str, value: Any, label: str) -> None:
        self.first_told[KINDS.get(field, field), value] = label

    def label(self, field: str, value: Any) -> Comparable:
        """Ids the sequence invented itself stay as they are: both sides were given the same."""
        kind = KINDS.get(field, field)
        if (kind, value) not in self.first_told:
            if value in NOT_TOLD or self.is_invented(value):
                return self.plain(value)
            if self.looking:
                return NEW
            here = f"<{kind} of {self.step}"
            others = sum(told.startswith(here) for told in self.first_told.values())
            self.first_told[kind, value] = f"{here}{f'.{others + 1}' if others else ''}>"
        return self.first_told[kind, value]

    def is_invented(self, value: Any) -> bool:
        return value in self.asked and (not isinstance(value, int) or value >= INVENTED_ID)

    def plain(self, value: Any) -> Comparable:
        if isinstance(value, str):
            return value.replace(self.prefix, "~")
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value).replace(self.prefix.encode(), b"~").hex()
        return value

    def compare(self, value: Any, field: str = "", path: str = "") -> Comparable:
        if isinstance(value, Message):
            return self.message(value)
        if isinstance(value, list):
            return self.many(value, field, path)
        if field == "records":
            return self.records(value)
        if field in self.ids and not isinstance(value, bool):
            return self.label(field, value)
        if field.endswith("error_code"):
            return name_of(value)
        return self.plain(value)

    def message(self, message: Message) -> Comparable:
        default = type(message)()
        told = {}
        for name in message.__struct_fields__:
            value = getattr(message, name)
            if name in UNCOMPARED or value == getattr(default, name):
                continue
            if name == "value" and getattr(message, "name", "") in PLACES:
                continue
            path = f"{type(message).__name__}.{name}"
            said = self.compare(value, name, path)
            if said != [] or path not in OWNED:  # nothing of its own is as good as nothing
                told[name] = said
        return told

    def many(self, values: list[Any], field: str, path: str) -> Comparable:
        if path in OWNED:
            named = OWNED[path]
            values = [v for v in values if str(getattr(v, named) or "").startswith(self.prefix)]
        if path in self.ordered:
            return [self.compare(value, field) for value in values]
        told = [self.look(value, field) for value in values]
        if not self.looking and any(NEW in text(each) for each in told):
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


def leaves(value: Any) -> list[Any]:
    """Every plain value inside a message."""
    if isinstance(value, Message):
        return [leaf for name in value.__struct_fields__ for leaf in leaves(getattr(value, name))]
    if isinstance(value, list):
        return [leaf for each in value for leaf in leaves(each)]
    return [] if isinstance(value, memoryview | bytearray) else [value]


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

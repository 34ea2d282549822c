"""`ottla consume`: records out, from wherever one likes to begin."""

import json as json_
import sys
from base64 import b64encode
from collections.abc import Iterator
from typing import Annotated, Any
from uuid import uuid4

import typer
from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as ClientError

from ottla.cli.arguments import Target, complete_topics, reaches_a_cluster
from ottla.cli.framed import ID_HEADERS, Frames, shown
from ottla.cli.moments import parse_moment, show_moment
from ottla.cli.output import err, print_json
from ottla.cli.schema import Url
from ottla.client.admin import find_topic
from ottla.client.schema_registry import RegistryAway, SchemaRegistry, url_of
from ottla.errors import OttlaError

Place = tuple[str | None, int | None]
BEGINNING, END = -2, -1


@reaches_a_cluster
def consume(
    target: Target,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=complete_topics)],
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", "-f", help="All there is, not only what comes.")
    ] = False,
    offset: Annotated[
        int | None,
        typer.Option("--offset", "-o", help="Begin here; -5 means five before the end."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Begin at a time: 2026-11-15T10:00, or 10m ago.")
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", help="Only this one.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", "-g", help="Join this group and commit its offsets.")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stop after so many records.")
    ] = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit-at-end", "-e", help="Stop when all has been read.")
    ] = False,
    keys: Annotated[bool, typer.Option("--keys", "-k", help="Show keys.")] = False,
    headers: Annotated[bool, typer.Option("--headers", "-H", help="Show headers.")] = False,
    timestamps: Annotated[bool, typer.Option("--timestamps", "-t", help="Show when.")] = False,
    json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
    decode: Annotated[
        bool, typer.Option("--decode", help="Values by the schemas of a registry, as JSON.")
    ] = False,
    registry: Url = None,
) -> None:
    """Print a topic's records as they come."""
    if group and (offset is not None or since or partition is not None):
        raise OttlaError("A group goes on where it was; leave out --offset, --since, --partition.")
    connection = target.connection()
    consumer = connection.consumer(
        fixed={
            "group.id": group or f"ottla-consume-{uuid4().hex[:8]}",
            "enable.auto.commit": group is not None,
            "enable.auto.offset.store": False,  # a record counts as read when it was printed
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest" if from_beginning else "latest",
        }
    )
    numbers = sorted(find_topic(consumer, connection, topic).partitions)
    if group:
        if not from_beginning:
            _tell_a_new_group(consumer, group, topic, numbers)
        consumer.subscribe([topic])
    else:
        wanted = [n for n in numbers if partition in (None, n)]
        if not wanted:
            raise OttlaError(f"{topic} has no partition {partition}.")
        consumer.assign(_begin(consumer, topic, wanted, from_beginning, offset, since))
    frames = Frames(SchemaRegistry(url_of(registry))) if decode else None
    try:
        for message in _messages(consumer, exit_at_end, count):
            value = message.value() if frames is None else _decoded(frames, message)
            if json:
                print_json(_as_json(message, value))
            else:
                _print_plain(message, value, keys, headers, timestamps)
            if group:
                consumer.store_offsets(message)
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()


def _tell_a_new_group(consumer: Consumer, group: str, topic: str, partitions: list[int]) -> None:
    """A group without offsets starts at the end: who waits for what is there should know."""
    places = [TopicPartition(topic, number) for number in partitions]
    if any(place.offset >= 0 for place in consumer.committed(places, timeout=10)):
        return
    ends = (consumer.get_watermark_offsets(place, timeout=10) for place in places)
    there = sum(last - first for first, last in ends)
    if there:
        err.print(
            f"{group} is new and starts at the end of {topic}: {there:,} records before it are "
            "left out. --from-beginning starts with them."
        )


def _begin(
    consumer: Consumer,
    topic: str,
    partitions: list[int],
    from_beginning: bool,
    offset: int | None,
    since: str | None,
) -> list[TopicPartition]:
    if since is not None:
        at = parse_moment(since)
        asked = [TopicPartition(topic, number, at) for number in partitions]
        return consumer.offsets_for_times(asked, timeout=10)
    if offset is None:
        start = BEGINNING if from_beginning else END
        return [TopicPartition(topic, number, start) for number in partitions]
    begin = []
    for number in partitions:
        first, last = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=10)
        wanted = offset if offset >= 0 else last + offset
        begin.append(TopicPartition(topic, number, max(first, min(wanted, last))))
    return begin


def _messages(consumer: Consumer, exit_at_end: bool, count: int | None) -> Iterator[Message]:
    """Records until the count is reached or, if asked, every partition's end was seen."""
    ended: set[Place] = set()
    left = count
    while left is None or left > 0:
        message = consumer.poll(0.5)
        if message is None:
            if exit_at_end and _all_ended(consumer, ended):
                return  # what was still to be read is another member's by now
            continue
        place = (message.topic(), message.partition())
        error = message.error()
        if error is None:
            ended.discard(place)
            yield message
            left = None if left is None else left - 1
        elif error.code() == ClientError._PARTITION_EOF:
            ended.add(place)
            if exit_at_end and _all_ended(consumer, ended):
                return
        elif error.fatal() or not error.retriable():
            raise KafkaException(error)


def _all_ended(consumer: Consumer, ended: set[Place]) -> bool:
    """Whether the end of all that is assigned was seen; what was taken away is forgotten."""
    assigned = {(part.topic, part.partition) for part in consumer.assignment()}
    ended &= assigned
    return bool(assigned) and ended == assigned


def _decoded(frames: Frames, message: Message) -> bytes | None:
    """As JSON; what cannot be decoded is shown as it is, and told of."""
    value = message.value()
    if value is None:
        return None
    header = dict(_header_pairs(message)).get(ID_HEADERS["value"])
    try:
        return json_.dumps(
            frames.decode(bytes(value), header), ensure_ascii=False, default=shown
        ).encode()
    except RegistryAway:
        raise
    except OttlaError as error:
        err.print(f"partition {message.partition()}, offset {message.offset()}: {error}")
        return bytes(value)


def _print_plain(
    message: Message, value: bytes | None, keys: bool, headers: bool, timestamps: bool
) -> None:
    parts = []
    if timestamps:
        parts.append(show_moment(message.timestamp()[1]).encode())
    if headers:
        shown = (f"{name}={_text(value)}" for name, value in _header_pairs(message))
        parts.append(",".join(shown).encode())
    if keys:
        parts.append(message.key() or b"")
    parts.append(value or b"")
    sys.stdout.buffer.write(b"\t".join(parts) + b"\n")
    sys.stdout.buffer.flush()


def _as_json(message: Message, value: bytes | None) -> dict[str, Any]:
    return {
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": message.timestamp()[1],
        "key": _json_field(message.key()),
        "value": _json_field(value),
        "headers": [[name, _json_field(value)] for name, value in _header_pairs(message)],
    }


def _header_pairs(message: Message) -> list[tuple[str, bytes | None]]:
    pairs: Any = message.headers() or []  # the stubs allow shapes that a consumer never gives
    return [(str(name), _raw(value)) for name, value in pairs]


def _raw(value: object) -> bytes | None:
    return value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else None


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode(errors="replace")


def _json_field(value: bytes | None) -> str | dict[str, str] | None:
    """Text where it is text; otherwise base64, told apart by its shape."""
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}

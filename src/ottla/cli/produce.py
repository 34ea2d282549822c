"""`ottla produce`: lines in, records out."""

import json
import sys
from base64 import b64decode
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException, Message, Producer

from ottla.cli.arguments import Target, assignments, complete_topics, reaches_a_cluster
from ottla.cli.framed import JSON, encoder, protobuf_encoder
from ottla.cli.output import err, progress
from ottla.cli.schema import Url
from ottla.client.admin import read_metadata
from ottla.client.kafka_errors import explain
from ottla.client.schema_registry import AVRO, SchemaRegistry, url_of
from ottla.errors import OttlaError

BYTES_MAX = 1_000_000_000
"""The largest record that the client library can be told to accept."""
SHOWN_MAX = 80


class Deliveries:
    """Counts what the brokers acknowledged and keeps the first refusal."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self.refused = 0
        self.first_error: ClientError | None = None
        self.first_line = 0

    def __call__(self, line: int, error: ClientError | None, _message: Message) -> None:
        if error is None:
            self.acknowledged += 1
            return
        self.refused += 1
        if self.first_error is None:
            self.first_error, self.first_line = error, line


@reaches_a_cluster
def produce(
    target: Target,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", autocompletion=complete_topics)],
    file: Annotated[
        Path | None, typer.Argument(help="Read this file instead of standard input.")
    ] = None,
    key_separator: Annotated[
        str | None,
        typer.Option("--key-separator", "-k", help="What parts key and value in a line."),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "-H", metavar="NAME=VALUE", help="On each record; repeatable."),
    ] = None,
    json_lines: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Each line is an object: value, and if you like key, headers, partition, "
            "timestamp. What `ottla consume --json` prints can be read again.",
        ),
    ] = False,
    partition: Annotated[int, typer.Option("--partition", "-p", help="Always this one.")] = -1,
    compression: Annotated[
        str, typer.Option("--compression", "-z", help="none, gzip, snappy, lz4 or zstd.")
    ] = "none",
    avro: Annotated[
        str | None,
        typer.Option(metavar="SUBJECT", help="Values are JSON, and written in its Avro schema."),
    ] = None,
    json_schema: Annotated[
        str | None,
        typer.Option(metavar="SUBJECT", help="Values are JSON that its JSON Schema allows."),
    ] = None,
    protobuf: Annotated[
        str | None,
        typer.Option(metavar="SUBJECT", help="Values are JSON, and written as its message."),
    ] = None,
    message: Annotated[
        str | None, typer.Option(help="Of --protobuf's schema; else the first one.")
    ] = None,
    registry: Url = None,
) -> None:
    """Send each line of standard input or a file as a record."""
    encode = _encoder(avro, json_schema, protobuf, message, registry)
    headers = list(assignments(header, "--header").items())
    connection = target.connection()
    producer = connection.producer(
        {
            "compression.type": compression,
            "linger.ms": 5,
            "message.max.bytes": BYTES_MAX,  # what is too large is for the topic to say
        }
    )
    read_metadata(producer, connection)
    deliveries = Deliveries()
    size = file.stat().st_size if file is not None and file.is_file() else None
    wrong: list[str] = []
    with _opened(file) as source, progress(size) as bar:
        task = bar.add_task(f"sending to {topic}", total=size)
        number = 0
        try:
            for number, line in enumerate(source, 1):
                record = _json_record(line) if json_lines else _plain_record(line, key_separator)
                if encode is not None and record["value"] is not None:
                    record["value"] = encode(record["value"])
                record["headers"] = [*record.get("headers", []), *headers]
                if partition >= 0:
                    record["partition"] = partition
                _send(producer, topic, record, partial(deliveries, number))
                bar.update(task, advance=len(line))
        except OttlaError as error:
            wrong.append(f"Line {number}: {error}")
        except KafkaException as error:
            wrong.append(f"Line {number}: {explain(error, connection.bootstrap)}")
        finally:  # whatever ended it, the lines before are records that were promised
            while producer.flush(0.2):
                bar.update(task, description=f"{len(producer):,} records left")
    if deliveries.first_error is not None:
        wrong.append(
            f"{deliveries.refused:,} records were not taken, the first of them line "
            f"{deliveries.first_line}: "
            f"{explain(KafkaException(deliveries.first_error), connection.bootstrap)}"
        )
    sent = f"{deliveries.acknowledged:,} records sent to {topic}."
    if wrong:
        raise OttlaError(" ".join([*wrong, sent]))
    err.print(sent)


def _encoder(
    avro: str | None,
    json_schema: str | None,
    protobuf: str | None,
    message: str | None,
    registry: str | None,
) -> Callable[[bytes], bytes] | None:
    if [avro, json_schema, protobuf].count(None) < 2:
        raise OttlaError("--avro, --json-schema or --protobuf: a value has one schema.")
    there = SchemaRegistry(url_of(registry))
    if avro is not None:
        return encoder(there, avro, AVRO)
    if protobuf is not None:
        return protobuf_encoder(there, protobuf, message)
    return encoder(there, json_schema, JSON) if json_schema is not None else None


def _send(
    producer: Producer,
    topic: str,
    record: dict[str, Any],
    delivered: Callable[[ClientError | None, Message], None],
) -> None:
    while True:
        try:
            producer.produce(topic, on_delivery=delivered, **record)
            producer.poll(0)
            return
        except BufferError:  # the local queue is full: let some be acknowledged first
            producer.poll(0.1)


def _opened(file: Path | None) -> BinaryIO:
    if file is None:
        return sys.stdin.buffer
    try:
        return file.open("rb")
    except OSError as error:
        raise OttlaError(f"{file} cannot be read: {error.strerror}.") from None


def _plain_record(line: bytes, key_separator: str | None) -> dict[str, Any]:
    value = line.removesuffix(b"\n").removesuffix(b"\r")
    if not key_separator:
        return {"value": value}
    key, found, rest = value.partition(key_separator.encode())
    if not found:
        raise OttlaError(f"{_shown(value)} has no {key_separator!r}.")
    return {"key": key, "value": rest}


def _json_record(line: bytes) -> dict[str, Any]:
    try:
        given = json.loads(line)
    except ValueError as error:
        raise OttlaError(f"{_shown(line)} is not JSON: {error}.") from None
    if not isinstance(given, dict) or "value" not in given:
        raise OttlaError(f"{_shown(line)} is no object with a value.")
    record: dict[str, Any] = {name: _field(name, given.get(name)) for name in ("value", "key")}
    record["headers"] = _headers(given.get("headers"))
    for name, limit in (("partition", 1 << 31), ("timestamp", 1 << 63)):
        number = given.get(name)
        if number is None:
            continue
        if type(number) is not int or not -1 <= number < limit:
            raise OttlaError(f"{name} cannot be {json.dumps(number)}: a number is expected.")
        record[name] = number
    return record


def _headers(given: Any) -> list[tuple[str, bytes | None]]:
    pairs = list(given.items()) if isinstance(given, dict) else given or []
    try:
        return [(str(name), _field(f"header {name}", value)) for name, value in pairs]
    except (TypeError, ValueError):
        raise OttlaError(
            "headers must be an object, or a list of pairs: [[name, value], …]."
        ) from None


def _field(name: str, value: Any) -> bytes | None:
    """Text as it is, `{"base64": …}` as bytes, any other JSON as JSON."""
    if value is None:
        return None
    if isinstance(value, dict) and value.keys() == {"base64"}:
        try:
            return b64decode(value["base64"], validate=True)
        except (TypeError, ValueError):
            raise OttlaError(f"{name} is not base64.") from None
    text = value if isinstance(value, str) else _compact(value)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise OttlaError(f"{name} is not text: half of a surrogate pair is missing.") from None


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…")

"""`ottla produce`: lines in, records out."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import Message, Producer

from ottla.cli.arguments import (
    DEFAULT_BOOTSTRAP,
    Bootstrap,
    ClientOptions,
    assignments,
    complete_topics,
)
from ottla.cli.cluster import Cluster
from ottla.cli.output import err, progress
from ottla.errors import OttlaError


class Deliveries:
    """Counts what the brokers acknowledged and keeps the first refusal."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self.refused = 0
        self.first_error: ClientError | None = None

    def __call__(self, error: ClientError | None, _message: Message) -> None:
        if error is None:
            self.acknowledged += 1
        else:
            self.refused += 1
            self.first_error = self.first_error or error


def produce(
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
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    client: ClientOptions = None,
) -> None:
    """Send each line of standard input or a file as a record."""
    headers = list(assignments(header, "--header").items())
    cluster = Cluster(bootstrap, client)
    producer = cluster.producer(**{"compression.type": compression, "linger.ms": 5})
    cluster.metadata(producer)
    deliveries = Deliveries()
    size = file.stat().st_size if file is not None and file.is_file() else None
    with _opened(file) as source, progress(size) as bar:
        task = bar.add_task(f"sending to {topic}", total=size)
        for line in source:
            record = _json_record(line) if json_lines else _plain_record(line, key_separator)
            record["headers"] = [*record.get("headers", []), *headers]
            record.setdefault("partition", partition)
            _send(producer, topic, record, deliveries)
            bar.update(task, advance=len(line))
        while producer.flush(0.2):
            bar.update(task, description=f"{len(producer):,} records left")
    if deliveries.first_error is not None:
        raise OttlaError(
            f"{deliveries.refused:,} of {deliveries.refused + deliveries.acknowledged:,} records "
            f"were not taken: {deliveries.first_error.str().removeprefix('Broker: ')}."
        )
    err.print(f"{deliveries.acknowledged:,} records sent to {topic}.")


def _send(producer: Producer, topic: str, record: dict[str, Any], deliveries: Deliveries) -> None:
    while True:
        try:
            producer.produce(topic, on_delivery=deliveries, **record)
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
        raise OttlaError(f"The line {value.decode(errors='replace')!r} has no {key_separator!r}.")
    return {"key": key, "value": rest}


def _json_record(line: bytes) -> dict[str, Any]:
    try:
        given = json.loads(line)
    except ValueError as error:
        shown = line.decode(errors="replace").strip()
        raise OttlaError(f"{shown!r} is not JSON: {error}.") from None
    if not isinstance(given, dict) or "value" not in given:
        raise OttlaError(f"{line.decode().strip()!r} is no object with a value.")
    record: dict[str, Any] = {"value": _field(given["value"]), "key": _field(given.get("key"))}
    record["headers"] = list(_headers(given.get("headers") or {}))
    for name in ("partition", "timestamp"):
        if isinstance(given.get(name), int):
            record[name] = given[name]
    return record


def _headers(given: Any) -> Iterator[tuple[str, bytes | None]]:
    pairs = given.items() if isinstance(given, dict) else given
    for name, value in pairs:
        yield str(name), _field(value)


def _field(value: Any) -> bytes | None:
    """Text as it is, `{"base64": …}` as bytes, any other JSON as JSON."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"}:
        from base64 import b64decode

        return b64decode(value["base64"])
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

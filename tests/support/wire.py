"""One raw connection, with kio as the codec: requests that no client library would send.

`ask("fetch", 17, max_wait=0, topics=[{…}])` fills what is not named with the schema's default or
zero. Milliseconds are plain numbers in both directions of a call.
"""

import dataclasses
import datetime
import io
import socket
import struct
import time
import typing
from types import NoneType, UnionType
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map
from kio.serial import entity_reader, entity_writer

API_KEYS = {name: key for key, name in api_key_map.items()}
ZEROS = {"string": "", "bytes": b"", "records": b"", "bool": False, "uuid": None}


class Connection:
    """Blocking; requests may be sent ahead of their replies."""

    def __init__(self, bootstrap: str, timeout: float = 15, client_id: str = "raw") -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation_id = 0
        self.client_id = client_id

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, api: str, version: int, **fields: Any) -> Any:
        """The reply to one request; its correlation id is checked."""
        sent = self.send(api, version, **fields)
        received, reply = self.receive(api, version)
        assert received == sent, "a reply out of order"
        return reply

    def new_producer_id(self) -> int:
        """An id for an idempotent producer; Kafka asks for patience for its first block of ids."""
        while True:
            reply = self.ask("init_producer_id", 4, transactional_id=None)
            if reply.error_code != ErrorCode.coordinator_load_in_progress:
                assert (reply.error_code, reply.producer_epoch) == (ErrorCode.none, 0)
                return int(reply.producer_id)
            time.sleep(0.02)

    def send(self, api: str, version: int, **fields: Any) -> int:
        """Send without waiting; the correlation id."""
        self.correlation_id += 1
        self.send_frame(encode_request(api, version, self.correlation_id, fields, self.client_id))
        return self.correlation_id

    def send_together(self, api: str, version: int, *requests: dict[str, Any]) -> None:
        """In one piece, so that the broker reads them at once."""
        whole = b""
        for fields in requests:
            self.correlation_id += 1
            frame = encode_request(api, version, self.correlation_id, fields)
            whole += struct.pack(">i", len(frame)) + frame
        self.socket.sendall(whole)

    def send_frame(self, frame: bytes) -> None:
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive(self, api: str, version: int) -> tuple[int, Any]:
        return decode_response(api, version, self.receive_frame())

    def receive_frame(self) -> bytes:
        (size,) = struct.unpack(">i", self.receive_exactly(4))
        return self.receive_exactly(size)

    def receive_exactly(self, size: int) -> bytes:
        chunks = bytearray()
        while len(chunks) < size:
            chunk = self.socket.recv(size - len(chunks))
            if not chunk:
                raise ConnectionResetError("the broker closed the connection")
            chunks += chunk
        return bytes(chunks)

    def is_closed_by_peer(self, timeout: float = 5) -> bool:
        """Whether the broker closes within the time, without sending anything more."""
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False


def encode_request(
    api: str, version: int, correlation_id: int, fields: dict[str, Any], client_id: str = "raw"
) -> bytes:
    schema = load_request_schema(API_KEYS[api], version)
    header_schema = schema.__header_schema__
    header = fill(
        header_schema,
        {
            "request_api_key": API_KEYS[api],
            "request_api_version": version,
            "correlation_id": correlation_id,
            "client_id": client_id,
        },
    )
    buffer = io.BytesIO()
    entity_writer(header_schema)(buffer, header)
    entity_writer(schema)(buffer, fill(schema, fields))
    return buffer.getvalue()


def decode_response(api: str, version: int, frame: bytes) -> tuple[int, Any]:
    schema = load_response_schema(API_KEYS[api], version)
    header, size = entity_reader(schema.__header_schema__)(frame, 0)
    reply, _ = entity_reader(schema)(frame, size)
    return header.correlation_id, reply


def fill(schema: Any, given: dict[str, Any]) -> Any:
    """An entity of the schema from plain values."""
    hints = typing.get_type_hints(schema)
    names = {field.name for field in dataclasses.fields(schema)}
    assert given.keys() <= names, f"{schema.__name__} has no {given.keys() - names}"
    values = {}
    for field in dataclasses.fields(schema):
        if field.name in given:
            values[field.name] = convert(field, hints[field.name], given[field.name])
        elif field.default is dataclasses.MISSING:
            values[field.name] = zero(field, hints[field.name])
    return schema(**values)


def convert(field: dataclasses.Field[Any], hint: Any, value: Any) -> Any:
    if field.metadata.get("kafka_type", "").startswith("timedelta"):
        return datetime.timedelta(milliseconds=value)
    if isinstance(value, list | tuple):
        return tuple(
            fill(element_type(hint), item) if isinstance(item, dict) else item for item in value
        )
    if isinstance(value, dict):
        return fill(without_none(hint), value)
    return value


def zero(field: dataclasses.Field[Any], hint: Any) -> Any:
    if typing.get_origin(without_none(hint)) is tuple:
        return ()
    kind = field.metadata.get("kafka_type", "")
    return convert(field, hint, ZEROS.get(kind, 0))


def element_type(hint: Any) -> Any:
    return typing.get_args(without_none(hint))[0]


def without_none(hint: Any) -> Any:
    if isinstance(hint, UnionType):
        return next(part for part in typing.get_args(hint) if part is not NoneType)
    return hint


def answers(bootstrap: str) -> bool:
    """Whether a broker serves there, and knows of itself."""
    try:
        with Connection(bootstrap, timeout=5) as connection:
            return len(connection.ask("metadata", 1, topics=[]).brokers) > 0
    except OSError:
        return False

"""Topics with schema validation take records whose schemas a registry holds, and no others."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ottla.broker.producing.schema_validation import record_name
from ottla.errors import ErrorCode
from ottla.ports.network import free_ports
from ottla.wire.compression import Codec
from ottla.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ottla.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ottla.wire.record_batch import NewRecord, build_batch

STRATEGY = "io.confluent.kafka.serializers.subject"
ORDER = '{"type": "record", "name": "Order", "namespace": "shop", "fields": []}'
GUID = bytes.fromhex("00112233445566778899aabbccddeeff")


class Schemas:
    """A registry's answers, for what brokers ask; `asked` are the paths."""

    def __init__(self, port: int) -> None:
        self.schemas: dict[int, tuple[str, list[str]]] = {}
        self.asked: list[str] = []
        self.status = 0  # of every answer, where it is set
        held = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                held.asked.append(self.path)
                found = held.answer(self.path)
                body = json.dumps(found or {"error_code": 40403, "message": "gone"}).encode()
                self.send_response(held.status or (200 if found is not None else 404))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> Any:
        if path == f"/schemas/guids/{'00112233-4455-6677-8899-aabbccddeeff'}":
            return {"schema": ORDER}
        if path.endswith("/ids"):
            return [{"context": ".", "id": 7}]
        id = int(path.split("/")[3])
        if id not in self.schemas:
            return None
        text, subjects = self.schemas[id]
        return subjects if path.endswith("/subjects") else {"schema": text}

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def port() -> int:
    return free_ports(1)[0]


@pytest.fixture
def schemas(port: int) -> Iterator[Schemas]:
    started = Schemas(port)
    started.schemas[7] = ORDER, ["orders-value"]
    started.schemas[8] = ORDER, ["other-value", "shop.Order", "named-shop.Order"]
    yield started
    started.close()


def url(port: int) -> dict[str, str]:
    return {"confluent_schema_registry_url": f"http://127.0.0.1:{port}"}


async def make(asking: Any, name: str, **configs: str) -> None:
    """A topic whose values are checked."""
    given = {"confluent.value.schema.validation": "true"}
    given |= {f"confluent.{key.replace('_', '.')}": value for key, value in configs.items()}
    topic = CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in given.items()],
    )
    made = await asking.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 5)
    assert [one.error_code for one in made.topics] == [0]


def framed(id: int, body: bytes = b"x") -> bytes:
    return b"\0" + id.to_bytes(4, "big", signed=True) + body


def produce(
    topic: str, *values: bytes | NewRecord | None, timeout_ms: int = 5000, codec: Codec = Codec.NONE
) -> ProduceRequest:
    now_ms = int(time.time() * 1000)
    records = [
        one if isinstance(one, NewRecord) else NewRecord(now_ms, None, one) for one in values
    ]
    data = [PartitionProduceData(index=0, records=build_batch(records, codec=codec))]
    return ProduceRequest(
        acks=-1,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name=topic, partition_data=data)],
    )


async def sent(asking: Any, request: ProduceRequest) -> tuple[int, list[tuple[int, str]]]:
    answer = await asking.ask(request, 9)
    found = answer.responses[0].partition_responses[0]
    errors = [(one.batch_index, one.batch_index_error_message) for one in found.record_errors]
    return found.error_code, errors


def test_what_bears_no_id_of_the_subject_is_refused_with_its_place_in_the_batch(
    serving: Any, run: Any, port: int, schemas: Schemas
) -> None:
    async def scenario() -> None:
        async with serving(**url(port)) as asking:
            await make(asking, "orders")
            assert await sent(asking, produce("orders", framed(7), None, framed(7))) == (0, [])
            values = framed(7), b"plain", framed(9), framed(8), b"", None
            assert await sent(asking, produce("orders", *values, codec=Codec.ZSTD)) == (
                ErrorCode.INVALID_RECORD,
                [
                    (1, "The value bears no id of a schema."),
                    (2, "The schema registry has no schema with the id 9."),
                    (3, "The schema with the id 8 does not stand under the subject orders-value."),
                    (4, "The value bears no id of a schema."),
                ],
            )

    run(scenario())


def test_a_known_id_is_asked_for_once_and_an_unknown_one_again(
    serving: Any, run: Any, port: int, schemas: Schemas
) -> None:
    async def scenario() -> None:
        async with serving(**url(port)) as asking:
            await make(asking, "orders")
            for _ in range(3):
                assert await sent(asking, produce("orders", framed(7))) == (0, [])
            assert schemas.asked == ["/schemas/ids/7", "/schemas/ids/7/subjects"]
            code, _ = await sent(asking, produce("orders", framed(9)))
            assert code == ErrorCode.INVALID_RECORD
            schemas.schemas[9] = ORDER, ["orders-value"]
            assert await sent(asking, produce("orders", framed(9))) == (0, [])

    run(scenario())


def test_strategies_make_other_subjects_and_keys_are_checked_where_that_is_said(
    serving: Any, run: Any, port: int, schemas: Schemas
) -> None:
    async def scenario() -> None:
        async with serving(**url(port)) as asking:
            by_name = {"value_subject_name_strategy": f"{STRATEGY}.RecordNameStrategy"}
            await make(asking, "any", **by_name)
            assert await sent(asking, produce("any", framed(8))) == (0, [])
            by_both = {"value_subject_name_strategy": f"{STRATEGY}.TopicRecordNameStrategy"}
            await make(asking, "named", **by_both)
            assert await sent(asking, produce("named", framed(8))) == (0, [])
            assert (await sent(asking, produce("named", framed(7))))[0] == ErrorCode.INVALID_RECORD
            await make(
                asking, "keyed", key_schema_validation="true", value_schema_validation="false"
            )
            now_ms = int(time.time() * 1000)
            plain = NewRecord(now_ms, None, b"plain"), NewRecord(now_ms, b"k", b"plain")
            assert await sent(asking, produce("keyed", *plain)) == (
                ErrorCode.INVALID_RECORD,
                [(1, "The key bears no id of a schema.")],
            )

    run(scenario())


def test_a_header_may_bear_the_id(serving: Any, run: Any, port: int, schemas: Schemas) -> None:
    async def scenario() -> None:
        async with serving(**url(port)) as asking:
            await make(asking, "orders")
            now_ms = int(time.time() * 1000)
            headers = (("__value_schema_id", b"\x01" + GUID),)
            record = NewRecord(now_ms, None, b"plain", headers)
            assert await sent(asking, produce("orders", record)) == (0, [])
            assert await sent(asking, produce("orders", b"\x01" + GUID + b"x")) == (0, [])

    run(scenario())


def test_a_registry_that_is_away_makes_a_request_wait_and_then_fail_for_now(
    serving: Any, run: Any, port: int
) -> None:
    async def scenario() -> None:
        async with serving(**url(port)) as asking:
            await make(asking, "orders")
            began = time.monotonic()
            code, _ = await sent(asking, produce("orders", framed(7), timeout_ms=600))
            assert code == ErrorCode.REQUEST_TIMED_OUT
            assert time.monotonic() - began < 5
            started: list[Schemas] = []

            def start() -> None:
                started.append(Schemas(port))
                started[0].schemas[7] = ORDER, ["orders-value"]

            timer = threading.Timer(0.3, start)
            timer.start()
            assert await sent(asking, produce("orders", framed(7), timeout_ms=8000)) == (0, [])
            timer.join()
            started[0].close()
            assert await sent(asking, produce("orders", framed(7))) == (0, [])  # remembered

    run(scenario())


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, ErrorCode.REQUEST_TIMED_OUT),
        (500, ErrorCode.REQUEST_TIMED_OUT),
        (422, ErrorCode.INVALID_RECORD),
    ],
)
def test_a_registry_that_refuses_to_say_is_as_good_as_away(
    serving: Any, run: Any, port: int, schemas: Schemas, status: int, code: ErrorCode
) -> None:
    async def scenario() -> None:
        schemas.status = status
        async with serving(**url(port)) as asking:
            await make(asking, "orders")
            refused, _ = await sent(asking, produce("orders", framed(-7), timeout_ms=400))
            assert refused == code

    run(scenario())


def test_other_topics_and_brokers_without_a_registry_check_nothing(
    serving: Any, run: Any, port: int, schemas: Schemas
) -> None:
    async def scenario() -> None:
        async with serving(**url(port)) as asking:
            await asking.make_topic("plain")
            assert isinstance(asking.take(produce("plain", b"plain"), 9), list)
            assert schemas.asked == []

    run(scenario())


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"schema": ORDER}, "shop.Order"),
        ({"schema": '"string"'}, "string"),
        ({"schema": '{"type": "record", "name": "a.B", "namespace": "c"}'}, "a.B"),
        ({"schema": '{"title": "Person"}', "schemaType": "JSON"}, "Person"),
        ({"schema": "true", "schemaType": "JSON"}, ""),
        (
            {
                "schema": 'syntax = "proto3";\npackage shop; // message No\nmessage Order {\n}',
                "schemaType": "PROTOBUF",
            },
            "shop.Order",
        ),
    ],
)
def test_a_schema_has_a_name(schema: dict[str, str], name: str) -> None:
    assert record_name(schema) == name

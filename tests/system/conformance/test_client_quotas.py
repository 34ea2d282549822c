"""Client quotas, answer by answer: how they are set and told, and what becomes of who is over one.

Each test has client ids of its own, so that no quota is in another's way. Limits are small and
requests large: one or two of them are over it, by an amount that can be worked out.
"""

import contextlib
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Producer
from kio.schema.errors import ErrorCode

from support.batches import batch
from support.confluent import wait_until
from support.wire import Connection, encode_request
from system.conformance.raw_topics import MakeRawTopic, RawTopic

WINDOW_S = 10  # of eleven samples the last one is not full
EXACT, DEFAULT, SPECIFIED = 0, 1, 2
Entity = dict[str, str | None]
Values = Mapping[str, float | None]


def alter(
    connection: Connection, entity: Entity, values: Values, *, validate_only: bool = False
) -> tuple[ErrorCode, str | None]:
    """None removes."""
    entry = {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in entity.items()],
        "ops": [
            {"key": key, "value": value or 0.0, "remove": value is None}
            for key, value in values.items()
        ],
    }
    reply = connection.ask("alter_client_quotas", 1, entries=[entry], validate_only=validate_only)
    (outcome,) = reply.entries
    return outcome.error_code, outcome.error_message


def described(
    connection: Connection, *components: tuple[str, int, str | None], strict: bool
) -> Any:
    wanted = [
        {"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components
    ]
    reply = connection.ask("describe_client_quotas", 1, components=wanted, strict=strict)
    if reply.error_code != ErrorCode.none:
        return reply.error_code
    return {
        tuple(sorted((one.entity_type, one.entity_name) for one in entry.entity)): {
            value.key: value.value for value in entry.values
        }
        for entry in reply.entries
    }


@pytest.fixture
def client_id() -> str:
    return f"client-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def limited(connection: Connection, client_id: str) -> Iterator[Callable[..., None]]:
    """Sets quotas of the client id, and removes them at the end."""
    entity: Entity = {"client-id": client_id}
    used: set[str] = set()

    def limit(**values: float) -> None:
        used.update(values)
        assert alter(connection, entity, values) == (ErrorCode.none, None)
        wait_until(
            lambda: bool(described(connection, ("client-id", EXACT, client_id), strict=True))
        )

    yield limit
    alter(connection, entity, dict.fromkeys(used))


@pytest.fixture
def client(bootstrap: str, client_id: str) -> Iterator[Connection]:
    with Connection(bootstrap, timeout=30, client_id=client_id) as opened:
        yield opened


# Set and told ---------------------------------------------------------------------------------


def test_quotas_are_told_as_they_were_set(connection: Connection, client_id: str) -> None:
    user = f"user-{client_id}"
    both: Entity = {"user": user, "client-id": client_id}
    by_name: Entity = {"user": user}
    any_client: Entity = {"user": user, "client-id": None}
    alter(connection, both, {"producer_byte_rate": 1000, "request_percentage": 12.5})
    alter(connection, any_client, {"consumer_byte_rate": 2000})
    alter(connection, by_name, {"controller_mutation_rate": 0.5})
    of_both = (("client-id", client_id), ("user", user))
    of_any = (("client-id", None), ("user", user))
    alone = (("user", user),)

    def told(*components: tuple[str, int, str | None], strict: bool = False) -> Any:
        return described(connection, ("user", EXACT, user), *components, strict=strict)

    wait_until(lambda: alone in told())
    assert told() == {
        of_both: {"producer_byte_rate": 1000.0, "request_percentage": 12.5},
        of_any: {"consumer_byte_rate": 2000.0},
        alone: {"controller_mutation_rate": 0.5},
    }
    assert set(told(strict=True)) == {alone}
    assert set(told(("client-id", EXACT, client_id))) == {of_both}
    assert set(told(("client-id", DEFAULT, None))) == {of_any}
    assert set(told(("client-id", SPECIFIED, None), strict=True)) == {of_both, of_any}
    for entity in (both, any_client, by_name):
        names = {
            "producer_byte_rate": None,
            "request_percentage": None,
            "consumer_byte_rate": None,
            "controller_mutation_rate": None,
        }
        assert alter(connection, entity, names) == (ErrorCode.none, None)
    wait_until(lambda: told() == {})


def test_what_is_only_validated_is_not_kept(connection: Connection, client_id: str) -> None:
    entity: Entity = {"client-id": client_id}
    asked = {"producer_byte_rate": 5.0}
    assert alter(connection, entity, asked, validate_only=True)[0] == ErrorCode.none
    assert described(connection, ("client-id", EXACT, client_id), strict=True) == {}


@pytest.mark.parametrize(
    ("entity", "values"),
    [
        ({}, {"producer_byte_rate": 1.0}),
        ({"team": "x"}, {"producer_byte_rate": 1.0}),
        ({"user": ""}, {"producer_byte_rate": 1.0}),
        ({"user": "x", "ip": "127.0.0.9"}, {"producer_byte_rate": 1.0}),
        ({"ip": "no such host at all"}, {"connection_creation_rate": 1.0}),
        ({"ip": "127.0.0.9"}, {"producer_byte_rate": 1.0}),
        ({"ip": "127.0.0.9"}, {"connection_creation_rate": 1.5}),
        ({"ip": "127.0.0.9"}, {"connection_creation_rate": 2.0**31}),
        ({"user": "x"}, {"connection_creation_rate": 1.0}),
        ({"user": "x"}, {"unheard_of": 1.0}),
        ({"user": "x"}, {"producer_byte_rate": 0.0}),
        ({"user": "x"}, {"producer_byte_rate": -1.0}),
        ({"user": "x"}, {"producer_byte_rate": 1.5}),
    ],
)
def test_what_is_no_quota_is_refused(
    connection: Connection, entity: Entity, values: Values
) -> None:
    code, message = alter(connection, entity, values)
    assert code == ErrorCode.invalid_request
    assert message


def test_a_fraction_too_small_to_count_is_none(connection: Connection, client_id: str) -> None:
    entity: Entity = {"client-id": client_id}
    asked = {"producer_byte_rate": 5.0000001}
    assert alter(connection, entity, asked, validate_only=True)[0] == ErrorCode.none


def test_a_quota_that_is_not_there_can_be_removed(connection: Connection, client_id: str) -> None:
    entity: Entity = {"client-id": client_id}
    assert alter(connection, entity, {"producer_byte_rate": None})[0] == ErrorCode.none
    assert alter(connection, entity, {"never_heard_of": None})[0] == ErrorCode.none


def test_an_entity_named_twice_is_told_once(connection: Connection, client_id: str) -> None:
    entry: dict[str, Any] = {
        "entity": [{"entity_type": "client-id", "entity_name": client_id}],
        "ops": [{"key": "producer_byte_rate", "value": 7.0, "remove": False}],
    }
    twice = connection.ask("alter_client_quotas", 1, entries=[entry, entry], validate_only=True)
    assert [one.error_code for one in twice.entries] == [ErrorCode.invalid_request]
    entry["ops"] = [*entry["ops"], *entry["ops"]]
    double = connection.ask("alter_client_quotas", 1, entries=[entry], validate_only=True)
    assert [one.error_code for one in double.entries] == [ErrorCode.invalid_request]


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", EXACT, "x")], ErrorCode.invalid_request),
        ([("user", EXACT, "x"), ("user", DEFAULT, None)], ErrorCode.invalid_request),
        ([("team", EXACT, "x")], ErrorCode.unsupported_version),
        ([("user", EXACT, None)], ErrorCode.invalid_request),
        ([("user", DEFAULT, "x")], ErrorCode.invalid_request),
        ([("user", SPECIFIED, "x")], ErrorCode.invalid_request),
        ([("user", 7, None)], ErrorCode.invalid_request),
        ([("ip", DEFAULT, None), ("user", DEFAULT, None)], ErrorCode.invalid_request),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    connection: Connection, components: list[tuple[str, int, str | None]], code: ErrorCode
) -> None:
    assert described(connection, *components, strict=False) == code


# Counted --------------------------------------------------------------------------------------


def produce(client: Connection, topic: RawTopic, size: int, acks: int = -1) -> Any:
    records = batch([b"v" * size])
    fields = {
        "acks": acks,
        "timeout": 5000,
        "topic_data": [{"name": topic.name, "partition_data": [{"index": 0, "records": records}]}],
    }
    return client.ask("produce", 9, **fields)


def throttle_ms(reply: Any) -> float:
    spent = reply.throttle_time
    return float(spent.total_seconds() * 1000 if hasattr(spent, "total_seconds") else spent)


def test_who_produces_more_than_it_may_is_told_and_not_heard_for_so_long(
    connection: Connection,
    client: Connection,
    make_raw_topic: MakeRawTopic,
    limited: Callable[..., None],
) -> None:
    topic, rate, size = make_raw_topic(), 50_000, 290_000
    limited(producer_byte_rate=rate)
    client.ask("api_versions", 0)
    first = produce(client, topic, size)
    assert throttle_ms(first) == 0
    second = produce(client, topic, size)
    told_ms, due_ms = throttle_ms(second), (2 * size / rate - WINDOW_S) * 1000
    assert due_ms * 0.8 < told_ms < due_ms * 1.1
    began = time.monotonic()
    assert produce(client, topic, 10).responses[0].partition_responses[0].error_code == 0
    assert time.monotonic() - began > told_ms / 1000 * 0.9


def test_who_wants_no_reply_is_not_heard_either(
    connection: Connection,
    client: Connection,
    make_raw_topic: MakeRawTopic,
    limited: Callable[..., None],
) -> None:
    topic = make_raw_topic()
    limited(producer_byte_rate=50_000)
    began = time.monotonic()
    for _ in range(2):
        records = [{"index": 0, "records": batch([b"v" * 290_000])}]
        client.send(
            "produce",
            9,
            acks=0,
            timeout=5000,
            topic_data=[{"name": topic.name, "partition_data": records}],
        )
    client.ask("api_versions", 0)
    assert time.monotonic() - began > 1.2


def test_a_throttled_fetch_is_empty_and_not_counted(
    connection: Connection,
    client: Connection,
    make_raw_topic: MakeRawTopic,
    limited: Callable[..., None],
) -> None:
    topic, rate = make_raw_topic(), 40_000
    topic.fill(*[b"v" * 20_000] * 25)
    limited(consumer_byte_rate=rate)

    def fetch(offset: int, bytes_max: int) -> Any:
        place = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": bytes_max}
        return client.ask(
            "fetch",
            12,
            max_wait=0,
            min_bytes=1,
            max_bytes=1 << 20,
            session_epoch=-1,
            topics=[{"topic": topic.name, "partitions": [place]}],
        )

    first = fetch(0, 385_000)
    got = len(first.responses[0].partitions[0].records)
    assert 370_000 < got < rate * WINDOW_S
    assert throttle_ms(first) == 0
    second = fetch(19, 1 << 20)
    assert (throttle_ms(second) > 0, second.responses) == (True, ())
    asked_at = time.monotonic()
    third = fetch(19, 25_000)
    waited_ms = (time.monotonic() - asked_at) * 1000
    assert waited_ms > throttle_ms(second) * 0.9
    left = [len(topic.partitions[0].records) for topic in third.responses]
    assert (bool(left), throttle_ms(third)) == (True, 0), "what was kept back did not count"


def test_topics_are_not_made_once_the_quota_of_changes_is_used_up(
    connection: Connection, client: Connection, limited: Callable[..., None]
) -> None:
    limited(controller_mutation_rate=2.0)

    def create(partitions: int, version: int) -> Any:
        name = f"raw-{uuid.uuid4().hex[:10]}"
        wanted = {"name": name, "num_partitions": partitions, "replication_factor": 1}
        return client.ask("create_topics", version, topics=[wanted], timeout=10_000)

    first = create(24, 7)
    assert (first.topics[0].error_code, throttle_ms(first)) == (ErrorCode.none, 0)
    second = create(1, 7)
    assert second.topics[0].error_code == ErrorCode.throttling_quota_exceeded
    assert 300 < throttle_ms(second) <= 1000
    began = time.monotonic()
    third = create(1, 7)
    assert time.monotonic() - began > throttle_ms(second) / 1000 * 0.9
    assert third.topics[0].error_code == ErrorCode.none


def test_topics_made_on_demand_count_for_who_asked(
    connection: Connection, client: Connection, limited: Callable[..., None]
) -> None:
    limited(controller_mutation_rate=2.0)

    def wanted(partitions: int) -> list[dict[str, Any]]:
        name = f"raw-{uuid.uuid4().hex[:10]}"
        return [{"name": name, "num_partitions": partitions, "replication_factor": 1}]

    def is_there(name: str) -> bool:
        reply = connection.ask(
            "metadata", 9, topics=[{"name": name}], allow_auto_topic_creation=False
        )
        return bool(reply.topics[0].error_code == ErrorCode.none)

    def on_demand(name: str) -> None:
        client.ask("metadata", 9, topics=[{"name": name}], allow_auto_topic_creation=True)
        for _ in range(2):  # somebody else's come behind it
            made = connection.ask("create_topics", 7, topics=wanted(1), timeout=10_000)
            assert made.topics[0].error_code == ErrorCode.none

    used_up = client.ask("create_topics", 7, topics=wanted(40), timeout=10_000)
    assert used_up.topics[0].error_code == ErrorCode.none
    name = f"raw-{uuid.uuid4().hex[:10]}"
    on_demand(name)
    assert not is_there(name)

    def comes() -> bool:
        on_demand(name)
        return is_there(name)

    wait_until(comes, 30)


def test_older_requests_are_done_and_wait_afterwards(
    connection: Connection, client: Connection, limited: Callable[..., None]
) -> None:
    limited(controller_mutation_rate=5.0)
    names = [f"raw-{uuid.uuid4().hex[:10]}" for _ in range(2)]
    wanted = [{"name": name, "num_partitions": 29, "replication_factor": 1} for name in names]
    reply = client.ask("create_topics", 5, topics=wanted, timeout=10_000)
    assert {topic.error_code for topic in reply.topics} == {ErrorCode.none}
    assert 300 < throttle_ms(reply) <= 700
    deleted = client.ask("delete_topics", 4, topic_names=names, timeout=10_000)
    assert {one.error_code for one in deleted.responses} == {ErrorCode.none}


def test_a_quota_that_is_removed_holds_nobody_any_more(
    connection: Connection,
    client: Connection,
    make_raw_topic: MakeRawTopic,
    limited: Callable[..., None],
    client_id: str,
) -> None:
    topic = make_raw_topic()
    limited(producer_byte_rate=100_000)
    produce(client, topic, 900_000)
    assert alter(connection, {"client-id": client_id}, {"producer_byte_rate": None})[0] == 0
    wait_until(lambda: described(connection, ("client-id", EXACT, client_id), strict=True) == {})
    assert throttle_ms(produce(client, topic, 900_000)) == 0


@pytest.mark.long
def test_a_producer_keeps_to_its_rate_and_hears_of_its_throttling(
    bootstrap: str,
    make_raw_topic: MakeRawTopic,
    limited: Callable[..., None],
    client_id: str,
) -> None:
    """The same client and setting on both brokers: each within a tenth of what is set. A window's
    worth goes out at once whenever the window is empty, so two whole windows are measured."""
    topic, rate, seconds = make_raw_topic(), 200_000, 21.5
    limited(producer_byte_rate=rate)
    acknowledged = 0
    throttled: list[float] = []

    def count(error: object, message: Any) -> None:
        nonlocal acknowledged
        acknowledged += 0 if error else len(message.value())

    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "throttle_cb": lambda event: throttled.append(event.throttle_time),
            "batch.size": 5_000,
            "queue.buffering.max.kbytes": 100,
            "max.in.flight.requests.per.connection": 1,
        }
    )
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            producer.produce(topic.name, b"v" * 5_000, on_delivery=count)
        except BufferError:
            producer.poll(0.05)
    producer.purge()
    assert 0.9 < acknowledged / (rate * seconds) < 1.1
    assert throttled, "the client was never told"
    assert max(throttled) > 0


def test_an_address_that_opens_too_many_connections_is_not_served(
    connection: Connection, bootstrap: str
) -> None:
    address = "127.0.0.7"
    entity: Entity = {"ip": address}
    assert alter(connection, entity, {"connection_creation_rate": 1})[0] == ErrorCode.none
    wait_until(lambda: bool(described(connection, ("ip", EXACT, address), strict=True)))
    host, port = bootstrap.split(":")
    opened = [
        socket.create_connection((host, int(port)), 5, source_address=(address, 0))
        for _ in range(WINDOW_S + 1)
    ]
    try:
        for each in opened:
            frame = encode_request("api_versions", 0, 1, {})
            each.sendall(len(frame).to_bytes(4, "big") + frame)
        assert all(each.recv(1) for each in opened[:WINDOW_S])
        with contextlib.suppress(ConnectionResetError):
            assert opened[-1].recv(1) == b""
    finally:
        for each in opened:
            each.close()
        alter(connection, entity, {"connection_creation_rate": None})

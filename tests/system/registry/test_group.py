"""Several registries of one group: one writes, the others hand on; nobody gives an id twice."""

import json
import signal
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from system.registry.processes import Registry

SESSION_S = 6
TAKEOVER_S = SESSION_S + 10  # on a busy machine


@pytest.fixture
def pair(bootstrap: str) -> Iterator[tuple[Registry, Registry]]:
    with Registry(bootstrap, name="group") as one, one.another() as two:
        yield one, two


def enum(name: str) -> str:
    return json.dumps({"type": "enum", "name": name, "symbols": ["A"]})


def registered(registry: Registry, name: str, seconds: float = TAKEOVER_S) -> int:
    """The id, however often it must be asked for."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            answer = registry.register(f"s-{name}", enum(name))
            if answer.status == 200:
                return int(answer.body["id"])
            assert answer.status >= 500, answer
        except OSError:
            pass
        assert time.monotonic() < deadline, "nobody writes"
        time.sleep(0.05)


def records(registry: Registry) -> list[tuple[str, bytes | None]]:
    """Everything in the topic."""
    consumer = Consumer(
        {"bootstrap.servers": registry.bootstrap, "group.id": "reader", "enable.auto.commit": False}
    )
    partition = TopicPartition(registry.topic, 0, 0)
    _, end = consumer.get_watermark_offsets(partition, timeout=10)
    consumer.assign([partition])
    found: list[tuple[str, bytes | None]] = []
    last = -1
    while last < end - 1:
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
        last = message.offset() or 0
        key, value = message.key() or b"", message.value()
        found.append((bytes(key).decode(), None if value is None else bytes(value)))
    consumer.close()
    return found


def test_what_one_registers_both_know(pair: tuple[Registry, Registry]) -> None:
    one, two = pair
    for at, registry in enumerate((one, two, one, two)):
        id = registered(registry, f"N{at}")
        for reader in pair:
            path = f"/subjects/s-N{at}/versions/latest"
            deadline = time.monotonic() + 5
            while (answer := reader.get(path)).status == 404 and reader is not registry:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            assert answer.body["id"] == id
    refused = two.register("s-N0", json.dumps({"type": "enum", "name": "X", "symbols": []}))
    assert refused.code == 409, "a refusal comes back as it is"


def test_a_leader_that_is_killed_is_followed_and_nothing_is_lost(
    pair: tuple[Registry, Registry],
) -> None:
    one, two = pair
    ids = {f"K{at}": registered(two, f"K{at}") for at in range(5)}
    one.kill()
    assert two.get("/subjects").status == 200, "reads go on"
    ids["after"] = registered(two, "after")
    assert len(set(ids.values())) == len(ids)
    with one.another() as three:
        for name, id in ids.items():
            assert three.get(f"/subjects/s-{name}/versions/1").body["id"] == id
        more = registered(three, "more")
        assert more not in ids.values()


def test_a_leader_that_slept_through_its_end_writes_no_more(
    pair: tuple[Registry, Registry],
) -> None:
    one, two = pair
    first = registered(one, "first")
    assert one.process is not None
    one.process.send_signal(signal.SIGSTOP)
    try:
        ids = [first, registered(two, "second"), registered(two, "third")]
    finally:
        one.process.send_signal(signal.SIGCONT)
    ids.append(registered(one, "fourth"))
    assert len(set(ids)) == 4
    stored = [json.loads(value) for key, value in records(two) if '"SCHEMA"' in key and value]
    assert sorted(one["id"] for one in stored) == sorted(ids)


def test_after_a_clean_stop_the_next_one_writes_at_once(bootstrap: str) -> None:
    with Registry(bootstrap, name="stopped") as one, one.another() as two:
        registered(one, "before")
        one.stop()
        began = time.monotonic()
        registered(two, "after")
        assert time.monotonic() - began < SESSION_S, "nobody waits for the end of a session"


def test_records_of_unknown_types_stay_where_they_are(registry: Registry) -> None:
    producer = Producer({"bootstrap.servers": registry.bootstrap})
    strange = b'{"keytype":"ASSOC","tenant":"default","magic":0}'
    producer.produce(registry.topic, key=strange, value=b'{"a":1}')
    producer.produce(registry.topic, key=b"nonsense", value=b"")
    assert producer.flush(10) == 0
    registered(registry, "beside")
    assert registry.get("/subjects/s-beside/versions").body == [1]
    assert (strange.decode(), b'{"a":1}') in records(registry)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_leaders_killed_and_stopped_twenty_times_give_no_id_twice(bootstrap: str) -> None:
    ids: dict[str, int] = {}
    first = Registry(bootstrap, name="chaos")
    pair = [first, first.another()]
    try:
        for one in pair:
            one.launch()
            one.wait_until_serving()
        for round in range(20):
            survivor, victim = pair if round % 2 else pair[::-1]
            for at in range(3):
                ids[f"C{round}x{at}"] = registered(survivor, f"C{round}x{at}")
            if round % 4 < 2:
                victim.kill()
            else:
                victim.stop()
            ids[f"C{round}last"] = registered(survivor, f"C{round}last")
            victim.launch()
            victim.wait_until_serving()
        assert len(set(ids.values())) == len(ids)
        for name, id in ids.items():
            assert pair[0].get(f"/subjects/s-{name}/versions/1").body["id"] == id
    finally:
        for one in pair:
            one.stop()

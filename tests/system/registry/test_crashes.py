"""Two registries under load while leaders and brokers die: nothing acknowledged is lost, no id is
given twice, reads go on, and compaction takes away only what it may.

`make registry-test` runs it, with `ARGS="--broker kafka"` against Apache Kafka.
"""

import contextlib
import http.client
import itertools
import json
import signal
import statistics
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.brokers import Kind
from support.clusters import Cluster, cluster_of
from support.wire import Connection
from system.registry.processes import Registry
from system.registry.test_group import SESSION_S, enum, records

ROUNDS = 20
STRIKES = ("kill", "stop", "sleep")
TAKEOVER_S_MAX = 60  # of a busy machine; what it took is printed
GONE = (OSError, http.client.HTTPException)
UNKNOWN = b'{"keytype":"ASSOC","tenant":"default","magic":0}'
pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@dataclass
class Load:
    """Registers through whoever answers, and reads from whoever must."""

    pair: list[Registry]
    acknowledged: dict[str, int] = field(default_factory=dict)
    acknowledged_at: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    read_count: int = 0
    steady: Registry | None = None  # the one that nobody stops at the moment
    over: threading.Event = field(default_factory=threading.Event)

    def write(self, name: str) -> None:
        for number in itertools.count():
            if self.over.is_set():
                return
            registry = self.pair[number % 2]
            subject = f"{name}{number}"
            try:
                answer = registry.ask(
                    "POST", f"/subjects/{subject}/versions", {"schema": enum(subject)}, timeout=10
                )
            except GONE:
                time.sleep(0.02)
                continue
            if answer.status == 200:
                self.acknowledged[subject] = int(answer.body["id"])
                self.acknowledged_at.append(time.monotonic())
            elif answer.status < 500:
                self.faults.append(f"{subject}: {answer}")
            else:
                time.sleep(0.02)

    def read(self) -> None:
        while not self.over.is_set():
            registry, known = self.steady, list(self.acknowledged.items())[-200:-100]
            if registry is None or not known:
                time.sleep(0.01)
                continue
            subject, id = known[0]
            try:
                answer = registry.ask("GET", f"/schemas/ids/{id}", timeout=10)
                if answer.status != 200 or json.loads(answer.body["schema"])["name"] != subject:
                    self.faults.append(f"{subject}, id {id}: {answer}")
                self.read_count += 1
            except GONE as error:
                if registry is self.steady:
                    self.faults.append(f"a read failed: {error!r}")
            time.sleep(0.005)

    def first_acknowledged_after(self, moment: float) -> float:
        """Seconds; fails when that takes too long."""
        while time.monotonic() < moment + TAKEOVER_S_MAX:
            later = [one for one in self.acknowledged_at[-1000:] if one > moment]
            if later:
                return later[0] - moment
            time.sleep(0.02)
        raise AssertionError("nobody writes any more")


def leader_of(cluster: Cluster, pair: list[Registry]) -> Registry:
    """As the group's assignment has it, once there is one."""
    group = pair[0].options["schema.registry.group.id"]
    deadline = time.monotonic() + TAKEOVER_S_MAX
    while time.monotonic() < deadline:
        for node in cluster.alive():
            with contextlib.suppress(OSError), Connection(node.bootstrap, timeout=10) as asking:
                (told,) = asking.ask("describe_groups", 5, groups=[group]).groups
                if told.group_state == "Stable" and len(told.members) == 2:
                    chosen = json.loads(bytes(told.members[0].member_assignment))
                    port = chosen["master_identity"]["port"]
                    return next(one for one in pair if one.port == port)
        time.sleep(0.05)
    raise AssertionError("the two registries do not come together")


def kill_a_broker(cluster: Cluster, topic: str) -> None:
    leader, _ = cluster.partition(topic)
    cluster.nodes[leader].kill9()
    cluster.nodes[leader].start()
    cluster.await_in_sync(topic, list(cluster.nodes))


def strike(registry: Registry, how: str) -> None:
    """The leader dies, leaves or sleeps, and is there again afterwards."""
    assert registry.process is not None
    if how == "sleep":
        registry.process.send_signal(signal.SIGSTOP)
        time.sleep(SESSION_S + 2)  # until the coordinator has given it up
        registry.process.send_signal(signal.SIGCONT)
        return
    if how == "kill":
        registry.kill()
    else:
        registry.stop()
    time.sleep(0.5)
    registry.launch()
    registry.wait_until_serving()


def prepare(cluster: Cluster, registry: Registry) -> None:
    """A topic that is compacted all the time, and a record that nobody here knows."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "2000",
        "min.cleanable.dirty.ratio": "0.01",
        "min.insync.replicas": "2",
        "delete.retention.ms": "1000",
    }
    topic = NewTopic(registry.topic, 1, 3, config=config)
    admin.create_topics([topic])[registry.topic].result(30)
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce(registry.topic, key=UNKNOWN, value=b'{"a":1}')
    assert producer.flush(30) == 0


def test_leaders_and_brokers_die_under_load(broker_kind: Kind, tmp_path: Path) -> None:
    settings = {"log.cleaner.backoff.ms": "500", "log.cleaner.threads": "1"}
    with cluster_of(3, tmp_path, settings, broker_kind) as cluster:
        first = Registry(cluster.bootstrap, name="crashes")
        prepare(cluster, first)
        pair = [first, first.another()]
        load = Load(pair)
        threads = [threading.Thread(target=load.write, args=(name,)) for name in "AB"]
        threads.append(threading.Thread(target=load.read))
        gaps: dict[str, list[float]] = {how: [] for how in (*STRIKES, "broker")}
        try:
            for one in pair:
                one.launch()
                one.wait_until_serving()
            for thread in threads:
                thread.start()
            for number, how in zip(range(ROUNDS), itertools.cycle(STRIKES), strict=False):
                leader = leader_of(cluster, pair)
                load.steady = pair[1 - pair.index(leader)]
                moment = time.monotonic()
                strike(leader, how)
                gaps[how].append(load.first_acknowledged_after(moment))
                if number % 4 == 3:
                    moment = time.monotonic()
                    kill_a_broker(cluster, first.topic)
                    gaps["broker"].append(load.first_acknowledged_after(moment))
        finally:
            load.over.set()
            for thread in threads:
                thread.join(30)
            for one in pair:
                one.stop()
        assert not load.faults
        print("seconds without a write:", {k: [round(g, 2) for g in v] for k, v in gaps.items()})
        print("acknowledged:", len(load.acknowledged), "read:", load.read_count)
        for how in STRIKES:
            assert statistics.median(gaps[how]) < SESSION_S + 1, how
        assert not any(thread.is_alive() for thread in threads)
        check(load, first)


def check(load: Load, of: Registry) -> None:
    """What a registry that reads the topic for the first time knows."""
    assert len(load.acknowledged) > 100
    assert len(set(load.acknowledged.values())) == len(load.acknowledged), "an id was given twice"
    with of.another() as late:
        for subject, id in load.acknowledged.items():
            assert late.get(f"/subjects/{subject}/versions/1").body["id"] == id, subject
    kept = records(of)
    by_id: dict[int, str] = {}
    for key, value in kept:
        if '"SCHEMA"' in key and value:
            stored = json.loads(value)
            assert by_id.setdefault(stored["id"], stored["schema"]) == stored["schema"]
    assert (UNKNOWN.decode(), b'{"a":1}') in kept
    assert sum('"NOOP"' in key for key, _ in kept) < ROUNDS, "the topic was compacted meanwhile"

"""Writing over many keys while what was written is compacted, and a producer beside it."""

import os
import time
from contextlib import suppress
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic

from bench.client import new_topic, percentiles
from bench.load.nodes import client, fresh_node
from bench.processes import cpu_seconds
from bench.reach import Reach
from bench.report import Values
from support.brokers import Kind

KEYS = 100_000
RECORD_BYTES = 1000
SETTINGS = {"log.cleaner.backoff.ms": "1000"}
TOPIC = "compacted"
CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(32 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
}
QUIET_S = 6.0
CLEAN_BYTES_MAX = 2 * KEYS * RECORD_BYTES  # one record for each key, and what is still dirty
QUIET_S_MAX = 240.0


def measure(kind: Kind, gigabytes: float) -> Values:
    count = int(gigabytes * 1e9 / RECORD_BYTES)
    with fresh_node(kind, SETTINGS) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([NewTopic(TOPIC, 1, -1, config=CONFIG)])[TOPIC].result(60)
        busy = new_topic(Reach(broker.bootstrap))
        spent = cpu_seconds(broker.pid)
        options = {"size": RECORD_BYTES, "count": count, "keys": KEYS}
        with (
            client("acks", broker, busy, pause=0.005) as beside,
            client("write", broker, TOPIC, **options) as writer,
        ):
            written = writer.await_end()
            ended = time.time()
            settled = until_quiet(broker.home.data[0] / f"{TOPIC}-0") - ended
            spent = cpu_seconds(broker.pid) - spent
            acks = [took for _, took in beside.end()]
        left = sum(one.stat().st_size for one in (broker.home.data[0]).glob(f"{TOPIC}-0/*.log"))
    name = f"{gigabytes:g} GB over {KEYS:,} keys compacted"
    return {
        f"{name}: the writer's ack p99 ms": percentiles("ack", written)["ack p99 ms"],
        f"{name}: ack p50 ms beside": percentiles("ack", acks)["ack p50 ms"],
        f"{name}: ack p99 ms beside": percentiles("ack", acks)["ack p99 ms"],
        f"{name}: CPU s": spent,
        f"{name}: s until settled": max(settled, 0.1),
        f"{name}: MB left": left / 1e6,
    }


def until_quiet(directory: Path) -> float:
    """When the segments changed for the last time; a cleaner that only reads is no end yet."""
    seen, changed = segments(directory), time.time()
    began = changed
    while time.time() - began < QUIET_S_MAX:
        if time.time() - changed > QUIET_S and sum(size for _, size in seen) < CLEAN_BYTES_MAX:
            break
        time.sleep(0.05)
        now = segments(directory)
        if now != seen:
            seen, changed = now, time.time()
    return changed


def segments(directory: Path) -> list[tuple[str, int]]:
    """Names and sizes of what counts as the log, or will soon."""
    found = []
    with os.scandir(directory) as entries:
        for entry in entries:
            if ".log" in entry.name and not entry.name.endswith(".deleted"):
                with suppress(FileNotFoundError):  # renamed meanwhile
                    found.append((entry.name, entry.stat().st_size))
    return sorted(found)

"""A reader of old data that is not in the page cache, and a producer beside it."""

import argparse
import contextlib
import os
from pathlib import Path

from bench.client import fill, new_topic, percentiles
from bench.load.nodes import client, fresh_node
from bench.processes import cpu_seconds
from bench.reach import Reach
from bench.report import Values
from support.brokers import BrokerProcess, Kind

RECORD_BYTES = 10_000
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def measure(kind: Kind, gigabytes: float) -> Values:
    count = int(gigabytes * 1e9 / RECORD_BYTES)
    with fresh_node(kind) as broker:
        reach = Reach(broker.bootstrap)
        old, busy = new_topic(reach), new_topic(reach)
        options = argparse.Namespace(size=RECORD_BYTES, codec="none", partitions=1)
        fill(reach, old, options, count)
        forget_pages(broker, old)
        with client("acks", broker, busy) as producer:
            with client("read", broker, old, count=count) as reader:
                spent = cpu_seconds(broker.pid)
                began, ended = reader.await_end()
                spent = cpu_seconds(broker.pid) - spent
            acks = [took for at, took in producer.end() if began <= at <= ended]
    name = f"a reader of {gigabytes:g} GB that are not in memory"
    return {
        **{f"{name}: {line} beside": value for line, value in percentiles("ack", acks).items()},
        f"{name}: consume MB/s": count * RECORD_BYTES / 1e6 / (ended - began),
        f"{name}: CPU s": spent,
    }


def forget_pages(broker: BrokerProcess, topic: str) -> None:
    """Write back what is dirty, then drop the segments from the page cache."""
    os.sync()
    for segment in (broker.home.data[0] / f"{topic}-0").glob("*.log"):
        descriptor = os.open(segment, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    with contextlib.suppress(OSError):  # only root may, and the advice above was heard
        DROP_CACHES.write_text("1")

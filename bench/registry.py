"""A registry's figures: its start, its memory, many schemas loaded, reads and registrations.

    python bench/registry.py [--schemas 100000]

It starts a node and registries of its own, on free ports, and removes what they wrote.
"""

import argparse
import http.client
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Producer

from ottla.registry.entities import Schema
from ottla.registry.records import SchemaKey, Write, encode

SOURCE = Path(__file__).resolve().parent.parent / "src"
READS, REGISTRATIONS = 3000, 1000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    started = subprocess.Popen(
        [sys.executable, "-m", "ottla", *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield started
    finally:
        started.terminate()
        started.wait(20)


def until(serves: Callable[[], object]) -> float:
    """Seconds until a call no longer fails."""
    began = time.perf_counter()
    while True:
        try:
            serves()
        except OSError:
            time.sleep(0.002)
        else:
            return time.perf_counter() - began


class Client:
    """One connection that stays open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)

    def ask(self, method: str, path: str, body: object = None) -> bytes:
        sent = None if body is None else json.dumps(body).encode()
        headers = {} if body is None else {"Content-Type": "application/json"}
        self._connection.request(method, path, sent, headers)
        answer = self._connection.getresponse()
        raw = answer.read()
        assert answer.status == 200, raw
        return raw


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def text_of(number: int) -> str:
    fields = [{"name": f"f{at}", "type": "string"} for at in range(10)]
    record = {"type": "record", "name": f"R{number}", "namespace": "bench", "fields": fields}
    return json.dumps(record, separators=(",", ":"))


def fill(bootstrap: str, topic: str, count: int) -> None:
    """Straight into the topic, as another registry would have."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for number in range(1, count + 1):
        subject = f"s{number}-value"
        written = Write(SchemaKey(subject, 1), Schema(subject, 1, number, text_of(number)))
        key, value = encode(written)
        producer.produce(topic, key=key, value=value)
        if not number % 5000:
            producer.flush(60)
    assert producer.flush(60) == 0


def measure(count: int) -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        port, first, second = free_port(), free_port(), free_port()
        bootstrap = f"127.0.0.1:{port}"
        with process("start", "--listen", bootstrap, "--data", folder):
            until(lambda: socket.create_connection(("127.0.0.1", port), 1).close())
            at = ("registry", "start", "--bootstrap", bootstrap, "--listen")
            with process(*at, f"127.0.0.1:{first}"):
                until(lambda: Client(first).ask("GET", "/subjects"))
            with process(*at, f"127.0.0.1:{first}") as registry:
                seconds = until(lambda: Client(first).ask("GET", "/subjects"))
                yield "start to first answer", f"{seconds:.2f} s"
                client = Client(first)
                client.ask("POST", "/subjects/warm/versions", {"schema": '"string"'})
                yield "memory, idle", f"{memory_mb(registry.pid):.0f} MB"
                began = time.perf_counter()
                for number in range(REGISTRATIONS):
                    body = {"schema": text_of(number + 10_000_000)}
                    client.ask("POST", f"/subjects/r{number}/versions", body)
                rate = REGISTRATIONS / (time.perf_counter() - began)
                yield "registrations, one client", f"{rate:.0f}/s"
                times = []
                for _ in range(READS):
                    began = time.perf_counter()
                    client.ask("GET", "/schemas/ids/1")
                    times.append(time.perf_counter() - began)
                yield "GET by id, p50", f"{statistics.median(times) * 1000:.2f} ms"
                yield "GET by id, p99", f"{statistics.quantiles(times, n=100)[98] * 1000:.2f} ms"
            large = (f"127.0.0.1:{second}", "--topic", "_large", "--group", "large")
            with process(*at, *large):
                until(lambda: Client(second).ask("GET", "/subjects"))
            fill(bootstrap, "_large", count)
            with process(*at, *large) as registry:
                loaded = until(lambda: Client(second).ask("GET", "/schemas/types"))
                yield f"start with {count} schemas", f"{loaded:.2f} s"
                yield f"memory with {count} schemas", f"{memory_mb(registry.pid):.0f} MB"
                Client(second).ask("GET", f"/schemas/ids/{count}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemas", type=int, default=100_000)
    for what, figure in measure(parser.parse_args().schemas):
        print(f"{what:32} {figure}", flush=True)


if __name__ == "__main__":
    main()

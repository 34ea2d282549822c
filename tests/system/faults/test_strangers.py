"""Crowds that never say who they are: others are served as before, and memory stays bounded.

Prints what it measured. The strangers run on the same machine, where a real crowd would have others
of its own: so they have the lowest priority. They want a core all the same, and whoever is served
feels that though nobody troubles his broker. So what is compared is a crowd at this broker with the
same crowd at another one on this machine.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer

from support.brokers import Kind
from support.secured import Secured, running_secured

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

SECONDS, EVERY_S = 12.0, 0.005
TIMES_MAX = 2.0
MIB = 1024 * 1024
CROWDS = {"tls": 2000, "sasl": 2000, "handshakes": 500}
GROWTH_BYTES_MAX = 192 * MIB


@pytest.fixture(scope="module")
def secured(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("strangers")) as secured:
        secured.create("t")
        yield secured


@pytest.fixture(scope="module")
def another(broker_kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with running_secured(broker_kind, tmp_path_factory.mktemp("another")) as another:
        yield another


def config(secured: Secured) -> dict[str, Any]:
    return {
        "bootstrap.servers": secured.encrypted,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "root",
        "sasl.password": "secret",
        "ssl.ca.pem": secured.authority.certificate_pem,
        "linger.ms": 0,
        "acks": 1,
    }


class Friend:
    """Writes one record after the other, and times each."""

    def __init__(self, secured: Secured) -> None:
        self._producer = Producer(config(secured))
        self.waits_s: list[float] = []
        self.work(1)

    def work(self, seconds: float) -> float:
        """The 99th percentile, in seconds."""
        self.waits_s = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            began = time.perf_counter()

            def delivered(error: KafkaError | None, _: Message, began: float = began) -> None:
                assert error is None
                self.waits_s.append(time.perf_counter() - began)

            self._producer.produce("t", b"x" * 100, on_delivery=delivered)
            assert self._producer.flush(30) == 0
            time.sleep(max(0.0, EVERY_S - (time.perf_counter() - began)))
        return sorted(self.waits_s)[int(0.99 * len(self.waits_s))]


@contextmanager
def crowd(kind: str, broker: Secured) -> Iterator[None]:
    host, _, port = (broker.address if kind == "sasl" else broker.encrypted).partition(":")
    program = str(Path(__file__).with_name("strangers.py"))
    process = subprocess.Popen(
        ["nice", "-n", "19", sys.executable, program, kind, host, port, str(CROWDS[kind])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        yield
        said, _ = process.communicate("", timeout=30)
        opened, failed = said.split()
        print(f"{kind}: {opened} connections were opened, {failed} failed", end="; ")
        assert int(opened) >= CROWDS[kind]
    finally:
        process.kill()
        process.wait(10)


def resident_bytes(pid: int, which: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{which}:"))
    return int(line.split()[1]) * 1024


@pytest.mark.parametrize("kind", CROWDS)
def test_others_are_served_as_before(secured: Secured, another: Secured, kind: str) -> None:
    pid = secured.process.pid
    friend = Friend(secured)
    before_s = friend.work(SECONDS)
    with crowd(kind, another):
        elsewhere_s = friend.work(SECONDS)
    before_bytes = resident_bytes(pid, "VmRSS")
    with crowd(kind, secured):
        during_s = friend.work(SECONDS)
        during_bytes = resident_bytes(pid, "VmHWM")
    newcomer = time.perf_counter()
    Friend(secured)
    print(
        f"p99 {before_s * 1000:.2f} ms before, {elsewhere_s * 1000:.2f} ms while they are at "
        f"another broker, {during_s * 1000:.2f} ms beside them ({during_s / elsewhere_s:.1f}×, "
        f"{during_s / before_s:.1f}× before); memory {before_bytes / MIB:.0f} MiB, "
        f"{during_bytes / MIB:.0f} MiB; a newcomer behind them was served after "
        f"{time.perf_counter() - newcomer - 1:.2f} s"
    )
    assert during_bytes - before_bytes <= GROWTH_BYTES_MAX
    assert during_s <= TIMES_MAX * elsewhere_s

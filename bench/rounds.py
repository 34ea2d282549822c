"""One round with one broker: a fresh node, every load, one value per line of the table."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.processes import cpu_seconds, memory_mb
from bench.reach import Reach
from bench.report import Values
from bench.secured import add_user, secured_home
from support.brokers import BrokerProcess, Kind
from support.homes import Home

CLIENT_SECONDS_MAX = 300


def java(heap: str) -> tuple[str, ...]:
    """As Apache Kafka's own script starts a broker."""
    sizes = ("-server", f"-Xms{heap}", f"-Xmx{heap}")
    return ("java", *sizes, "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")


@dataclass(frozen=True, kw_only=True)
class Load:
    """One run of the client; `gigabytes` written, where processor time is told per GB."""

    name: str
    work: str
    options: dict[str, int | str]
    gigabytes: float = 0
    measures_memory: bool = False

    @property
    def arguments(self) -> list[str]:
        return [f"--{name}={value}" for name, value in self.options.items()]


def throughput(name: str, size: int, count: int, **options: int | str) -> Load:
    return Load(
        name=name,
        work="throughput",
        options={"size": size, "count": count, **options},
        gigabytes=size * count / 1e9,
    )


def loads(*, quick: bool, stored_gb: float, secured: bool = False) -> list[Load]:
    part = 10 if quick else 1
    stored = [100] if quick else [100, round(stored_gb * 1000)]
    many = 5000 if secured else 2000
    return [
        throughput("100 B", 100, 1_000_000 // part),
        throughput("10 kB", 10_000, 100_000 // part),
        throughput("lz4, 6 partitions", 100, 1_000_000 // part, codec="lz4", partitions=6),
        Load(name="latency", work="latency", options={"count": 2000 // part}),
        Load(name="create 1,000 partitions", work="partitions", options={"count": 1000}),
        Load(
            name=f"{many:,} connections",
            work="connections",
            options={"count": many},
            measures_memory=secured,
        ),
        *(
            Load(
                name=f"head of {megabytes:,} MB",
                work="head",
                options={"stored": megabytes, "count": 500_000 // part},
            )
            for megabytes in stored
        ),
        Load(name="transactions of 1", work="transactions", options={"size": 1, "count": 300}),
        Load(name="transactions of 100", work="transactions", options={"size": 100, "count": 100}),
        *(
            Load(
                name=f"50 {protocol} members settle",
                work="settling",
                options={"count": 50, "codec": protocol},
            )
            for protocol in ("classic", "consumer")
        ),
        Load(name="500 groups commit", work="commits", options={"count": 500}),
    ]


def warm_up(partitions: int = 1) -> list[Load]:
    """Run before what is measured, so that a JVM has compiled what it will run."""
    return [
        throughput("warm up", 100, 300_000, partitions=partitions),
        throughput("warm up", 10_000, 10_000, partitions=partitions),
        Load(name="warm up", work="latency", options={"count": 500}),
    ]


def measure(kind: Kind, selected: list[Load], *, secured: bool = False) -> Values:
    """The value of each line; a load that failed leaves its lines out and says so."""
    folder = Path(tempfile.mkdtemp(prefix="ottla-bench-"))
    home, reach = secured_home(folder) if secured else open_home(folder)
    broker = BrokerProcess(kind, home, java=java("1g"))
    try:
        values = {"start s": broker.start()}
        if secured:
            add_user(broker.bootstrap)
        time.sleep(1)
        values["memory idle MB"] = memory_mb(broker.pid)
        for load in warm_up():
            run(load, kind, reach, [broker.pid])
        for load in selected:
            values |= run(load, kind, reach, [broker.pid])
        values["memory loaded MB"] = memory_mb(broker.pid)
        broker.stop()
        return values
    finally:
        broker.discard()
        shutil.rmtree(folder, ignore_errors=True)


def open_home(folder: Path) -> tuple[Home, Reach]:
    home = Home(path=folder)
    return home, Reach(home.bootstrap)


def run(load: Load, kind: Kind, reach: Reach, pids: list[int]) -> Values:
    before = sum(map(cpu_seconds, pids))
    command = [sys.executable, "-m", "bench.client", load.work, reach.bootstrap, *load.arguments]
    if load.measures_memory:
        command += ["--pids", *map(str, pids)]
    try:
        with tempfile.NamedTemporaryFile() as file:
            reach.write(Path(file.name))
            ran = subprocess.run(
                [*command, "--properties", file.name],
                capture_output=True,
                text=True,
                timeout=CLIENT_SECONDS_MAX,
                check=True,
            )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as failure:
        print(f"{kind}: {load.name} failed: {failure.stderr!s}", file=sys.stderr)
        return {}
    values = {f"{load.name}: {line}": value for line, value in json.loads(ran.stdout).items()}
    if load.gigabytes:
        spent = sum(map(cpu_seconds, pids)) - before
        values[f"{load.name}: CPU s/GB"] = spent / load.gigabytes
    return values

"""`python -m system.interop.suites NAME [--on KIND] [--source DIR] [--nodes N] [--only …]
[--at-once N] [--set NAME=VALUE …]`."""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support import clusters
from support.brokers import Kind, running
from support.homes import Home
from support.jars import PROJECT
from system.interop.suites import secured
from system.interop.suites.clients import SUITES
from system.interop.suites.suite import Place, Results, Suite

INSIDE = "OTTLA_SUITE_NETWORK"  # set in the process that has a network of its own


def main() -> int:
    arguments = parse()
    suite = SUITES[arguments.suite]
    source = arguments.source or (suite.source() if suite.source else None)
    if source is None:
        print(f"{arguments.suite} needs a checkout of the client: --source DIR", file=sys.stderr)
        return 2
    if suite.ports and INSIDE not in os.environ:
        return in_a_network_of_its_own([*sys.argv[1:], "--source", str(source)])
    told = {kind: run(arguments, suite, source, kind) for kind in arguments.on}
    for kind, results in told.items():
        print(f"{arguments.suite} on {kind}: {summary(results)}")
    return judge(told)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m system.interop.suites")
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--on", nargs="+", choices=["ottla", "kafka"], default=["ottla", "kafka"])
    parser.add_argument("--source", type=lambda text: Path(text).resolve())
    parser.add_argument("--nodes", type=int, help="more than the suite wants of itself")
    parser.add_argument("--only", nargs="+", default=(), help="tests, as the suite's runner names")
    parser.add_argument("--at-once", type=int, default=1, help="librdkafka's tests side by side")
    parser.add_argument(
        "--set",
        nargs="+",
        type=setting,
        default=(),
        help="the brokers' options, NAME=VALUE",
    )
    arguments = parser.parse_args()
    arguments.set = dict(arguments.set)
    return arguments


def setting(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


def in_a_network_of_its_own(arguments: list[str]) -> int:
    """Where the ports that a suite insists on are free, whatever else runs on this machine."""
    script = 'ip link set lo up && exec "$@"'
    command = ["unshare", "--net", "bash", "-c", script, "suites"]
    again = [sys.executable, "-m", "system.interop.suites", *arguments]
    return subprocess.run([*command, *again], env={**os.environ, INSIDE: "1"}).returncode


def run(arguments: argparse.Namespace, suite: Suite, source: Path, kind: Kind) -> Results:
    name, only = arguments.suite, tuple(arguments.only)
    work = Path(tempfile.mkdtemp(prefix=f"{name}-{kind}-"))
    addresses = secured.draw_addresses() if suite.secured else {}
    with brokers(suite, kind, work, source, arguments, addresses) as bootstrap:
        python = interpreter(name, suite.packages)
        place = Place(
            bootstrap=bootstrap,
            addresses=addresses,
            kind=kind,
            source=source,
            work=work,
            python=python,
            only=only,
            at_once=arguments.at_once,
        )
        command = suite.command(place)
        log = work / "log"
        print(f"{name} on {kind}: {log}", flush=True)
        with log.open("wb") as output, contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command.arguments,
                cwd=source,
                env={**os.environ, **command.environment},
                stdout=output,
                stderr=output,
                timeout=suite.seconds_max,
            )
        results = suite.results(place)
    shutil.rmtree(work / "broker")
    return results


def interpreter(name: str, packages: tuple[str, ...]) -> Path:
    """An environment of the suite's own, made once: its packages need not be ours."""
    if not packages:
        return Path(sys.executable)
    folder = PROJECT / ".kafka" / "suites" / name
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


@contextlib.contextmanager
def brokers(
    suite: Suite,
    kind: Kind,
    work: Path,
    source: Path,
    arguments: argparse.Namespace,
    addresses: Mapping[str, str],
) -> Iterator[str]:
    settings, path = {**suite.settings, **arguments.set}, work / "broker"
    nodes = arguments.nodes or len(suite.ports or (0,))
    if nodes == 1:
        port: dict[str, Any] = {"port": suite.ports[0]} if suite.ports else {}
        home = Home(path=path, settings=settings, host=suite.host, **port)
        if addresses:
            stores = secured.issue_certificates(source)
            settings |= secured.listener_options(home, addresses, stores)
        with running(kind, home) as broker:
            yield broker.bootstrap
    else:
        first = int(settings.pop("node.id", "1"))
        places = dict.fromkeys(range(first, first + nodes), clusters.Place(host=suite.host))
        with clusters.cluster_of(
            nodes, path, settings, kind, places=places, ports=suite.ports, first=first
        ) as cluster:
            yield cluster.bootstrap


def summary(results: Results) -> str:
    counts = (len(results.passed), len(results.failed), len(results.skipped))
    return "{} passed, {} failed, {} skipped".format(*counts)


def judge(told: dict[Kind, Results]) -> int:
    """Without Kafka to compare with, every failure is ours."""
    nothing = Results(*[frozenset[str]()] * 3)
    ours, kafka = told.get("ottla", nothing), told.get("kafka", nothing)
    for name in sorted(ours.failed & kafka.failed):
        print(f"  fails on both: {name}")
    for name in sorted(kafka.failed - ours.failed):
        print(f"  fails on Kafka: {name}")
    for name in sorted(kafka.passed - ours.passed - ours.failed if "ottla" in told else ()):
        print(f"  NOT RUN on Ottla: {name}")
    for name in sorted(ours.failed - kafka.failed):
        print(f"  FAILS on Ottla: {name}")
    return 1 if ours.failed - kafka.failed else 0


if __name__ == "__main__":
    sys.exit(main())

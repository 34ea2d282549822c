"""The server tower asks for time, chance and syncs only what it was handed.

The import contracts keep the modules out (`time`, `random`, `secrets`, `uuid`); here are the ways
around them that need no import of those.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ottla

SOURCES = Path(ottla.__file__).parent
TOWER = (
    "broker",
    "config",
    "controller",
    "coordination",
    "groups",
    "log",
    "membership",
    "metadata",
    "node",
    "quorum",
    "replication",
    "transactions",
    "wire",
)
OF_OS = {"fdatasync", "fsync", "getrandom", "sync", "urandom"}
OF_DATES = {"now", "today", "utcnow"}
OF_PORTS = {"SYSTEM_CHANCE", "SYSTEM_CLOCK"}
ROOTS = {
    "node/node.py",  # hands them down
    "node/storage.py",  # formats directories for a command, without a node
    "log/segmented_log.py",  # a log by itself: its sync and its dice are the system's
}


def ways_around(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in OF_OS:
                yield f"os.{name}"
            case ast.ImportFrom(module="os", names=names):
                yield from (f"os.{each.name}" for each in names if each.name in OF_OS)
            case ast.Attribute(value=ast.Name(id="datetime" | "date"), attr=name):
                if name in OF_DATES:
                    yield f"datetime.{name}"
            case ast.Attribute(attr="time"):  # an event loop's, whatever it is called
                yield ".time"
            case ast.ImportFrom(module=str(module), names=names) if "ottla.ports" in module:
                yield from (each.name for each in names if each.name in OF_PORTS)


@pytest.mark.parametrize("package", TOWER)
def test_the_server_tower_asks_what_it_was_handed(package: str) -> None:
    found = {
        str(path.relative_to(SOURCES)): sorted(set(ways_around(path.read_text())))
        for path in sorted((SOURCES / package).rglob("*.py"))
    }
    assert found, "nothing was looked at"
    assert {path: ways for path, ways in found.items() if ways and path not in ROOTS} == {}


@pytest.mark.parametrize("path", sorted(ROOTS))
def test_a_root_is_one_because_it_has_the_system_s_own(path: str) -> None:
    ways = set(ways_around((SOURCES / path).read_text()))
    assert ways
    assert ways <= OF_PORTS


@pytest.mark.parametrize(
    "line",
    [
        "asyncio.get_running_loop().time()",
        "now = self._loop.time",
        "os.fsync(fd)",
        "from os import urandom",
        "datetime.now(UTC)",
        "from ottla.ports.clock import SYSTEM_CLOCK",
    ],
)
def test_a_way_around_is_noticed(line: str) -> None:
    assert list(ways_around(line))

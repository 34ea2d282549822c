"""What a suite is: the cluster it wants, the command that runs it, and how its results are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where one run of a suite happens."""

    bootstrap: str
    kind: str
    """`ottla` or `kafka`: who answers."""
    source: Path
    """The suite's own folder."""
    work: Path
    """A folder for what the run leaves behind."""
    python: Path
    """The interpreter that has the suite's packages."""
    only: tuple[str, ...] = ()
    """Tests to choose, in the words of the suite's runner; none: all."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Of the listeners with TLS and SASL, by their protocol, where the suite asks for them."""
    at_once: int = 1
    """Tests that may run side by side, where the suite allows it: most of them wait."""


@dataclass(frozen=True, kw_only=True)
class Command:
    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    passed: frozenset[str]
    failed: frozenset[str]
    skipped: frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Suite:
    source: Callable[[], Path] | None
    """How to fetch it; None: a checkout must be named."""
    command: Callable[[Place], Command]
    results: Callable[[Place], Results]
    ports: tuple[int, ...] | None = None
    """Ports that the suite insists on: it gets a network of its own. As many nodes as ports."""
    host: str = "127.0.0.1"
    """What brokers call theirs, where a suite insists on a name."""
    packages: tuple[str, ...] = ()
    """What a suite in Python needs, in versions that it was written for."""
    settings: Mapping[str, str] = field(default_factory=dict)
    secured: bool = False
    """Whether one node of it has listeners with TLS and SASL, too, and an authorizer."""
    seconds_max: int = 1800

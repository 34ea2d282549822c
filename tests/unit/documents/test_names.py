"""A class has its name alone among those that a reader meets together."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "ottla"
BOTTOM = frozenset({"config", "ports", "wire"})
TOWERS = {
    "server": BOTTOM
    | {"broker", "controller", "coordination", "groups", "log", "membership", "metadata", "node"}
    | {"quorum", "replication", "security", "transactions"},
    "clients": BOTTOM | {"client", "cli"},
    "simulation": frozenset({"simulation"}),
}
SCHEMAS = (SOURCE / "wire" / "messages", SOURCE / "wire" / "records")
"""Their names are Kafka's, and each message has a module of its own."""


def public_classes(path: Path) -> Iterator[str]:
    """But for protocols: one that stands for a class above may have its name."""
    classes = (node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef))
    for node in classes:
        bases = " ".join(map(ast.unparse, node.bases))
        if not node.name.startswith("_") and "Protocol" not in bases:
            yield node.name


@pytest.mark.parametrize("tower", TOWERS)
def test_no_two_classes_of_a_tower_share_a_name(tower: str) -> None:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for folder in sorted(TOWERS[tower]):
        for path in sorted((SOURCE / folder).rglob("*.py")):
            if not path.is_relative_to(SCHEMAS[0]) and not path.is_relative_to(SCHEMAS[1]):
                for name in public_classes(path):
                    found[name].append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}

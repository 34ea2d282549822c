"""One file per area, each with an `AREA`; a new file is found by being here."""

from importlib import import_module
from pathlib import Path

from differential.steps import Area

NAMES = tuple(sorted(p.stem for p in Path(__file__).parent.glob("[a-z]*.py")))


def area(name: str) -> Area:
    found: Area = import_module(f"differential.areas.{name}").AREA
    assert found.name == name
    return found

"""Every command is on one of the pages."""

import re
from collections.abc import Iterator
from pathlib import Path

import typer

from ottla.cli.app import app

DOCS = Path(__file__).parents[3] / "docs"


def commands(of: typer.Typer, before: str) -> Iterator[str]:
    for command in of.registered_commands:
        function = command.callback
        assert function is not None
        yield f"{before} {command.name or function.__name__}"
    for group in of.registered_groups:
        assert group.typer_instance is not None
        yield from commands(group.typer_instance, f"{before} {group.name}")


def test_every_command_is_documented() -> None:
    pages = "\n".join(page.read_text() for page in DOCS.glob("*.md"))
    missing = [name for name in commands(app, "ottla") if not re.search(rf"\b{name}\b", pages)]
    assert missing == []

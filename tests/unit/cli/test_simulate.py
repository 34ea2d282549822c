"""`ottla simulate`: a line for each seed."""

import logging

import pytest
from typer.testing import CliRunner

from ottla.cli.app import app
from ottla.simulation.runs import World


@pytest.mark.parametrize("world", list(World))
def test_a_seed_is_replayed_and_told_in_a_line(world: World) -> None:
    asked = ["simulate", "--world", world, "--seed", "7", "--seconds", "3"]
    first, again = (CliRunner().invoke(app, asked) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith("7\t")
    assert first.stdout == again.stdout
    assert not logging.root.manager.disable  # a run is quiet, what comes after it is not

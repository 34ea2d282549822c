"""`ottla simulate`: a line for each seed."""

from typer.testing import CliRunner

from ottla.cli.app import app


def test_a_seed_is_replayed_and_told_in_a_line() -> None:
    first, again = (
        CliRunner().invoke(app, ["simulate", "--seed", "7", "--seconds", "3"]) for _ in range(2)
    )
    assert first.exit_code == 0, first.output
    assert first.stdout.startswith("7\t")
    assert first.stdout == again.stdout

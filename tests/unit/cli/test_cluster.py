"""`ottla cluster WORD`: a directory, or a command."""

import pytest

from ottla.cli.cluster import means_directory


@pytest.mark.parametrize(
    "words", [["./mine"], ["/tmp/mine"], ["."], ["mine", "--nodes", "3"], ["mine", "-n5"]]
)
def test_a_directory_is_known_by_its_looks_or_by_what_is_said_of_it(words: list[str]) -> None:
    assert means_directory(words)


@pytest.mark.parametrize("words", [["statsu"], ["balence", "--dry-run"], ["drian", "3"]])
def test_a_mistyped_command_does_not_become_a_cluster(words: list[str]) -> None:
    assert not means_directory(words)

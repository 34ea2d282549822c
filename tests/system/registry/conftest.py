"""A registry of one's own, as a process, on the broker of the run."""

from collections.abc import Iterator

import pytest

from system.registry.processes import Registry


@pytest.fixture(scope="module")
def registry(bootstrap: str, request: pytest.FixtureRequest) -> Iterator[Registry]:
    """Its topic and group are the module's own."""
    with Registry(bootstrap, name=request.module.__name__.rpartition(".")[2]) as process:
        yield process

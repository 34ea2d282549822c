"""Kafka's tools in one virtual machine for the whole run."""

import uuid
from collections.abc import Iterator

import pytest

from support.toolbox import Toolbox


@pytest.fixture(scope="session")
def toolbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("toolbox")
    opened = Toolbox(folder, folder / "toolbox.log")
    yield opened
    opened.close()


@pytest.fixture
def name() -> str:
    """A name for a topic or group of the test's own."""
    return f"interop-{uuid.uuid4().hex[:8]}"

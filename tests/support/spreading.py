"""Over which workers a run's tests are spread, and in which order.

A file stays on one worker, for what its tests share; all tests on Spark stay on one, for its
session. The longest come first and what runs inside one process last, so that all end together.
"""

from typing import Any

import pytest
from xdist.scheduler.loadfile import LoadFileScheduling

ON_SPARK = "tests/system/pipelines/"
LONGEST = tuple(
    f"tests/system/{folder}/"
    for folder in ("mixed", "swap", "faults", "packaging", "cluster", "interop", "connect")
)
INSIDE = "tests/unit/"


def turn(nodeid: str) -> int:
    if nodeid.startswith(ON_SPARK):
        return 0
    if nodeid.startswith(LONGEST):
        return 1
    return 3 if nodeid.startswith(INSIDE) else 2


class ByFile(LoadFileScheduling):
    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False  # by the number of tests, it would be
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        return ON_SPARK if nodeid.startswith(ON_SPARK) else super()._split_scope(nodeid)


class Spreading:
    @pytest.hookimpl(trylast=True)  # after whoever shuffles them
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: turn(item.nodeid))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Any
    ) -> LoadFileScheduling | None:
        return ByFile(config, log) if config.getoption("dist") == "loadfile" else None

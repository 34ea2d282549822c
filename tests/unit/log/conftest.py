"""Logs in a temporary directory, and batches to put into them."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.ids import TopicPartition
from ottla.log.config import LogConfig
from ottla.log.files import OpenFiles
from ottla.log.partition_log import LogResources, PartitionLog
from ottla.log.recovery import open_log
from ottla.log.tail import TailCache

NOW = 1_700_000_000_000
ORDERS = TopicPartition("orders", 0)


@pytest.fixture
def resources() -> LogResources:
    return LogResources(OpenFiles(limit=8), TailCache(budget=1 << 20))


@pytest.fixture
def open_orders(tmp_path: Path, resources: LogResources) -> Callable[..., PartitionLog]:
    def open_it(config: LogConfig | None = None, **how: Any) -> PartitionLog:
        how.setdefault("now_ms", NOW)
        return open_log(tmp_path / "orders-0", ORDERS, config or LogConfig(), resources, **how)

    return open_it


@pytest.fixture
def prying_thread() -> Callable[[], AbstractContextManager[None]]:
    """Somebody who reads opens each file again as soon as it is closed, while it is still there."""

    @contextmanager
    def pry() -> Iterator[None]:
        forget = OpenFiles.forget

        def forget_and_open(files: OpenFiles, path: str) -> None:
            forget(files, path)
            if os.path.exists(path):
                files.get(path)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(OpenFiles, "forget", forget_and_open)
            yield

    return pry

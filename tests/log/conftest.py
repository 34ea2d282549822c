"""Logs in a temporary directory, and batches to put into them."""

from collections.abc import Callable
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

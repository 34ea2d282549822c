"""Levels that are asked for by REST are the loggers' own, under Python's names or Java's."""

import asyncio
import json
import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.connect.rest.loggers import Loggers, counterpart
from ottla.serving.errors import RestError
from ottla.serving.routing import Asked

BELOW = logging.getLogger("ottla.connect.rest.bodies")


@pytest.fixture
def loggers() -> Iterator[Loggers]:
    every = (logging.getLogger(one) for one in list(logging.root.manager.loggerDict))
    before = {one: one.level for one in every}
    yield Loggers(SimpleNamespace(on_logger=None))  # type: ignore[arg-type]
    for one, level in before.items():
        one.setLevel(level)


def put(loggers: Loggers, name: str, level: str) -> Any:
    body = json.dumps({"level": level}).encode()
    return asyncio.run(loggers.set(Asked("PUT", "/", "", {"logger": name}, body=body)))


def get(loggers: Loggers, name: str) -> Any:
    return asyncio.run(loggers.shown(Asked("GET", "/", "", {"logger": name})))


def test_a_level_is_obeyed_by_all_loggers_below(
    loggers: Loggers, caplog: pytest.LogCaptureFixture
) -> None:
    BELOW.debug("before")
    assert "ottla.connect.rest.bodies" in put(loggers, "ottla.connect.rest", "debug")
    BELOW.debug("said")
    put(loggers, "ottla.connect.rest", "OFF")
    BELOW.critical("after")
    assert [one.message for one in caplog.records] == ["said"]


def test_javas_names_mean_what_says_the_same_here(
    loggers: Loggers, caplog: pytest.LogCaptureFixture
) -> None:
    java = "org.apache.kafka.connect.runtime.rest"
    affected = put(loggers, java, "DEBUG")
    assert {java, "ottla.connect.rest", "ottla.connect.rest.bodies"} <= set(affected)
    BELOW.debug("said")
    assert [one.message for one in caplog.records] == ["said"]
    assert get(loggers, java)["level"] == "DEBUG"
    assert get(loggers, f"{java}.resources.ConnectorsResource")["level"] == "DEBUG"


def test_a_name_that_nobody_has_is_not_found(loggers: Loggers) -> None:
    with pytest.raises(RestError, match=r"Logger com\.example not found"):
        get(loggers, "com.example")


def test_what_another_worker_wrote_down_is_obeyed_too(loggers: Loggers) -> None:
    loggers._worker.on_logger("io.debezium.connector.postgresql", "TRACE")
    assert logging.getLogger("ottla.connect.connectors.postgres_cdc").level == 5
    assert counterpart("io.debezium.connector.postgresql.PostgresConnectorTask") is not None

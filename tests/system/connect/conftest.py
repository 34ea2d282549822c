"""One Spark session for all tests of connectors, at `--master`; `--broker kafka` brings the
original."""

from collections.abc import Iterator

import pytest

from ottla.connect.runs.spark_runner import SparkRunner
from ottla.pipelines.runtime.settings import LOCAL_MASTER


@pytest.fixture(scope="session")
def runner(request: pytest.FixtureRequest) -> Iterator[SparkRunner]:
    made = SparkRunner(master=request.config.getoption("--master") or LOCAL_MASTER)
    yield made
    made.close()

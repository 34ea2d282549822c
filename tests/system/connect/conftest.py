"""One Spark session for all tests of connectors; `--broker kafka` brings the original."""

from collections.abc import Iterator

import pytest

from ottla.connect.runs.spark_runner import SparkRunner


@pytest.fixture(scope="session")
def runner() -> Iterator[SparkRunner]:
    made = SparkRunner()
    yield made
    made.close()
